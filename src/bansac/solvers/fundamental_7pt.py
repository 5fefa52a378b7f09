"""Fundamental matrices from seven matches (Hartley and Zisserman, section 11.1.2)."""

import numpy as np
from numpy.typing import ArrayLike

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import normalise_vector
from bansac.maths.normalisation import canonical_fundamental, denormalise_fundamental, normalise, stack_matches
from bansac.maths.polynomial_roots import cubic_roots

# Offsets in the scratch: the seven equations; the basis A, B of their null space; work space; the cubic; its roots.
_A = 7 * 9
_B = _A + 9
_CUBIC = 81 + 9
_ROOTS = _CUBIC + 4

SCRATCH = _ROOTS + 3

# Largest remaining coefficient of a linearly dependent equation, and sum of the coefficients of a cubic that vanishes.
_VANISHING = 1e-12

# Weight of further vectors of a null space, and of the second vector if all weights give models. The numbers are not
# simple, so that the epipole of a grid is on none of its lines.
_FURTHER, _SECOND = 0.37, 0.63


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the one to three fundamental matrices of unit Frobenius norm from seven matches.

    The matrices that satisfy the seven equations are F = A + x B, where A and B are a basis of their null space.
    det F = 0 is a cubic in x. If all matches follow a homography H without noise, the equations are dependent, and
    F = [e2]x H agrees with them for any e2. So det F = 0 for every x, and one of these matrices is the only model.
    """
    write_equations(data, sample, scratch)
    rank = null_space(scratch, 7)
    if rank < 6:
        return 0
    _write_determinant(scratch)
    if rank == 7:
        count = cubic_roots(scratch[_CUBIC:_ROOTS], scratch[_ROOTS:])
    else:
        size = abs(scratch[_CUBIC]) + abs(scratch[_CUBIC + 1]) + abs(scratch[_CUBIC + 2]) + abs(scratch[_CUBIC + 3])
        scratch[_ROOTS], count = _SECOND, 1 if size <= _VANISHING else 0
    for k in range(count):
        x = scratch[_ROOTS + k]
        for i in range(9):
            models[k, i] = scratch[_A + i] + x * scratch[_B + i]
        normalise_vector(models[k])
    return count


@inner_kernel
def write_equations(data: Floats, sample: Ints, rows: Floats) -> None:
    """Write the coefficients of x2^T F x1 = 0 for each match of a sample, linear in the nine entries of F."""
    at = 0
    for i in sample:
        for j in range(3):
            factor = data[2 + j, i] if j < 2 else 1.0
            rows[at], rows[at + 1], rows[at + 2] = factor * data[0, i], factor * data[1, i], factor
            at += 3


@inner_kernel
def null_space(a: Floats, equations: int) -> int:
    """Write a basis of the matrices that satisfy some equations; return the rank, 0 if an equation is not finite.

    The first rows of ``a``, of nine numbers each, hold the equations. The next rows, up to nine, get the basis. If the
    equations are dependent, the last row gets a combination of its further vectors. The next nine numbers are work
    space. The method is Gauss-Jordan elimination; each equation is solved for the entry of F with its largest
    coefficient.
    """
    rank = equations
    for i in range(9):
        a[81 + i] = -1.0  # index of the equation that is solved for entry i
    for k in range(equations):
        row = 9 * k
        column, largest = 0, 0.0
        for i in range(9):
            size = abs(a[row + i])
            if size > largest:
                column, largest = i, size
        if not largest < np.inf:
            return 0
        if largest <= _VANISHING:
            rank -= 1
            continue
        a[81 + column] = k
        scale = 1.0 / a[row + column]
        for i in range(9):
            a[row + i] *= scale
        for other in range(0, 9 * equations, 9):
            if other != row:
                factor = a[other + column]
                for i in range(9):
                    a[other + i] -= factor * a[row + i]
    row = 9 * equations
    for free in range(9):
        if a[81 + free] < 0.0:
            last = row == 81
            for i in range(9):
                k = int(a[81 + i])
                value = -a[9 * k + free] if k >= 0 else 1.0 if i == free else 0.0
                if last:
                    a[72 + i] += _FURTHER * value
                else:
                    a[row + i] = value
            row += 0 if last else 9
    return rank


@inner_kernel
def _write_determinant(scratch: Floats) -> None:
    """Write the coefficients of det(A + x B), a cubic, in increasing order."""
    for i in range(4):
        scratch[_CUBIC + i] = 0.0
    for j in range(3):  # expansion along the first row
        k, m = j + 1 if j < 2 else 0, j - 1 if j > 0 else 2
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


def fundamental_7pt(x1: ArrayLike, x2: ArrayLike) -> Floats:
    """Compute the fundamental matrices (K, 3, 3) of unit norm from points (7, 2): one to three.

    Matches of a homography agree with many, of which one is returned. There are none for other degenerate matches.
    """
    data = stack_matches(x1, x2, 7)
    transform, models = np.empty(5), np.empty((3, 9))
    normalise(data, transform)
    count = _solve(data, np.arange(7), models, np.empty(SCRATCH))
    for model in models[:count]:
        denormalise_fundamental(model, transform)
        canonical_fundamental(model)
    return models[:count].reshape(-1, 3, 3)


_solve = kernel(solve)
