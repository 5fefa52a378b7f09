"""What the fundamental and the essential matrix share: x2^T F x1 = 0.

The data are matches, channels x1, y1, x2, y2; models are flat, row by row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel
from bansac.numeric.linalg import diagonalize

__all__ = ["FIT_SCRATCH", "fit_eight_point", "is_oriented", "residuals"]

# Scratch of ``fit_eight_point``: normal matrix, eigenvector, work of the eigensolver.
FIT_SCRATCH = 81 + 9 + 81


def residuals(
    data: NDArray[np.floating], model: NDArray[np.floating], start: int, stop: int, out: NDArray[np.floating]
) -> None:
    """Compute squared Sampson distances, (x2^T F x1)^2 / (|F x1|^2 + |F^T x2|^2) over the first two coordinates.

    The distance to the nearest pair of points that agrees with F, to first order (Sampson, 1982; Hartley and Zisserman,
    section 11.4.3). NaN where x1 and x2 are both epipoles.
    """
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    f11, f12, f13 = model[0], model[1], model[2]
    f21, f22, f23 = model[3], model[4], model[5]
    f31, f32, f33 = model[6], model[7], model[8]
    for i in range(stop - start):
        a2 = f11 * x1[i] + f12 * y1[i] + f13
        b2 = f21 * x1[i] + f22 * y1[i] + f23
        c2 = f31 * x1[i] + f32 * y1[i] + f33
        a1 = f11 * x2[i] + f21 * y2[i] + f31
        b1 = f12 * x2[i] + f22 * y2[i] + f32
        algebraic = x2[i] * a2 + y2[i] * b2 + c2
        out[i] = algebraic * algebraic / (a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2)


def is_oriented(data: NDArray[np.float64], model: NDArray[np.float64], sample: NDArray[np.int64]) -> bool:
    """Check that the sample's points can all lie in front of both cameras (Chum, Werner and Matas, ICPR 2004).

    The epipolar line F x1 and the line through the epipole e2 and x2 are the same line; its two forms must have one
    sign ratio for all points. e2 is the cross product of two columns of F, of the pair for which it is largest.
    """
    ex, ey, ez, size = 0.0, 0.0, 0.0, -1.0
    for j in range(3):
        k = j + 1 if j < 2 else 0
        x = model[3 + j] * model[6 + k] - model[6 + j] * model[3 + k]
        y = model[6 + j] * model[k] - model[j] * model[6 + k]
        z = model[j] * model[3 + k] - model[3 + j] * model[k]
        if x * x + y * y + z * z > size:
            ex, ey, ez, size = x, y, z, x * x + y * y + z * z
    positive, negative = False, False
    for i in sample:
        x1, y1, x2, y2 = data[0, i], data[1, i], data[2, i], data[3, i]
        a = model[0] * x1 + model[1] * y1 + model[2]
        b = model[3] * x1 + model[4] * y1 + model[5]
        c = model[6] * x1 + model[7] * y1 + model[8]
        agreement = (ey - ez * y2) * a + (ez * x2 - ex) * b + (ex * y2 - ey * x2) * c
        positive |= agreement > 0.0
        negative |= agreement < 0.0
    return not (positive and negative)


@kernel
def fit_eight_point(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit x2^T F x1 = 0 to weighted matches by the normalised eight-point algorithm (Hartley, PAMI 1997).

    The rank of F is not enforced. False where there are fewer than eight matches.
    """
    used = 0
    for i in range(weights.size):
        used += 1 if weights[i] > 0.0 else 0
    if used < 8:
        return False
    ax, ay, a_scale = _hartley(data[0], data[1], weights)
    bx, by, b_scale = _hartley(data[2], data[3], weights)
    if not (0.0 < a_scale < np.inf and 0.0 < b_scale < np.inf):
        return False
    normal = scratch[:81]
    _accumulate(data, weights, ax, ay, a_scale, bx, by, b_scale, normal)
    f, vectors = scratch[81:90], scratch[90:171]
    diagonalize(normal, vectors, f)
    for i in range(3):  # F T1: columns
        model[3 * i] = f[3 * i] * a_scale
        model[3 * i + 1] = f[3 * i + 1] * a_scale
        model[3 * i + 2] = f[3 * i + 2] - ax * model[3 * i] - ay * model[3 * i + 1]
    for j in range(3):  # T2^T F: rows
        model[j] *= b_scale
        model[3 + j] *= b_scale
        model[6 + j] -= bx * model[j] + by * model[3 + j]
    return True


@kernel
def _hartley(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the weighted centroid and the scale that brings the mean squared distance from it to 2."""
    total, mx, my = 0.0, 0.0, 0.0
    for i in range(weights.size):
        total += weights[i]
        mx += weights[i] * x[i]
        my += weights[i] * y[i]
    mx /= total
    my /= total
    scatter = 0.0
    for i in range(weights.size):
        dx, dy = x[i] - mx, y[i] - my
        scatter += weights[i] * (dx * dx + dy * dy)
    return mx, my, math.sqrt(2.0 * total / scatter) if scatter > 0.0 else 0.0


@kernel
def _accumulate(
    data: NDArray[np.float64],
    weights: NDArray[np.float64],
    ax: float,
    ay: float,
    a_scale: float,
    bx: float,
    by: float,
    b_scale: float,
    normal: NDArray[np.float64],
) -> None:
    """Sum weight * q q^T with q the products of the two points' homogeneous coordinates."""
    for i in range(9):
        for j in range(9):
            normal[9 * i + j] = 0.0
    for n in range(weights.size):
        weight = weights[n]
        if weight == 0.0:
            continue
        x1, y1 = (data[0, n] - ax) * a_scale, (data[1, n] - ay) * a_scale
        x2, y2 = (data[2, n] - bx) * b_scale, (data[3, n] - by) * b_scale
        q = (x2 * x1, x2 * y1, x2, y2 * x1, y2 * y1, y2, x1, y1, 1.0)
        for i in range(9):
            factor = weight * q[i]
            for j in range(i, 9):
                normal[9 * i + j] += factor * q[j]
    for i in range(9):
        for j in range(i):
            normal[9 * i + j] = normal[9 * j + i]
