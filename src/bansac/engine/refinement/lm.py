"""Levenberg-Marquardt over the points near the best model: first with the truncated loss, then with the Cauchy loss.

The truncated loss moves the model to the nearest maximum of the MSAC score. The Cauchy loss starts from there. Its
minimum has less variance, because it also uses points slightly outside of the threshold. The MSAC score of the minimum
may be slightly lower, so a small decrease of the score is allowed.
"""

from typing import Any

import numpy as np

from bansac.compiled.jit import allocating_kernel, inner_kernel, kernel
from bansac.engine.refinement.levenberg_marquardt import Work, find_work, minimize, select_manifold
from bansac.engine.state import Run
from bansac.engine.verification import evaluate, mark_inliers
from bansac.maths.arrays import Bools, Floats
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem

# Losses.
TRUNCATED, CAUCHY = False, True

# Multiples of the threshold: the distance within which points are used, and the scale of the Cauchy loss.
REACH = 2.0
SCALE = 0.5
_MAX_STEPS = 25
# Largest relative decrease of the score by the Cauchy loss.
_TOLERANCE = 0.05


def refine(run: Run, problem: Problem) -> None:
    """Move the best model to a maximum of its MSAC score and from there to a minimum of the Cauchy loss."""
    refine_by_lm(run, select_manifold(problem), find_work(problem))


@kernel
def refine_by_lm(run: Run, manifold: Any, work: Work) -> None:
    """Move the best model with each loss in turn; the call is in a loop, because two calls would be compiled twice."""
    for step in range(2):
        loss, scale, tolerance = (CAUCHY, SCALE, _TOLERANCE) if step == 1 else (TRUNCATED, 1.0, 0.0)
        move_best_model(run, manifold, work, loss, scale, scale, REACH, np.inf, _MAX_STEPS, tolerance)


@allocating_kernel
def move_best_model(
    run: Run,
    manifold: Any,
    work: Work,
    loss: bool,
    widest: float,
    scale: float,
    reach: float,
    limit: float,
    max_steps: int,
    tolerance: float,
) -> bool:
    """Move the best model to a minimum of a loss over the points near it; return whether the new model is kept.

    The loss has the scale ``widest``, then ``scale``. It uses the points within ``reach``, at most ``limit`` of them.
    ``widest``, ``scale`` and ``reach`` are multiples of the threshold. The points are in random order, so the first
    ones are a random subset. The new model is kept unless its score is lower by more than the share ``tolerance``. Its
    mask is then in the row of ``run.is_inlier`` that the candidate does not use.
    """
    progress, model, is_inlier = run.progress, run.other_model, run.is_inlier[1 - run.candidate.slot]
    squared_threshold, first = run.settings.squared_threshold, run.candidate.first_block
    copy(run.best_model, model)
    count = mark_inliers(run, model, is_inlier, reach * reach * squared_threshold)
    near = np.empty((run.data.shape[0], np.int64(min(np.float64(count), limit))))
    _gather(run.data, is_inlier, near)
    for factor in (widest, scale):
        minimize(manifold, work, near, factor * factor * squared_threshold, loss, max_steps, model, run.scratch)
        if widest == scale:
            break
    score, inliers = evaluate(run, model, is_inlier, squared_threshold, -1.0, np.inf, first)
    if not score >= (1.0 - tolerance) * progress.best_score:
        return False
    copy(model, run.best_model)
    progress.best_score = score
    progress.best_inliers = inliers
    return True


@inner_kernel
def _gather(data: Floats, chosen: Bools, found: Floats) -> None:
    """Fill ``found`` with the first of the chosen columns of ``data``."""
    for channel in range(data.shape[0]):
        n = 0
        for k in range(found.shape[1]):
            while not chosen[n]:
                n += 1
            found[channel, k] = data[channel, n]
            n += 1
