"""The frame of two images in which homographies and fundamental matrices are estimated."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel

__all__ = ["normalize"]

# Points that differ by less than this share of their coordinates are one point.
_ROUNDING = 1e-14


@kernel
def normalize(data: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Centre both images and scale them by one factor, so that their mean squared coordinate is 1, in place.

    The common factor keeps a distance a multiple of the distance in pixels. ``transform`` holds the factor and
    the centroids (x1, y1, x2, y2).
    """
    n = max(data.shape[1], 1)
    square, negligible = 0.0, 0.0
    for c in range(4):
        row = data[c]
        total = 0.0
        for i in range(row.size):
            total += row[i]
        transform[1 + c] = mean = total / n
        for i in range(row.size):
            row[i] -= mean
            square += row[i] * row[i]
        negligible += n * (_ROUNDING * mean) * (_ROUNDING * mean)
    scale = math.sqrt(4 * n / square) if square > negligible else 1.0
    for c in range(4):
        row = data[c]
        for i in range(row.size):
            row[i] *= scale
    transform[0] = scale
