"""Warm start: an initial model, such as that of the last frame of a video, is optimised and competes with the search.

The width of its residuals shows how far the model is from the points. So the threshold is estimated from them, and the
model is optimised at it, in alternation (``bansac.engine.noise_scale``). If chance explains the support of the result,
the model is dropped and the search is the one without it. Otherwise it is the best model before the first restart. A
restart does not start from it. The restart ends early if it leads to the same model, and the two agree
(``bansac.engine.restarts``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bansac.engine.noise_scale import are_close, estimate_threshold, threshold_bounds
from bansac.engine.state import Run, State
from bansac.engine.verification import evaluate
from bansac.numeric.arrays import Floats
from bansac.numeric.jit import kernel
from bansac.numeric.linalg import copy
from bansac.problems.problem import Problem

__all__ = ["InitialModel", "normalize_model", "optimize_initial"]

# Largest number of estimates of the threshold. A threshold above this share of the largest one is at the bound.
_ESTIMATES = 4
_NEARLY = 0.98


class InitialModel(NamedTuple):
    """An initial model, flat, and ``is_significant(model, threshold, fast)``, as for the search."""

    model: Floats
    is_significant: Callable[[Floats, float, bool], bool]


def normalize_model(problem: Problem, model: Floats, transform: Floats) -> Floats | None:
    """Return a model of the caller in the frame of the run, with its constraints; None if it is degenerate.

    Parameters
    ----------
    problem : Problem
        The problem.
    model : (model_size,) ndarray
        The model in the caller's coordinates.
    transform : ndarray
        The transform from ``normalize`` of the problem.

    Raises
    ------
    ValueError
        If the problem has ``normalize``, but not ``normalize_model``.
    """
    model = model.copy()
    with np.errstate(all="ignore"):
        if problem.normalize is not None:
            if problem.normalize_model is None:
                raise ValueError(f"initial_model needs normalize_model, which problem {problem.name!r} does not define")
            problem.normalize_model(model, transform)
        if problem.project is not None and problem.linearize is not None:
            project = problem.manifold[-1]
            if not project(model, np.empty(problem.scratch_size)):
                return None
    return model if np.isfinite(model).all() else None


def optimize_initial(
    problem: Problem,
    state: State,
    packed: Any,
    initial: InitialModel,
    first: float,
    optimize: Callable[[], None] | None,
    *,
    estimated: bool,
) -> float | None:
    """Make the optimised initial model the best model of a state before its first iteration.

    Parameters
    ----------
    problem : Problem
        The problem.
    state : State
        The state. The caller restores it, except the random generator, which is as before.
    packed : struct
        The same state as the struct for the kernels.
    initial : InitialModel
        The initial model, in the frame of the run.
    first : float
        The first threshold.
    optimize : callable, optional
        Optimises the best model.
    estimated : bool
        Whether the threshold of the run is estimated. If not, the model ends at the first threshold.

    Returns
    -------
    float or None
        The threshold of the model; None if chance explains its support.
    """
    rng = state.rng.copy()
    try:
        return _optimize(problem, state, packed, initial, first, optimize, estimated)
    finally:
        state.rng[:] = rng


def _optimize(
    problem: Problem,
    state: State,
    packed: Any,
    initial: InitialModel,
    first: float,
    optimize: Callable[[], None] | None,
    estimated: bool,
) -> float | None:
    smallest, largest = threshold_bounds(problem, first)
    bounds = (smallest if estimated else first), largest

    def width(model: Floats) -> float:
        return estimate_threshold(problem.distances(state.data, model), problem, bounds)

    def move(model: Floats, threshold: float) -> bool:
        """Make the optimum near a model the best one; return False if it has no more inliers than a sample."""
        state.settings["squared_threshold"] = threshold * threshold
        if make_best(packed, model) <= problem.sample_size:
            return False
        if optimize is not None:
            optimize()
        return True

    model, threshold = initial.model, width(initial.model) if optimize is not None or estimated else first
    for _ in range(_ESTIMATES):
        if not move(model, threshold):
            return None
        model, last = state.best_model.copy(), threshold
        if optimize is None:
            break
        threshold = width(model)
        if are_close(threshold, last):
            threshold = last
            break
    if not estimated and threshold != first:
        threshold = first
        if not move(model, threshold):
            return None
    model = state.best_model.copy()
    if estimated and not threshold < _NEARLY * largest:
        return None
    significant = any(initial.is_significant(model, threshold, fast) for fast in (True, False))
    return threshold if significant else None


@kernel
def make_best(run: Run, model: Floats) -> np.int64:
    """Make a model the best one and return its number of inliers; its sample are its first inliers.

    The points are in random order, so the first inliers are random ones.
    """
    progress, mask = run.progress, run.is_inlier[1 - run.candidate.slot]
    copy(model, run.best_model)
    score, inliers = evaluate(run, run.best_model, mask, run.settings.squared_threshold, -1.0, np.inf, np.int64(0))
    progress.best_score = score
    progress.best_inliers = inliers
    if inliers >= run.best_sample.size:
        n = 0
        for k in range(run.best_sample.size):
            while not mask[n]:
                n += 1
            run.best_sample[k] = n
            n += 1
    return inliers
