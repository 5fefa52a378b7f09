"""The number of inliers (Fischler and Bolles, CACM 1981): the paper's score.

The loop always counts inliers, so ``block_score`` is called only if the run has weights.
"""

from typing import Any

from bansac.maths.arrays import Reals


def block_score(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the sum of the weights of the inliers of a block."""
    total = 0.0
    for n in range(residuals.size):
        total += weights[n] if residuals[n] <= squared_threshold else 0.0
    return total
