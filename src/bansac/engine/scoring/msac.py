"""MSAC: truncated squared residuals (Torr and Zisserman, MLESAC, CVIU 2000)."""

from __future__ import annotations

from typing import Any

from bansac.numeric.arrays import Reals

__all__ = ["gain"]


def gain(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the sum over the inliers of a block of w (1 - r^2 / t^2) (Torr and Zisserman, 2000).

    Two sums for the even and the odd residuals run side by side; the compiler may not reorder them (see ``FAST_MATH``).
    """
    inverse = 1 / squared_threshold
    even, odd = 0.0, 0.0
    for n in range(0, residuals.size - 1, 2):
        even += weights[n] * (1 - residuals[n] * inverse) if residuals[n] <= squared_threshold else 0.0
        odd += weights[n + 1] * (1 - residuals[n + 1] * inverse) if residuals[n + 1] <= squared_threshold else 0.0
    last = residuals.size - 1
    if residuals.size % 2 == 1 and residuals[last] <= squared_threshold:
        even += weights[last] * (1 - residuals[last] * inverse)
    return even + odd
