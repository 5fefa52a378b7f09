"""The cheirality test of a motion, apart from ``geometry``, which loads without Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import fast_kernel

__all__ = ["count_in_front"]


@fast_kernel
def count_in_front(
    R: NDArray[np.float64], t: NDArray[np.float64], data: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[int, int]:
    """Count the points with positive depths in both cameras for the translations t and -t.

    The depths d1, d2 solve d2 (x2, 1) = d1 R (x1, 1) + t in the least-squares sense. -t turns both signs around.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    positive, negative = 0, 0
    for i in range(chosen.size):
        a0 = R[0, 0] * x1[i] + R[0, 1] * y1[i] + R[0, 2]
        a1 = R[1, 0] * x1[i] + R[1, 1] * y1[i] + R[1, 2]
        a2 = R[2, 0] * x1[i] + R[2, 1] * y1[i] + R[2, 2]
        aa, bb = a0 * a0 + a1 * a1 + a2 * a2, x2[i] * x2[i] + y2[i] * y2[i] + 1.0
        ab = a0 * x2[i] + a1 * y2[i] + a2
        at, bt = a0 * t[0] + a1 * t[1] + a2 * t[2], x2[i] * t[0] + y2[i] * t[1] + t[2]
        d1, d2 = ab * bt - bb * at, aa * bt - ab * at
        positive += 1 if chosen[i] and d1 > 0.0 and d2 > 0.0 else 0
        negative += 1 if chosen[i] and d1 < 0.0 and d2 < 0.0 else 0
    return positive, negative
