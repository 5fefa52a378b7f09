"""Scoring of a model, with early rejection of bad models.

:func:`evaluate` scores a model block by block. It ends early in two cases:

* SPRT rejects the model (``Unscored.REJECTED``). Wald's sequential probability ratio test (Matas and Chum, ICCV 2005;
  Chum and Matas, PAMI 2008) tests the points in random order. It rejects a model as soon as the likelihood ratio of
  "bad" (a point agrees with probability delta) to "good" (probability epsilon) exceeds A.
* The model can no longer beat the best score, even if all remaining points are inliers (``Unscored.ABANDONED``). This
  test is exact.

The data are shuffled before the run, and the pass starts at a random block. The ratio is checked after every block, so
the residuals are computed by SIMD code. A model that the test after every point keeps is never rejected.
"""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from bansac.compiled.jit import fast_kernel, inlined, inner_kernel, kernel, lean_kernel
from bansac.engine.dbn import clip_prior
from bansac.engine.state import BLOCK, Run, State, weights_at
from bansac.maths.arrays import Bools, Floats, Reals
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem


class Unscored(IntEnum):
    """Why a model was not scored to the end, returned instead of its number of inliers."""

    REJECTED = -1
    ABANDONED = -2


# A new test is designed if delta changes by this share (Matas and Chum, 2005).
_DELTA_CHANGE = 0.05


@fast_kernel
def classify_block(residuals: Reals, squared_threshold: Any, is_inlier: Bools) -> np.int64:
    """Mark the squared residuals of a block that are at most ``squared_threshold``, and return their number.

    This is C^k of the paper (sec:model_evaluation). NaN is an outlier. The counter is a float32, because it vectorises
    with the comparison; an integer counter takes twice the time. It counts exactly up to 2**24, far more than the size
    of a block.
    """
    count = np.float32(0)
    for n in range(residuals.size):
        inside = residuals[n] <= squared_threshold
        is_inlier[n] = inside
        count += np.float32(1) if inside else np.float32(0)
    return np.int64(count)


@inner_kernel
def evaluate(
    run: Run, candidate: Floats, is_inlier: Bools, to_beat: float, log_decision: float, first_block: np.int64
) -> tuple[float, np.int64]:
    """Score the model ``candidate`` and mark its inliers in ``is_inlier``; return the score and their number.

    The pass starts at ``first_block``. The model is abandoned once its score can no longer exceed ``to_beat``, and
    rejected once the log of its likelihood ratio exceeds ``log_decision`` (inf for no test). Then the number is
    one of ``Unscored``, and the score is undefined.
    """
    kernels, points, model, residuals, sprt = run.kernels, run.points, run.model, run.residuals, run.sprt
    counts, weights = run.settings.counts, run.score_weights
    n = points.shape[1]
    remaining = run.settings.total_weight
    copy(candidate, model)
    limit = residuals.dtype.type(run.settings.squared_threshold)
    blocks = (n + BLOCK - 1) // BLOCK
    score = 0.0
    inliers = np.int64(0)
    seen = 0
    for step in range(blocks):
        block: Any = first_block + step
        block -= blocks if block >= blocks else 0
        start = block * BLOCK
        stop = start + BLOCK if start + BLOCK < n else n
        block_residuals = residuals[: stop - start]
        kernels.residuals(points, model, start, stop, block_residuals)
        count = classify_block(block_residuals, limit, is_inlier[start:stop])
        inliers += count
        seen += stop - start
        if counts:
            score += np.float64(count)
        else:
            score += kernels.block_score(block_residuals, weights_at(weights, start, stop, n), limit)
        remaining -= run.block_weights[block]
        if score + remaining <= to_beat:
            return score, np.int64(Unscored.ABANDONED)
        if inliers * sprt.log_ratio_inlier + (seen - inliers) * sprt.log_ratio_outlier > log_decision:
            sprt.rejected_points += seen
            sprt.rejected_inliers += inliers
            return score, np.int64(Unscored.REJECTED)
    return score, inliers


