"""MSAC: truncated squared residuals (Torr and Zisserman, MLESAC, CVIU 2000)."""

from typing import Any

from bansac.maths.arrays import Reals


def block_score(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the sum over the inliers of a block of w (1 - r^2 / t^2) (Torr and Zisserman, 2000)."""
    inverse = 1 / squared_threshold
    total = 0.0
    for n in range(residuals.size):
        total += weights[n] * (1 - residuals[n] * inverse) if residuals[n] <= squared_threshold else 0.0
    return total
