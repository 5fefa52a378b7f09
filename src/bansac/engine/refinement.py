"""The last step: the best model fitted to its inliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.verification import evaluate
from bansac.numeric.jit import kernel
from bansac.numeric.linalg import copy

__all__ = ["refine_least_squares"]

_ROUNDS = 10


@kernel
def refine_least_squares(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    run: Any,
    models: NDArray[np.float64],
    scratch: NDArray[np.float64],
    model: NDArray[Any],
    residuals: NDArray[Any],
    is_inlier: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> int:
    """Fit the best model to its inliers by the problem's non-minimal solver, again and again.

    A fit is kept only if its score is no worse; the rounds end when the inliers do not change any more. A minimal model
    misses many inliers of a homography, which come in round by round: one to three rounds are too few.

    The first row of ``models`` is the best model, which is replaced, the second one is work space; so are the other
    arrays, of the sizes that ``State`` says, and ``weights`` of length N. Returns the number of fits that were kept.
    """
    best, fitted = models[0], models[1]
    copy(best, fitted)
    for n in range(weights.size):
        weights[n] = 0.0
    for kept in range(_ROUNDS + 1):
        score, inliers = evaluate(
            kernels,
            points,
            fitted,
            model,
            residuals,
            is_inlier,
            settings.squared_threshold,
            settings,
            run,
            -1.0,
            np.inf,
        )
        if kept > 0:
            if score < run.best_score:
                return kept - 1
            copy(fitted, best)
            run.best_score = score
            run.best_inliers = inliers
        changed = False
        for n in range(weights.size):
            weight = 1.0 if is_inlier[n] else 0.0
            changed |= weight != weights[n]
            weights[n] = weight
        if not changed or kept == _ROUNDS or not kernels.fit(data, weights, fitted, scratch):
            return kept
    return _ROUNDS
