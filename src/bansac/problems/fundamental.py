"""The fundamental matrix: x2^T F x1 = 0, det F = 0.

Minimal solver: seven points (Hartley and Zisserman, section 11.1.2). The residual is the Sampson distance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel
from bansac.numeric.linalg import diagonalize
from bansac.numeric.polynomial import cubic_roots
from bansac.problems.contract import Problem
from bansac.problems.epipolar import FIT_SCRATCH, fit_eight_point, is_oriented, residuals

__all__ = ["FUNDAMENTAL"]


_NEGLIGIBLE = 1e-12


def solve(
    data: NDArray[np.float64], sample: NDArray[np.int64], models: NDArray[np.float64], scratch: NDArray[np.float64]
) -> int:
    """Compute the one to three fundamental matrices of seven matches.

    The matrices that agree with the matches are F = A + x B, with A and B a basis of the null space of the seven
    equations; det F = 0 is a cubic in x.
    """
    rows = scratch[:63]
    for r in range(7):
        i = sample[r]
        x1, y1, x2, y2 = data[0, i], data[1, i], data[2, i], data[3, i]
        row = rows[9 * r : 9 * r + 9]
        row[0], row[1], row[2] = x2 * x1, x2 * y1, x2
        row[3], row[4], row[5] = y2 * x1, y2 * y1, y2
        row[6], row[7], row[8] = x1, y1, 1.0
    if not _eliminate(rows):
        return 0
    a, b = scratch[63:72], scratch[72:81]
    for r in range(7):
        a[r] = -rows[9 * r + 7]
        b[r] = -rows[9 * r + 8]
    a[7], a[8], b[7], b[8] = 1.0, 0.0, 0.0, 1.0
    coefficients, roots = scratch[81:85], scratch[85:88]
    _determinant(a, b, coefficients)
    count = cubic_roots(coefficients, roots)
    for k in range(count):
        square = 0.0
        for i in range(9):
            entry = a[i] + roots[k] * b[i]
            models[k, i] = entry
            square += entry * entry
        scale = 1.0 / math.sqrt(square)
        for i in range(9):
            models[k, i] *= scale
    return count


@kernel
def _eliminate(rows: NDArray[np.float64]) -> bool:
    """Bring seven rows of nine numbers to the form (I | *) by Gauss-Jordan elimination with row pivoting."""
    for k in range(7):
        pivot, largest = k, 0.0
        for r in range(k, 7):
            size = abs(rows[9 * r + k])
            if size > largest:
                pivot, largest = r, size
        if not largest > _NEGLIGIBLE:
            return False
        scale = 1.0 / rows[9 * pivot + k]
        for c in range(k, 9):
            entry = rows[9 * pivot + c] * scale
            rows[9 * pivot + c] = rows[9 * k + c]
            rows[9 * k + c] = entry
        for r in range(7):
            if r == k:
                continue
            factor = rows[9 * r + k]
            for c in range(k + 1, 9):
                rows[9 * r + c] -= factor * rows[9 * k + c]
    return True


@kernel
def _determinant(a: NDArray[np.float64], b: NDArray[np.float64], coefficients: NDArray[np.float64]) -> None:
    """Write the coefficients of det(A + x B), a cubic, in increasing order."""
    for i in range(4):
        coefficients[i] = 0.0
    for j in range(3):  # expansion along the first row
        k, m = (j + 1) % 3, (j + 2) % 3
        c0 = a[3 + k] * a[6 + m] - a[3 + m] * a[6 + k]
        c1 = a[3 + k] * b[6 + m] + b[3 + k] * a[6 + m] - a[3 + m] * b[6 + k] - b[3 + m] * a[6 + k]
        c2 = b[3 + k] * b[6 + m] - b[3 + m] * b[6 + k]
        coefficients[0] += a[j] * c0
        coefficients[1] += a[j] * c1 + b[j] * c0
        coefficients[2] += a[j] * c2 + b[j] * c1
        coefficients[3] += b[j] * c2


def fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit F to weighted matches: eight-point algorithm, then the nearest matrix of rank 2."""
    if not fit_eight_point(data, weights, model, scratch):
        return False
    normal, null, vectors = scratch[:9], scratch[9:12], scratch[12:21]
    for i in range(3):
        for j in range(3):
            normal[3 * i + j] = model[i] * model[j] + model[3 + i] * model[3 + j] + model[6 + i] * model[6 + j]
    diagonalize(normal, vectors, null)
    for i in range(3):  # F (I - v v^T) with v the right singular vector of the smallest singular value
        along = model[3 * i] * null[0] + model[3 * i + 1] * null[1] + model[3 * i + 2] * null[2]
        for j in range(3):
            model[3 * i + j] -= along * null[j]
    return True


def normalize(data: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Centre both images and scale them by one factor, so that a Sampson distance stays a multiple of the pixel."""
    centroids = data.mean(axis=1)
    data -= centroids[:, None]
    spread = math.sqrt(float(np.mean(data * data)))
    scale = 1.0 / spread if spread > 0 else 1.0
    data *= scale
    transform[0] = scale
    transform[1:5] = centroids


def denormalize(model: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Take F back to the coordinates before ``normalize``, in place."""
    scale = transform[0]
    first = np.array([[scale, 0, -scale * transform[1]], [0, scale, -scale * transform[2]], [0, 0, 1]])
    second = np.array([[scale, 0, -scale * transform[3]], [0, scale, -scale * transform[4]], [0, 0, 1]])
    model[:] = (second.T @ model.reshape(3, 3) @ first).ravel()


def canonical(model: NDArray[np.float64]) -> None:
    """Scale F to unit Frobenius norm, its largest entry being positive."""
    model /= np.copysign(np.linalg.norm(model), model[np.argmax(np.abs(model))])


FUNDAMENTAL = Problem(
    name="fundamental matrix",
    channels=4,
    sample_size=7,
    model_shape=(3, 3),
    solve=solve,
    residuals=residuals,
    fit=fit,
    is_valid=is_oriented,
    max_models=3,
    scratch_size=FIT_SCRATCH,
    precision="float32",
    normalize=normalize,
    denormalize=denormalize,
    canonical=canonical,
)