@inner_kernel
def mark_inliers(run: Run, candidate: Floats, is_inlier: Bools, squared_threshold: float) -> np.int64:
    """Mark the inliers of the model ``candidate`` and return their number; do not score it."""
    points, model, residuals = run.points, run.model, run.residuals
    n = points.shape[1]
    copy(candidate, model)
    limit = residuals.dtype.type(squared_threshold)
    inliers = np.int64(0)
    for start in range(0, n, BLOCK):
        stop = start + BLOCK if start + BLOCK < n else n
        run.kernels.residuals(points, model, start, stop, residuals[: stop - start])
        inliers += classify_block(residuals[: stop - start], limit, is_inlier[start:stop])
    return inliers


def cheirality_score(problem: Problem, state: State, packed: Any, model: Floats, is_inlier: Bools) -> float:
    """Return the score of a model over the matches in front of both cameras, and write the mask of its inliers.

    Except for rounding, it is at most the score over all points, which problems without ``score_in_front`` have. It
    compares the refined models of restarts. ``packed`` is the state as the struct for the kernels.
    """
    if problem.score_in_front is None:
        return float(score_in_full(packed, model, is_inlier))
    scores, squared_threshold = np.empty(state.data.shape[1]), float(state.settings["squared_threshold"])
    write_point_scores(packed, model, scores, is_inlier)
    return float(problem.compiled("score_in_front")(state.data, model, scores, squared_threshold))


@kernel
def score_in_full(run: Run, candidate: Floats, is_inlier: Bools) -> float:
    """Return the score of a model over all points, and mark its inliers."""
    score, _ = evaluate(run, candidate, is_inlier, -1.0, np.inf, np.int64(0))
    return score


@lean_kernel
def write_point_scores(run: Run, candidate: Floats, scores: Floats, is_inlier: Bools) -> None:
    """Write the contribution of each point to the score of a model, and mark its inliers."""
    kernels, points, model, residuals, weights = run.kernels, run.points, run.model, run.residuals, run.score_weights
    limit = residuals.dtype.type(run.settings.squared_threshold)
    copy(candidate, model)
    for start in range(0, scores.size, BLOCK):
        stop = start + BLOCK if start + BLOCK < scores.size else scores.size
        kernels.residuals(points, model, start, stop, residuals[: stop - start])
        for n in range(start, stop):
            one = residuals[n - start : n - start + 1]
            is_inlier[n] = one[0] <= limit
            scores[n] = kernels.block_score(one, weights_at(weights, n, n + 1, scores.size), limit)


@inlined
def decision_threshold(epsilon: float, delta: float, solver_cost: float, models_per_sample: float) -> float:
    """Return log A of the fastest test, where A = K + log A and K = t_M C / m_S + 1 (Chum and Matas, 2008)."""
    information = (1 - delta) * math.log((1 - delta) / (1 - epsilon)) + delta * math.log(delta / epsilon)
    offset = solver_cost * information / models_per_sample + 1
    decision = offset
    for _ in range(40):
        last = decision
        decision = offset + math.log(decision)
        if decision == last:
            break
    return math.log(decision)


@inner_kernel
def design_test(sprt: Any, progress: Any, history: Floats, solver_cost: float, epsilon: float, delta: float) -> None:
    """Start a new test for these rates, clipped off 0 and 1, and append it to the history for the SPRT stop."""
    sprt.epsilon = clip_prior(epsilon)
    sprt.delta = clip_prior(min(delta, 0.9 * sprt.epsilon))
    sprt.log_ratio_inlier = math.log(sprt.delta / sprt.epsilon)
    sprt.log_ratio_outlier = math.log((1 - sprt.delta) / (1 - sprt.epsilon))
    models_per_sample = (progress.models_tested + 1.0) / (progress.iterations + 1.0)
    sprt.log_decision = decision_threshold(sprt.epsilon, sprt.delta, solver_cost, models_per_sample)
    if sprt.tests < history.shape[0]:
        history[sprt.tests, 3] = 0.0
        sprt.tests += 1
    row = sprt.tests - 1
    history[row, 0] = sprt.epsilon
    history[row, 1] = sprt.delta
    history[row, 2] = sprt.log_decision


@inlined
def learn_from_rejection(sprt: Any, progress: Any, history: Floats, solver_cost: float) -> None:
    """Estimate delta from all rejected models; start a new test if it changes by more than 5 %."""
    delta = np.float64(sprt.rejected_inliers) / sprt.rejected_points
    if abs(delta - sprt.delta) > _DELTA_CHANGE * sprt.delta:
        design_test(sprt, progress, history, solver_cost, sprt.epsilon, delta)
