"""Warm start: an initial model, such as that of the last frame of a video, is refined and competes with the search.

The width of its residuals shows how far the model is from the points. So the threshold is estimated from them, and the
model is refined at it, in alternation (``bansac.engine.noise_scale``). If chance explains the support of the result,
the model is dropped and the search is the one without it. Otherwise it is the first hypothesis. A restart does not
start from it. The restart ends early if it leads to the same model, and so confirms it (``bansac.engine.hypotheses``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.noise_scale import are_close
from bansac.engine.state import State
from bansac.engine.threshold import AdaptiveThreshold
from bansac.maths.arrays import Floats
from bansac.maths.normalization import apply_inverse, normalize
from bansac.problems.problem import Problem

__all__ = ["normalize_model", "refine_initial"]

# Largest number of estimates of the threshold after the first one.
_ESTIMATES = 4


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
            if problem.normalize_model is not None:
                problem.normalize_model(model, transform)
            elif problem.normalize is normalize and problem.denormalize is not None:
                apply_inverse(problem.denormalize, model, transform)
            else:
                raise ValueError(f"initial_model needs normalize_model, which problem {problem.name!r} does not define")
        if problem.project is not None and problem.linearize is not None:
            project = problem.manifold[-1]
            if not project(model, np.empty(problem.scratch_size)):
                return None
    return model if np.isfinite(model).all() else None


def refine_initial(
    state: State,
    packed: Any,
    model: Floats,
    threshold: AdaptiveThreshold,
    refine: Callable[[], None] | None,
) -> bool:
    """Make the refined initial model the best model of a state before its first iteration.

    Parameters
    ----------
    state : State
        The state, which the caller restores.
    packed : struct
        The same state as the struct for the kernels.
    model : (model_size,) ndarray
        The initial model, in the frame of the run.
    threshold : AdaptiveThreshold
        The threshold. If it is estimated, it becomes that of the model.
    refine : callable, optional
        Refines the best model. Without it, the model is only scored.

    Returns
    -------
    bool
        Whether the model has more support than chance explains. If not, it is dropped.
    """

    def refined_at(value: float, model: Floats) -> Floats | None:
        """Make the refined model the best one; return None if it has no more inliers than a sample."""
        if not threshold.make_best(packed, model, value):
            return None
        if refine is not None:
            refine()
        return state.best_model.copy()

    found = refined_at(threshold.widest(model), model)
    for _ in range(_ESTIMATES):
        value = threshold.value if found is None else threshold.widest(found)
        if found is None or are_close(value, threshold.value):
            break
        found = refined_at(value, found)
    if found is not None and not threshold.is_estimated and threshold.value != threshold.first:
        found = refined_at(threshold.first, found)
    return found is not None and threshold.is_trustworthy(found)
