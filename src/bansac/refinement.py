"""The last step: the best model fitted to its inliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel
from bansac.state import State
from bansac.verification import evaluate

__all__ = ["refine_least_squares"]

_ROUNDS = 3


@kernel
def refine_least_squares(
    kernels: Any,
    data: NDArray[np.float64],
    points: NDArray[Any],
    settings: Any,
    run: Any,
    state: State,
    weights: NDArray[np.float64],
) -> int:
    """Fit the best model to its inliers by the problem's non-minimal solver, up to three times.

    A fit is kept only if its score is no worse; the rounds end when the inliers do not change any more. ``weights`` is
    work space of length N. Returns the number of fits that were kept.
    """
    fitted = state.models[0]
    is_inlier = state.is_inlier[0]
    for i in range(fitted.size):
        fitted[i] = state.best_model[i]
    for n in range(weights.size):
        weights[n] = 0.0
    for kept in range(_ROUNDS + 1):
        for i in range(fitted.size):
            state.model[i] = fitted[i]
        score, inliers = evaluate(kernels, points, state.model, state.residuals, is_inlier, settings, run, -1.0, np.inf)
        if kept > 0:
            if score < run.best_score:
                return kept - 1
            for i in range(fitted.size):
                state.best_model[i] = fitted[i]
            run.best_score = score
            run.best_inliers = inliers
        changed = False
        for n in range(weights.size):
            weight = 1.0 if is_inlier[n] else 0.0
            changed |= weight != weights[n]
            weights[n] = weight
        if not changed or kept == _ROUNDS or not kernels.fit(data, weights, fitted, state.scratch):
            return kept
    return _ROUNDS
