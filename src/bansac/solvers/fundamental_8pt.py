"""Fundamental matrix from weighted matches: the normalised eight-point algorithm (Hartley, PAMI 1997)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.maths.arrays import Floats
from bansac.maths.linalg import smallest_eigenvector, weighted_centroid
from bansac.maths.normalisation import canonical_fundamental, denormalise_fundamental, fit_normalised

# Normal matrix, eigenvector, and work space of the eigen-solver. The work space first holds the sums over the matches.
SCRATCH = 81 + 9 + 81
_MOMENTS = 81 + 9

Frames = tuple[float, float, float, float, float, float]

# Index of the product of entries i and j of an equation among the sums. Entry i is the product of coordinate i // 3 of
# the second point and coordinate i % 3 of the first.
_SYMMETRIC = ((0, 1, 2), (1, 3, 4), (2, 4, 5))
_PLACES = np.array([6 * _SYMMETRIC[i // 3][j // 3] + _SYMMETRIC[i % 3][j % 3] for i in range(9) for j in range(9)])

# Each power step multiplies the error of the singular vector by (s3 / s2)^2.
_POWER_STEPS = 30

# A length below this has an infinite, or nearly infinite, inverse.
_VANISHING = 1e-300


def fit(data: Floats, weights: Floats, model: Floats, scratch: Floats) -> bool:
    """Fit F to weighted matches: the eight-point algorithm, then the nearest matrix of rank 2."""
    if not fit_eight_point(data, weights, model, scratch):
        return False
    remove_smallest_singular_value(model, scratch)
    return True


@inlined
def fit_eight_point(data: Floats, weights: Floats, f: Floats, scratch: Floats) -> bool:
    """Fit x2^T F x1 = 0 to weighted matches by the normalised eight-point algorithm (Hartley, PAMI 1997).

    The rank of F is not enforced. Return False if the matches do not determine F: fewer than eight, or all on a plane.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    total, ax, ay = weighted_centroid(x1, y1, weights)
    _, bx, by = weighted_centroid(x2, y2, weights)
    a_scatter, b_scatter = 0.0, 0.0
    for i in range(weights.size):
        a_scatter += weights[i] * ((x1[i] - ax) * (x1[i] - ax) + (y1[i] - ay) * (y1[i] - ay))
        b_scatter += weights[i] * ((x2[i] - bx) * (x2[i] - bx) + (y2[i] - by) * (y2[i] - by))
    # Scales that make the mean squared distances from the centroids 2.
    a_scale, b_scale = math.sqrt(2.0 * total / a_scatter), math.sqrt(2.0 * total / b_scatter)
    if not (0.0 < a_scale < np.inf and 0.0 < b_scale < np.inf):
        return False
    _accumulate(data, weights, (ax, ay, bx, by, a_scale, b_scale), scratch)
    # The equation of a match is p2 p1^T; its outer product is made of the products of the points' coordinates.
    for i in range(81):
        scratch[i] = scratch[_MOMENTS + _PLACES[i]]
    if not smallest_eigenvector(scratch, 9):
        return False
    for i in range(3):  # F T1: columns
        row = 81 + 3 * i
        f[3 * i], f[3 * i + 1] = a_scale * scratch[row], a_scale * scratch[row + 1]
        f[3 * i + 2] = scratch[row + 2] - ax * f[3 * i] - ay * f[3 * i + 1]
    for j in range(3):  # T2^T F: rows
        f[j], f[3 + j] = b_scale * f[j], b_scale * f[3 + j]
        f[6 + j] -= bx * f[j] + by * f[3 + j]
    return True


@inner_kernel
def _accumulate(data: Floats, weights: Floats, frames: Frames, scratch: Floats) -> None:
    """Sum weight * m2 m1^T (6 x 6), where m are the products x^2, xy, x, y^2, y, 1 of a normalised point."""
    ax, ay, bx, by, a_scale, b_scale = frames
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


@inner_kernel
def remove_smallest_singular_value(f: Floats, scratch: Floats) -> None:
    """Replace F by F (I - v v^T), where v is the right singular vector of the smallest singular value.

    v is the eigenvector of the largest eigenvalue of the adjugate of F^T F, whose rows are cross products. The power
    method computes it.
    """
    M, A = 0, 9
    for i in range(3):
        for j in range(3):
            scratch[M + 3 * i + j] = f[i] * f[j] + f[3 + i] * f[3 + j] + f[6 + i] * f[6 + j]
    best = 0
    for i in range(3):
        j, k = M + 3 * (i + 1 if i < 2 else 0), M + 3 * (i - 1 if i > 0 else 2)
        for m in range(3):
            n, o = m + 1 if m < 2 else 0, m - 1 if m > 0 else 2
            scratch[A + 3 * i + m] = scratch[j + n] * scratch[k + o] - scratch[j + o] * scratch[k + n]
        best = i if scratch[A + 4 * i] > scratch[A + 4 * best] else best
    x, y, z = scratch[A + 3 * best], scratch[A + 3 * best + 1], scratch[A + 3 * best + 2]
    for _ in range(_POWER_STEPS):
        norm = math.sqrt(x * x + y * y + z * z)
        if not norm > _VANISHING:
            return  # F has rank 1 or 0
        scale = 1.0 / norm
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


def fundamental_8pt(x1: ArrayLike, x2: ArrayLike) -> Floats | None:
    """Fit F (3, 3) of unit norm and rank 2 to points (N, 2).

    None if the matches do not determine it: fewer than eight, or all on a plane.
    """
    return fit_normalised(x1, x2, _fit, SCRATCH, denormalise_fundamental, canonical_fundamental)


_fit = kernel(fit)
