"""How good a model is: the number of its inliers (RANSAC), or their truncated squared residuals (MSAC).

Both measures grow with quality and give one inlier at most 1, so the best that ``k`` unseen data can add is ``k``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import fast_kernel, kernel

__all__ = ["classify_block", "msac_gain"]


@fast_kernel
def classify_block(residuals: NDArray[Any], squared_threshold: Any, is_inlier: NDArray[np.bool_]) -> np.int64:
    """Mark the squared residuals of a block that are at most ``squared_threshold`` and count them.

    A NaN is an outlier. The counter is a float32 because that vectorises with the comparison (an integer counter takes
    twice the time); it counts exactly up to 2**24, far more than a block holds.
    """
    count = np.float32(0)
    for n in range(residuals.size):
        inside = residuals[n] <= squared_threshold
        is_inlier[n] = inside
        count += np.float32(1) if inside else np.float32(0)
    return np.int64(count)


@kernel
def msac_gain(residuals: NDArray[Any], squared_threshold: Any) -> float:
    """Return the sum over the inliers of a block of 1 - r^2 / t^2 (Torr and Zisserman, 2000).

    Two sums for the even and the odd residuals run side by side; the compiler may not reorder them (see ``FAST_MATH``).
    """
    inverse = 1 / squared_threshold
    even, odd = 0.0, 0.0
    for n in range(0, residuals.size - 1, 2):
        even += 1 - residuals[n] * inverse if residuals[n] <= squared_threshold else 0.0
        odd += 1 - residuals[n + 1] * inverse if residuals[n + 1] <= squared_threshold else 0.0
    last = residuals.size - 1
    if residuals.size % 2 == 1 and residuals[last] <= squared_threshold:
        even += 1 - residuals[last] * inverse
    return even + odd
