"""Cheirality test of a motion. It is separate from ``geometry``, which is importable without Numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.compiled.jit import fast_kernel
from bansac.geometry.cheirality import side
from bansac.maths.arrays import Floats

__all__ = ["sides"]


def sides(R: Floats, t: Floats, data: Floats) -> NDArray[np.int8]:
    """Return 1 for matches (4, N) in front of both cameras, -1 for those behind both, which are in front for -t."""
    out = np.empty(data.shape[1], np.int8)
    _write_sides(R, t, data, out)
    return out


@fast_kernel
def _write_sides(R: Floats, t: Floats, data: Floats, out: NDArray[np.int8]) -> None:
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    for i in range(out.size):
        a0 = R[0, 0] * x1[i] + R[0, 1] * y1[i] + R[0, 2]
        a1 = R[1, 0] * x1[i] + R[1, 1] * y1[i] + R[1, 2]
        a2 = R[2, 0] * x1[i] + R[2, 1] * y1[i] + R[2, 2]
        out[i] = side(a0, a1, a2, x2[i], y2[i], t[0], t[1], t[2])
