"""The frame of two images in which homographies and fundamental matrices are estimated.

Plain NumPy: these functions run once a call, and compiling them would cost more than they ever save.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["normalize"]

# Points that differ by less than this share of their coordinates are one point.
_ROUNDING = 1e-14


def normalize(data: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Centre both images and scale them by one factor, so that their mean squared coordinate is 1, in place.

    The common factor keeps a distance a multiple of the distance in pixels. ``transform`` holds the factor and the
    centroids (x1, y1, x2, y2).
    """
    centroids = data.mean(axis=1)
    data -= centroids[:, None]
    square = float(np.vdot(data, data))
    negligible = data.shape[1] * float(np.sum((_ROUNDING * centroids) ** 2))
    scale = math.sqrt(data.size / square) if square > negligible else 1.0
    data *= scale
    transform[0] = scale
    transform[1:5] = centroids
