"""Warm start: an initial model, such as that of the last frame of a video, is refined and competes with the search.

The width of its residuals shows how far the model is from the points. So the threshold is estimated from them, and the
model is refined at it, in alternation (``bansac.engine.noise_scale``). If chance explains the support of the result,
the model is dropped and the search is the one without it. Otherwise it is the best model before the first restart. A
restart does not start from it. The restart ends early if it leads to the same model, and the two agree
(``bansac.engine.restarts``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bansac.engine.cheirality_score import score_in_full
from bansac.engine.noise_scale import are_close, estimate_threshold, threshold_bounds
from bansac.engine.state import State
from bansac.numeric.arrays import Floats
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
    refine: Callable[[], None] | None,
    *,
    estimated: bool,
) -> float | None:
    """Make the refined initial model the best model of a state before its first iteration.

    Parameters
    ----------
    problem : Problem
        The problem.
    state : State
        The state, which the caller restores.
    packed : struct
        The same state as the struct for the kernels.
    initial : InitialModel
        The initial model, in the frame of the run.
    first : float
        The first threshold.
    refine : callable, optional
        Refines the best model. Without it, the model is only scored.
    estimated : bool
        Whether the threshold of the run is estimated. If not, the model ends at the first threshold.

    Returns
    -------
    float or None
        The threshold of the model; None if chance explains its support.
    """
    smallest, largest = threshold_bounds(problem, first)
    is_inlier = np.empty(state.odds.size, np.bool_)

    def width(model: Floats) -> float:
        bounds = smallest if estimated else first, largest
        return estimate_threshold(problem.distances(state.data, model), problem, bounds)

    def move(model: Floats, threshold: float) -> Floats | None:
        """Make the refined model the best one; return None if it has no more inliers than a sample."""
        state.settings["squared_threshold"] = threshold * threshold
        state.best_model[:] = model
        state.progress["best_score"] = score_in_full(packed, model, is_inlier)
        state.progress["best_inliers"] = inliers = np.count_nonzero(is_inlier)
        if inliers <= problem.sample_size:
            return None
        if refine is not None:
            refine()
        return state.best_model.copy()

    threshold = width(initial.model)
    model = move(initial.model, threshold)
    for _ in range(_ESTIMATES):
        if model is None or are_close(width(model), threshold):
            break
        threshold = width(model)
        model = move(model, threshold)
    if model is not None and not estimated and threshold != first:
        threshold = first
        model = move(model, first)
    if model is None or (estimated and not threshold < _NEARLY * largest):
        return None
    significant = any(initial.is_significant(model, threshold, fast) for fast in (True, False))
    return threshold if significant else None
