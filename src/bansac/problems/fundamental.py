"""The fundamental matrix: x2^T F x1 = 0, det F = 0.

Minimal solver: seven points (Hartley and Zisserman, section 11.1.2). The residual is the Sampson distance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import inlined, kernel
from bansac.numeric.polynomial import cubic_roots
from bansac.problems.degensac import is_degenerate, repair_degenerate
from bansac.problems.epipolar import (
    FIT_SCRATCH,
    fit_eight_point,
    fix_sign,
    is_oriented,
    remove_smallest_singular_value,
    residuals,
    write_equation,
)
from bansac.problems.frames import normalize
from bansac.problems.problem import Problem

__all__ = ["FUNDAMENTAL"]

# Places in the scratch: the seven equations, the basis A, B of their null space, and room; the cubic; its roots.
_A = 7 * 9
_B = _A + 9
_CUBIC = 81 + 9
_ROOTS = _CUBIC + 4

# The largest coefficient that is left of an equation that depends on others.
_DEPENDENT = 1e-14


def solve(
    data: NDArray[np.float64], sample: NDArray[np.int64], models: NDArray[np.float64], scratch: NDArray[np.float64]
) -> int:
    """Compute the one to three fundamental matrices of seven matches, of unit Frobenius norm.

    The matrices that agree with the matches are F = A + x B, with A and B a basis of the null space of the seven
    equations; det F = 0 is a cubic in x.
    """
    for r in range(7):
        i = sample[r]
        write_equation(data[0, i], data[1, i], 1.0, data[2, i], data[3, i], 1.0, scratch, 9 * r)
    if not _null_space(scratch):
        return 0
    _write_determinant(scratch)
    count = cubic_roots(scratch[_CUBIC:_ROOTS], scratch[_ROOTS:])
    for k in range(count):
        x = scratch[_ROOTS + k]
        square = 0.0
        for i in range(9):
            entry = scratch[_A + i] + x * scratch[_B + i]
            models[k, i] = entry
            square += entry * entry
        scale = 1.0 / math.sqrt(square)
        for i in range(9):
            models[k, i] *= scale
    return count


@inlined
def _null_space(a: NDArray[np.float64]) -> bool:
    """Write a basis of the matrices that satisfy seven equations; False where the equations are dependent.

    ``a`` has the equations in its first seven rows of nine numbers, and gets the basis in the next two; nine numbers of
    scratch follow. Gauss-Jordan elimination, each equation being solved for the entry of F that it depends on most.
    """
    for i in range(9):
        a[81 + i] = -1.0  # the equation that is solved for entry i
    for k in range(7):
        row = 9 * k
        column, largest = 0, 0.0
        for i in range(9):
            size = abs(a[row + i])
            if size > largest:
                column, largest = i, size
        if not _DEPENDENT < largest < np.inf:
            return False
        a[81 + column] = k
        scale = 1.0 / a[row + column]
        for i in range(9):
            a[row + i] *= scale
        for other in range(0, 63, 9):
            if other != row:
                factor = a[other + column]
                for i in range(9):
                    a[other + i] -= factor * a[row + i]
    row = 63
    for free in range(9):
        if a[81 + free] < 0.0:
            for i in range(9):
                k = int(a[81 + i])
                a[row + i] = -a[9 * k + free] if k >= 0 else 0.0
            a[row + free] = 1.0
            row += 9
    return True


@inlined
def _write_determinant(scratch: NDArray[np.float64]) -> None:
    """Write the coefficients of det(A + x B), a cubic, in increasing order."""
    for i in range(4):
        scratch[_CUBIC + i] = 0.0
    for j in range(3):  # expansion along the first row
        k, m = (j + 1) % 3, (j + 2) % 3
        a1, a2, a3, a4 = scratch[_A + 3 + k], scratch[_A + 6 + m], scratch[_A + 3 + m], scratch[_A + 6 + k]
        b1, b2, b3, b4 = scratch[_B + 3 + k], scratch[_B + 6 + m], scratch[_B + 3 + m], scratch[_B + 6 + k]
        c0 = a1 * a2 - a3 * a4
        c1 = a1 * b2 + b1 * a2 - a3 * b4 - b3 * a4
        c2 = b1 * b2 - b3 * b4
        a, b = scratch[_A + j], scratch[_B + j]
        scratch[_CUBIC] += a * c0
        scratch[_CUBIC + 1] += a * c1 + b * c0
        scratch[_CUBIC + 2] += a * c2 + b * c1
        scratch[_CUBIC + 3] += b * c2


def fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit F to weighted matches: eight-point algorithm, then the nearest matrix of rank 2."""
    if not fit_eight_point(data, weights, model, scratch):
        return False
    remove_smallest_singular_value(model, scratch)
    return True


@kernel
def denormalize(model: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Replace F by B^T F A, where A and B are the normalising maps of the two images, in place."""
    scale = transform[0]
    for i in range(3):  # F A: columns
        model[3 * i], model[3 * i + 1] = scale * model[3 * i], scale * model[3 * i + 1]
        model[3 * i + 2] -= transform[1] * model[3 * i] + transform[2] * model[3 * i + 1]
    for j in range(3):  # B^T F: rows
        model[j], model[3 + j] = scale * model[j], scale * model[3 + j]
        model[6 + j] -= transform[3] * model[j] + transform[4] * model[3 + j]


@kernel
def canonical(model: NDArray[np.float64]) -> None:
    """Scale F to unit Frobenius norm, with the sign of ``fix_sign``."""
    square = 0.0
    for i in range(9):
        square += model[i] * model[i]
    if not 0.0 < square < np.inf:
        return
    for i in range(9):
        model[i] /= math.sqrt(square)
    fix_sign(model)


FUNDAMENTAL = Problem(
    name="fundamental matrix",
    channels=4,
    sample_size=7,
    model_shape=(3, 3),
    solve=solve,
    residuals=residuals,
    fit=fit,
    is_valid=is_oriented,
    is_degenerate=is_degenerate,
    repair_degenerate=repair_degenerate,
    max_models=3,
    scratch_size=FIT_SCRATCH,
    precision="float32",
    normalize=normalize,
    denormalize=denormalize,
    canonical=canonical,
    default_threshold=0.5,
    default_max_iterations=10000,
)
