"""Cheirality test of a motion. It is separate from ``geometry``, which is importable without Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import fast_kernel
from bansac.problems.cheirality import side

__all__ = ["count_in_front"]


@fast_kernel
def count_in_front(
    R: NDArray[np.float64], t: NDArray[np.float64], data: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[int, int]:
    """Count the points with positive depths in both cameras for the translations t and -t.

    Replacing t by -t changes the signs of both depths.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    positive, negative = 0, 0
    for i in range(chosen.size):
        a0 = R[0, 0] * x1[i] + R[0, 1] * y1[i] + R[0, 2]
        a1 = R[1, 0] * x1[i] + R[1, 1] * y1[i] + R[1, 2]
        a2 = R[2, 0] * x1[i] + R[2, 1] * y1[i] + R[2, 2]
        where = side(a0, a1, a2, x2[i], y2[i], t[0], t[1], t[2])
        positive += 1 if chosen[i] and where == 1 else 0
        negative += 1 if chosen[i] and where == -1 else 0
    return positive, negative
