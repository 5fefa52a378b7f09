"""Least squares on the inliers, then Levenberg-Marquardt with a Cauchy loss: the most accurate last step."""

from __future__ import annotations

from typing import Any

import numpy as np

from bansac.engine.refinement.least_squares import refine_to_inliers
from bansac.engine.refinement.levenberg_marquardt import Work, make_work, minimize, select_manifold
from bansac.engine.state import Run
from bansac.engine.verification import evaluate
from bansac.numeric.arrays import Bools, Floats
from bansac.numeric.jit import inner_kernel, kernel
from bansac.numeric.linalg import copy
from bansac.problems.problem import Problem

__all__ = ["polish", "refine", "supports"]

# The data that take part lie within this multiple of the threshold; the scale of the loss is this multiple.
_REACH = 2.0
_SCALE = 0.5
_MAX_STEPS = 25


def supports(problem: Problem) -> bool:
    """Tell whether a problem has derivatives of its residuals."""
    return problem.linearize is not None


def refine(run: Run, problem: Problem) -> None:
    """Fit the best model to its inliers, then minimise the Cauchy loss from there."""
    refine_to_inliers(run)
    polish(run, select_manifold(problem), make_work(problem), _REACH, _SCALE, True, _MAX_STEPS)


@kernel
def polish(run: Run, manifold: Any, work: Work, reach: float, scale: float, cauchy: bool, max_steps: int) -> bool:
    """Move the best model to a minimum of a loss over the data near it.

    ``reach`` and ``scale`` are multiples of the threshold: the data within the first are used, the second is that of
    the loss.
    """
    progress, model, is_inlier = run.progress, run.other_model, run.is_inlier[1 - run.candidate.slot]
    squared_threshold, first = run.settings.squared_threshold, run.candidate.first_block
    copy(run.best_model, model)
    _, count = evaluate(run, model, is_inlier, reach * reach * squared_threshold, -1.0, np.inf, first)
    data = np.empty((run.data.shape[0], count))
    _gather(run.data, is_inlier, data)
    minimize(manifold, work, data, count, scale * scale * squared_threshold, cauchy, max_steps, model, run.scratch)
    score, inliers = evaluate(run, model, is_inlier, squared_threshold, -1.0, np.inf, first)
    if not score >= progress.best_score:
        return False
    copy(model, run.best_model)
    progress.best_score = score
    progress.best_inliers = inliers
    return True


@inner_kernel
def _gather(data: Floats, chosen: Bools, found: Floats) -> None:
    """Copy the chosen columns of ``data`` to the start of ``found``."""
    for channel in range(data.shape[0]):
        k = 0
        for n in range(chosen.size):
            if chosen[n]:
                found[channel, k] = data[channel, n]
                k += 1
