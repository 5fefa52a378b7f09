"""What the fundamental and the essential matrix share: x2^T F x1 = 0.

The data are matches, channels x1, y1, x2, y2; models are flat, row by row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import inlined, kernel
from bansac.numeric.linalg import smallest_eigenvector

__all__ = [
    "FIT_SCRATCH",
    "fit_eight_point",
    "fix_sign",
    "is_oriented",
    "orientation",
    "remove_smallest_singular_value",
    "residuals",
    "second_epipole",
    "write_equation",
]

# Scratch of ``fit_eight_point``: normal matrix, eigenvector, and 81 numbers for the eigensolver, before which the sums
# over the matches have their place there.
FIT_SCRATCH = 81 + 9 + 81
_MOMENTS = 90

# Where the product of entries i and j of an equation stands among the sums: entry i has the coordinate i // 3 of the
# second point and i % 3 of the first.
_SYMMETRIC = ((0, 1, 2), (1, 3, 4), (2, 4, 5))
_PLACES = np.array([6 * _SYMMETRIC[i // 3][j // 3] + _SYMMETRIC[i % 3][j % 3] for i in range(9) for j in range(9)])

# Each step leaves the share (s3 / s2)^2 of the error in the vector of the smallest singular value.
_POWER_STEPS = 30


@inlined
def write_equation(
    x1: float, y1: float, z1: float, x2: float, y2: float, z2: float, rows: NDArray[np.float64], at: int
) -> None:
    """Write the nine coefficients of (x2, y2, z2) F (x1, y1, z1)^T = 0 in the entries of F, from ``rows[at]`` on."""
    rows[at], rows[at + 1], rows[at + 2] = x2 * x1, x2 * y1, x2 * z1
    rows[at + 3], rows[at + 4], rows[at + 5] = y2 * x1, y2 * y1, y2 * z1
    rows[at + 6], rows[at + 7], rows[at + 8] = z2 * x1, z2 * y1, z2 * z1


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


@inlined
def second_epipole(f: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return e2 with e2^T F = 0: the cross product of two columns of F, of the pair for which it is largest."""
    ex, ey, ez, size = 0.0, 0.0, 0.0, 0.0
    for j in range(3):
        k = j + 1 if j < 2 else 0
        x = f[3 + j] * f[6 + k] - f[6 + j] * f[3 + k]
        y = f[6 + j] * f[k] - f[j] * f[6 + k]
        z = f[j] * f[3 + k] - f[3 + j] * f[k]
        square = x * x + y * y + z * z
        if square > size:
            ex, ey, ez, size = x, y, z, square
    return ex, ey, ez


@inlined
def orientation(
    data: NDArray[np.float64], f: NDArray[np.float64], ex: float, ey: float, ez: float, i: int | np.int64
) -> float:
    """Return (e2 x x2) . F x1 of match i (Chum, Werner and Matas, ICPR 2004).

    The epipolar line F x1 and the line through the epipole e2 and x2 are the same line; the sign tells on which side of
    e2 the point is.
    """
    x1, y1, x2, y2 = data[0, i], data[1, i], data[2, i], data[3, i]
    a = f[0] * x1 + f[1] * y1 + f[2]
    b = f[3] * x1 + f[4] * y1 + f[5]
    c = f[6] * x1 + f[7] * y1 + f[8]
    agreement: float = (ey - ez * y2) * a + (ez * x2 - ex) * b + (ex * y2 - ey * x2) * c
    return agreement


def is_oriented(data: NDArray[np.float64], model: NDArray[np.float64], sample: NDArray[np.int64]) -> bool:
    """Check that the sample's points can all lie in front of both cameras (Chum, Werner and Matas, ICPR 2004).

    The orientation must have one sign for all of them.
    """
    ex, ey, ez = second_epipole(model)
    positive, negative = False, False
    for i in sample:
        agreement = orientation(data, model, ex, ey, ez, i)
        positive |= agreement > 0.0
        negative |= agreement < 0.0
    return not (positive and negative)


