"""Functions of the epipolar constraint x2^T F x1 = 0, for fundamental and essential matrices.

The data are matches, channels x1, y1, x2, y2; models are flat, row by row.
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Ints, Reals
from bansac.maths.linalg import Entries, longest_cross, matrix_entries


@inlined
def epipolar_terms(F: Entries, x1: float, y1: float, x2: float, y2: float) -> tuple[float, float, float, float, float]:
    """Return the first two coordinates of F^T x2 and of F x1, and x2^T F x1."""
    f11, f12, f13, f21, f22, f23, f31, f32, f33 = F
    a2, b2, c2 = f11 * x1 + f12 * y1 + f13, f21 * x1 + f22 * y1 + f23, f31 * x1 + f32 * y1 + f33
    a1, b1 = f11 * x2 + f21 * y2 + f31, f12 * x2 + f22 * y2 + f32
    return a1, b1, a2, b2, x2 * a2 + y2 * b2 + c2


def sampson_residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared Sampson distances, (x2^T F x1)^2 / (|F x1|^2 + |F^T x2|^2) over the first two coordinates.

    This is the squared distance to the nearest pair of points that agrees with F, to first order (Sampson, 1982;
    Hartley and Zisserman, section 11.4.3). NaN if x1 and x2 are both epipoles.
    """
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    F = matrix_entries(model)
    for i in range(stop - start):
        a1, b1, a2, b2, algebraic = epipolar_terms(F, x1[i], y1[i], x2[i], y2[i])
        out[i] = algebraic * algebraic / (a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2)


def symmetric_residuals(data: Reals, model: Reals, start: int, stop: int, out: Reals) -> None:
    """Compute squared symmetric epipolar distances, (x2^T F x1)^2 (1 / |F x1|^2 + 1 / |F^T x2|^2).

    This is the sum of the squared distances of x2 to the line F x1 and of x1 to the line F^T x2 (Hartley and Zisserman,
    eq. 11.10). The norms are over the first two coordinates. The sum is at least four times the squared Sampson
    distance, with equality if both norms are equal. NaN if x1 or x2 is an epipole, because an epipole has no epipolar
    line in the other image.
    """
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    F = matrix_entries(model)
    for i in range(stop - start):
        a1, b1, a2, b2, algebraic = epipolar_terms(F, x1[i], y1[i], x2[i], y2[i])
        norm1, norm2 = a1 * a1 + b1 * b1, a2 * a2 + b2 * b2
        out[i] = algebraic * algebraic * (norm1 + norm2) / (norm1 * norm2)


def linearize_sampson(data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats) -> None:
    """Compute signed Sampson distances C / g and their derivatives by the entries of F.

    With C = x2^T F x1 and g^2 = |F x1|^2 + |F^T x2|^2 the derivatives are (dC - C / (2 g^2) d(g^2)) / g.
    """
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    F = matrix_entries(model)
    r = residuals[0]
    d11, d12, d13 = jacobian[0], jacobian[1], jacobian[2]
    d21, d22, d23 = jacobian[3], jacobian[4], jacobian[5]
    d31, d32, d33 = jacobian[6], jacobian[7], jacobian[8]
    for i in range(stop - start):
        a1, b1, a2, b2, algebraic = epipolar_terms(F, x1[i], y1[i], x2[i], y2[i])
        scale = 1.0 / math.sqrt(a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2)
        r[i] = algebraic * scale
        q = algebraic * scale * scale
        u, v = x2[i] - q * a2, y2[i] - q * b2
        d11[i] = scale * (u * x1[i] - q * a1 * x2[i])
        d12[i] = scale * (u * y1[i] - q * b1 * x2[i])
        d13[i] = scale * u
        d21[i] = scale * (v * x1[i] - q * a1 * y2[i])
        d22[i] = scale * (v * y1[i] - q * b1 * y2[i])
        d23[i] = scale * v
        d31[i] = scale * (x1[i] - q * a1)
        d32[i] = scale * (y1[i] - q * b1)
        d33[i] = scale


def linearize_symmetric(
    data: Floats, model: Floats, start: int, stop: int, residuals: Floats, jacobian: Floats
) -> None:
    """Compute the signed distances of x1 to F^T x2 and of x2 to F x1, and their derivatives by the entries of F.

    Let l = F^T x2, n the unit normal of the line l, and r = C / |l|. The derivatives of r are x2 (x1 - r n)^T / |l|.
    The other distance is analogous.
    """
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    F = matrix_entries(model)
    first, second = residuals[0], residuals[1]
    u1, v1, w1 = jacobian[6], jacobian[7], jacobian[8]  # third coordinate of x2, which is 1
    u2, v2, w2 = jacobian[11], jacobian[14], jacobian[17]  # third coordinate of x1
    for i in range(stop - start):
        a1, b1, a2, b2, algebraic = epipolar_terms(F, x1[i], y1[i], x2[i], y2[i])
        scale1, scale2 = 1.0 / math.sqrt(a1 * a1 + b1 * b1), 1.0 / math.sqrt(a2 * a2 + b2 * b2)
        first[i], second[i] = algebraic * scale1, algebraic * scale2
        u1[i] = scale1 * (x1[i] - first[i] * scale1 * a1)
        v1[i] = scale1 * (y1[i] - first[i] * scale1 * b1)
        w1[i] = scale1
        u2[i] = scale2 * (x2[i] - second[i] * scale2 * a2)
        v2[i] = scale2 * (y2[i] - second[i] * scale2 * b2)
        w2[i] = scale2
    for k in range(3):
        row1, row2 = jacobian[6 + k], jacobian[11 + 3 * k]
        x2_row1, y2_row1 = jacobian[k], jacobian[3 + k]
        x1_row2, y1_row2 = jacobian[9 + 3 * k], jacobian[10 + 3 * k]
        for i in range(stop - start):
            x2_row1[i], y2_row1[i] = x2[i] * row1[i], y2[i] * row1[i]
            x1_row2[i], y1_row2[i] = x1[i] * row2[i], y1[i] * row2[i]


@inner_kernel
def second_epipole(f: Floats) -> tuple[float, float, float]:
    """Return e2 with e2^T F = 0."""
    return longest_cross(f, 3, 1)


@inner_kernel
def orientation(data: Floats, f: Floats, ex: float, ey: float, ez: float, i: int | np.int64) -> float:
    """Return (e2 x x2) . F x1 of match i (Chum, Werner and Matas, ICPR 2004).

    The epipolar line F x1 and the line through the epipole e2 and x2 coincide. The sign tells on which side of e2 the
    point lies.
    """
    x1, y1, x2, y2 = data[0, i], data[1, i], data[2, i], data[3, i]
    a = f[0] * x1 + f[1] * y1 + f[2]
    b = f[3] * x1 + f[4] * y1 + f[5]
    c = f[6] * x1 + f[7] * y1 + f[8]
    agreement: float = (ey - ez * y2) * a + (ez * x2 - ex) * b + (ex * y2 - ey * x2) * c
    return agreement


def is_oriented(data: Floats, model: Floats, sample: Ints) -> bool:
    """Return whether the orientation has one sign for all points of the sample, as in front of both cameras."""
    ex, ey, ez = second_epipole(model)
    positive, negative = False, False
    for i in sample:
        agreement = orientation(data, model, ex, ey, ez, i)
        positive |= agreement > 0.0
        negative |= agreement < 0.0
    return not (positive and negative)
