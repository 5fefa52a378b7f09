"""Homography from weighted matches by linear least squares."""

import math

from numpy.typing import ArrayLike

from bansac.compiled.jit import fast_kernel, inlined
from bansac.maths.arrays import Floats
from bansac.maths.normalisation import canonical_homography, denormalise_homography, fit_normalised

SCRATCH = 3 * 9

# Values below this fraction of the largest eigenvalue are rounding errors.
_VANISHING = 1e-13
_NEWTON_STEPS = 5

Frame = tuple[float, float, float, float, float, float, float]


@fast_kernel
def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Fit H to weighted matches by a direct linear transform with Taubin's normalisation.

    With p = (x1, y1, 1) and the depth d = h3 . p, a match has the algebraic error (h1 . p - d x2, h2 . p - d y2). It is
    d times the transfer error. The plain transform minimises the mean squared algebraic error for |h| = 1. Here the
    normalisation is mean(d^2) = 1, the approximation of Taubin (PAMI 1991). Thus the result approximately minimises the
    mean squared transfer error, whatever the coordinate frames.

    The first points are transformed to mean(p p^T) = 1. Then the best first rows are h1 = U h3 and h2 = V h3, with
    U = mean(x2 p p^T) and V = mean(y2 p p^T). It remains to minimise h3^T M h3 with
    M = mean((x2^2 + y2^2) p p^T) - U^2 - V^2. The reduction to 3 x 3 is by Harker and O'Leary (BMVC 2005).
    """
    found, frame = _find_frame(data, weights)
    if not found:
        return False
    for block in range(3):
        _average(data, weights, frame, block, scratch)
    # U, V and M are consecutive in the scratch.
    size = scratch[18] + scratch[22] + scratch[26]
    for row in range(0, 9, 3):
        for j in range(3):
            for k in range(3):
                for block in range(0, 18, 9):
                    scratch[18 + row + j] -= scratch[block + row + k] * scratch[block + 3 * k + j]
    found, x, y = _smallest_eigenvector(scratch, _VANISHING * size)
    if not found:
        return False
    model[6], model[7], model[8] = x, y, 1.0
    for i in range(6):
        model[i] = scratch[3 * i] * x + scratch[3 * i + 1] * y + scratch[3 * i + 2]
    # Undo the frames: first image 1, then image 2.
    mx1, my1, l11, l21, l22, mx2, my2 = frame
    for row in range(0, 9, 3):
        model[row + 1] /= l22
        model[row] = (model[row] - l21 * model[row + 1]) / l11
        model[row + 2] -= model[row] * mx1 + model[row + 1] * my1
    for i in range(3):
        model[i] += mx2 * model[6 + i]
        model[3 + i] += my2 * model[6 + i]
    return True


@inlined
def _find_frame(data: Floats, weights: Floats) -> tuple[bool, Frame]:
    """Compute the frame of a fit; False if the points of image 1 are collinear, or fewer than four.

    The frame is the weighted centroid of image 1, the Cholesky factor (l11, l21, l22) of its covariance, and the
    centroid of image 2.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    total, points, mx1, my1, mx2, my2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        w = weights[i]
        total += w
        points += 1.0 if w > 0.0 else 0.0
        mx1 += w * x1[i]
        my1 += w * y1[i]
        mx2 += w * x2[i]
        my2 += w * y2[i]
    if points < 4.0:
        return False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mx1, my1 = mx1 / total, my1 / total
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(weights.size):
        x, y, w = x1[i] - mx1, y1[i] - my1, weights[i]
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
    xx, xy, yy = xx / total, xy / total, yy / total
    determinant = xx * yy - xy * xy
    if not determinant > _VANISHING * (xx + yy) * (xx + yy):
        return False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    l11 = math.sqrt(xx)
    return True, (mx1, my1, l11, xy / l11, math.sqrt(determinant) / l11, mx2 / total, my2 / total)


@inlined
def _average(data: Floats, weights: Floats, frame: Frame, block: int, out: Floats) -> None:
    """Write the weighted mean of f p p^T in the frame; f is x2, y2, x2^2 + y2^2 for ``block`` 0, 1, 2."""
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    mx1, my1, l11, l21, l22, mx2, my2 = frame
    u_factor = 1.0 if block == 0 else 0.0
    v_factor = 1.0 if block == 1 else 0.0
    square_factor = 1.0 if block == 2 else 0.0
    total, xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        x = (x1[i] - mx1) / l11
        y = (y1[i] - my1 - l21 * x) / l22
        u, v = x2[i] - mx2, y2[i] - my2
        w = weights[i]
        total += w
        w *= u_factor * u + v_factor * v + square_factor * (u * u + v * v)
        zz += w
        xz += w * x
        yz += w * y
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
    k = 9 * block
    out[k] = xx / total
    out[k + 1] = out[k + 3] = xy / total
    out[k + 2] = out[k + 6] = xz / total
    out[k + 4] = yy / total
    out[k + 5] = out[k + 7] = yz / total
    out[k + 8] = zz / total


@inlined
def _smallest_eigenvector(scratch: Floats, vanishing: float) -> tuple[bool, float, float]:
    """Return the eigenvector (x, y, 1) of the smallest eigenvalue of M.

    The third element of h3 is the mean depth of the points, which is positive if they are in front of the camera.
    Eliminating x and y leaves one equation in the eigenvalue, which Newton's method solves from 0. The first value is
    False if the eigenvector is not determined or has mean depth 0.
    """
    a, b, c = scratch[18], scratch[19], scratch[20]
    d, e, f = scratch[22], scratch[23], scratch[26]
    x, y, eigenvalue = 0.0, 0.0, 0.0
    for step in range(_NEWTON_STEPS):
        determinant = (a - eigenvalue) * (d - eigenvalue) - b * b
        if not (a > eigenvalue and determinant > vanishing * (a + d)):
            return step > 0, x, y
        x = (b * e - (d - eigenvalue) * c) / determinant
        y = (b * c - (a - eigenvalue) * e) / determinant
        square = x * x + y * y
        eigenvalue = (f + c * x + e * y + eigenvalue * square) / (1.0 + square)
    return True, x, y


def homography_dlt(x1: ArrayLike, x2: ArrayLike) -> Floats | None:
    """Fit the homography (3, 3) to points (N, 2); None if the matches do not determine it.

    The fit minimises the squared transfer errors to first order. H[2, 2] = 1, or H has unit norm if H[2, 2] vanishes.
    """
    return fit_normalised(x1, x2, fit, SCRATCH, denormalise_homography, canonical_homography)