@inlined
def fit_eight_point(
    data: NDArray[np.float64], weights: NDArray[np.float64], f: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit x2^T F x1 = 0 to weighted matches by the normalised eight-point algorithm (Hartley, PAMI 1997).

    The rank of F is not enforced. False where the matches do not determine F: fewer than eight, or on a plane.
    """
    ax, ay, bx, by, a_scale, b_scale = _find_frames(data, weights)
    if not (0.0 < a_scale < np.inf and 0.0 < b_scale < np.inf):
        return False
    _accumulate(data, weights, ax, ay, bx, by, a_scale, b_scale, scratch)
    # The equation of a match is the product p2 p1^T, so that its square has the squares of the points in it.
    for i in range(81):
        scratch[i] = scratch[_MOMENTS + _PLACES[i]]
    normal = scratch[:81].reshape(9, 9)
    if not smallest_eigenvector(normal, scratch[81:90], scratch[90:171]):
        return False
    for i in range(3):  # F T1: columns
        row = 81 + 3 * i
        f[3 * i], f[3 * i + 1] = a_scale * scratch[row], a_scale * scratch[row + 1]
        f[3 * i + 2] = scratch[row + 2] - ax * f[3 * i] - ay * f[3 * i + 1]
    for j in range(3):  # T2^T F: rows
        f[j], f[3 + j] = b_scale * f[j], b_scale * f[3 + j]
        f[6 + j] -= bx * f[j] + by * f[3 + j]
    return True


@inlined
def _find_frames(
    data: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float, float, float, float, float]:
    """Return the weighted centroids, and the scales that bring the mean squared distances from them to 2."""
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    total, ax, ay, bx, by = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        w = weights[i]
        total += w
        ax += w * x1[i]
        ay += w * y1[i]
        bx += w * x2[i]
        by += w * y2[i]
    ax, ay, bx, by = ax / total, ay / total, bx / total, by / total
    a_scatter, b_scatter = 0.0, 0.0
    for i in range(weights.size):
        a_scatter += weights[i] * ((x1[i] - ax) * (x1[i] - ax) + (y1[i] - ay) * (y1[i] - ay))
        b_scatter += weights[i] * ((x2[i] - bx) * (x2[i] - bx) + (y2[i] - by) * (y2[i] - by))
    return ax, ay, bx, by, math.sqrt(2.0 * total / a_scatter), math.sqrt(2.0 * total / b_scatter)


@inlined
def _accumulate(
    data: NDArray[np.float64],
    weights: NDArray[np.float64],
    ax: float,
    ay: float,
    bx: float,
    by: float,
    a_scale: float,
    b_scale: float,
    scratch: NDArray[np.float64],
) -> None:
    """Sum weight * m2 m1^T (6 x 6), with m the products x^2, xy, x, y^2, y, 1 of a point in its frame.

    The 36 sums are independent of one another, so the compiler computes several at once.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    for i in range(36):
        scratch[_MOMENTS + i] = 0.0
    for n in range(weights.size):
        if weights[n] == 0.0:
            continue
        x, y = a_scale * (x1[n] - ax), a_scale * (y1[n] - ay)
        u, v, w = b_scale * (x2[n] - bx), b_scale * (y2[n] - by), weights[n]
        m1 = (x * x, x * y, x, y * y, y, 1.0)
        m2 = (w * u * u, w * u * v, w * u, w * v * v, w * v, w)
        for i in range(6):
            for j in range(6):
                scratch[_MOMENTS + 6 * i + j] += m2[i] * m1[j]


@inlined
def remove_smallest_singular_value(f: NDArray[np.float64], scratch: NDArray[np.float64]) -> None:
    """Replace F by F (I - v v^T), where v is its right singular vector of the smallest singular value.

    The adjugate of F^T F, whose rows are cross products, has the largest eigenvalue where F^T F has the smallest: v is
    found by the power method.
    """
    M, A = 0, 9
    for i in range(3):
        for j in range(3):
            scratch[M + 3 * i + j] = f[i] * f[j] + f[3 + i] * f[3 + j] + f[6 + i] * f[6 + j]
    best = 0
    for i in range(3):
        j, k = M + 3 * ((i + 1) % 3), M + 3 * ((i + 2) % 3)
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            scratch[A + 3 * i + m] = scratch[j + n] * scratch[k + o] - scratch[j + o] * scratch[k + n]
        best = i if scratch[A + 4 * i] > scratch[A + 4 * best] else best
    x, y, z = scratch[A + 3 * best], scratch[A + 3 * best + 1], scratch[A + 3 * best + 2]
    for _ in range(_POWER_STEPS):
        scale = 1.0 / math.sqrt(x * x + y * y + z * z)
        if not scale < np.inf:
            return  # F has the rank 1 or 0
        x, y, z = x * scale, y * scale, z * scale
        x, y, z = (
            scratch[A] * x + scratch[A + 1] * y + scratch[A + 2] * z,
            scratch[A + 3] * x + scratch[A + 4] * y + scratch[A + 5] * z,
            scratch[A + 6] * x + scratch[A + 7] * y + scratch[A + 8] * z,
        )
    scale = 1.0 / (x * x + y * y + z * z)
    for i in range(0, 9, 3):
        along = scale * (f[i] * x + f[i + 1] * y + f[i + 2] * z)
        f[i] -= along * x
        f[i + 1] -= along * y
        f[i + 2] -= along * z


@kernel
def fix_sign(model: NDArray[np.float64]) -> None:
    """Give a model the sign that makes its first large entry positive.

    Large is more than half of the largest: two entries of one size, as [t]x has them, must not let rounding decide.
    """
    largest = 0.0
    for i in range(model.size):
        largest = max(largest, abs(model[i]))
    for i in range(model.size):
        if abs(model[i]) > 0.5 * largest:
            if model[i] < 0.0:
                for j in range(model.size):
                    model[j] = -model[j]
            return
