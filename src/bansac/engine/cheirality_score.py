"""The cheirality score: the score of a model over the matches in front of both cameras.

It compares a few good models, namely the refined models of restarts. The models of samples are scored over all points.
"""

from typing import Any

import numpy as np

from bansac.compiled.jit import kernel, lean_kernel
from bansac.engine.state import BLOCK, Run, State, weights_at
from bansac.engine.verification import evaluate
from bansac.maths.arrays import Bools, Floats
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem


def cheirality_score(problem: Problem, state: State, packed: Any, model: Floats, is_inlier: Bools) -> float:
    """Return the score of ``model`` over the matches in front of both cameras.

    Except for rounding, it is at most the score of :func:`bansac.engine.verification.evaluate`. If the problem has no
    ``score_in_front``, all points count, and the two scores are equal. ``packed`` is the state as the struct for the
    kernels. ``model`` is in the frame of the run; the mask of its inliers is written.
    """
    if problem.score_in_front is None:
        return float(score_in_full(packed, model, is_inlier))
    scores, squared_threshold = np.empty(state.data.shape[1]), float(state.settings["squared_threshold"])
    write_point_scores(packed, model, scores, is_inlier)
    return float(problem.compiled("score_in_front")(state.data, model, scores, squared_threshold))


@kernel
def score_in_full(run: Run, candidate: Floats, is_inlier: Bools) -> float:
    """Return the score of a model over all points, and mark its inliers."""
    score, _ = evaluate(run, candidate, is_inlier, run.settings.squared_threshold, -1.0, np.inf, np.int64(0))
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
