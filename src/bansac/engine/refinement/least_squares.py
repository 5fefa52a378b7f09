"""Repeated least squares on the inliers: the paper's last step."""

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.state import Run
from bansac.engine.verification import evaluate
from bansac.maths.linalg import copy
from bansac.problems.problem import Problem


def refine(run: Run, problem: Problem) -> None:
    """Fit the best model to its inliers."""
    refine_to_inliers(run)


@kernel
def refine_to_inliers(run: Run) -> int:
    """Fit the best model to its inliers repeatedly by the problem's non-minimal solver; return the number of fits kept.

    A fit is kept if its score is not lower. The iteration ends when the score does not rise or the inliers no longer
    change. The minimal model of a homography misses many inliers, which are added in each iteration. One to three
    iterations are too few.
    """
    progress, best, fitted, is_inlier = run.progress, run.best_model, run.other_model, run.is_inlier[0]
    weights = np.empty(is_inlier.size)
    copy(best, fitted)
    for n in range(weights.size):
        weights[n] = 0.0
    kept, rises = 0, True
    while True:
        score, inliers = evaluate(run, fitted, is_inlier, -1.0, np.inf, run.candidate.first_block)
        if kept > 0:
            if score < progress.best_score:
                return kept - 1
            rises = score > progress.best_score
            copy(fitted, best)
            progress.best_score = score
            progress.best_inliers = inliers
        changed = False
        for n in range(weights.size):
            weight = 1.0 if is_inlier[n] else 0.0
            changed |= weight != weights[n]
            weights[n] = weight
        if not (changed and rises and run.kernels.fit(run.data, weights, fitted, run.scratch)):
            return kept
        kept += 1
