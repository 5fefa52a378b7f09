"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math

import numpy as np

from bansac.numeric.arrays import Floats, Reals
from bansac.numeric.jit import inlined, inner_kernel

__all__ = [
    "copy",
    "normalize_vector",
    "smallest_eigenvector",
    "solve_positive_definite",
    "span_complement",
]

# Added to the eigenvalues of a semidefinite matrix, as a share of its trace: more than rounding, less than data.
_SHIFT = 1e-14
# A pivot up to this many times the shift is the shift.
_VANISHING = 100.0
# Squaring k times leaves the share (smallest eigenvalue / next one)^(2^k) of the wrong eigenvectors.
_SQUARINGS = 30
_CONVERGED = 1e-15


@inlined
def copy(source: Reals, target: Reals) -> None:
    """Copy a vector, into the number type of ``target``."""
    for i in range(source.size):
        target[i] = source[i]


@inner_kernel
def normalize_vector(vector: Floats) -> bool:
    """Scale a vector to unit norm, in place; False if that is not possible."""
    square = 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
    if not 0.0 < square < np.inf:
        return False
    scale = 1.0 / math.sqrt(square)
    for i in range(vector.size):
        vector[i] *= scale
    return True


@inner_kernel
def span_complement(vector: Floats, basis: Floats) -> None:
    """Write an orthonormal basis of what is orthogonal to a unit vector of length n into the n - 1 rows of ``basis``.

    They are the columns but the last of the Householder reflection that takes the vector to the last axis.
    """
    last = vector.size - 1
    sign = 1.0 if vector[last] >= 0.0 else -1.0
    scale = 1.0 / (1.0 + sign * vector[last])  # 2 / |v|^2 with v = vector + sign * last axis
    for row in range(last):
        for i in range(last):
            basis[row, i] = (1.0 if i == row else 0.0) - scale * vector[row] * vector[i]
        basis[row, last] = -scale * vector[row] * (vector[last] + sign)


@inner_kernel
def smallest_eigenvector(scratch: Floats, n: int) -> bool:
    """Compute the unit eigenvector of the smallest eigenvalue of a positive semidefinite n x n matrix.

    The matrix is read from the first ``n * n`` numbers of ``scratch``, row by row; the eigenvector is written into the
    next ``n``. The matrix is destroyed, and another ``n * n`` numbers are used behind the eigenvector. False, and any
    vector of the null space, if two or more eigenvalues vanish next to the trace.

    The power method on the inverse, where the inverse itself is squared again and again: a small gap between the
    eigenvalues costs a few steps and not thousands.
    """
    size = n * n
    trace = 0.0
    for i in range(n):
        scratch[size + i] = 1.0 if i == 0 else 0.0
        trace += scratch[(n + 1) * i]
    if not 0.0 < trace < np.inf:
        return False
    vanishing = _invert(scratch, n, _SHIFT * trace)
    here, there = 0, size + n  # the matrix and its square change places
    for _ in range(_SQUARINGS):
        largest = 0.0
        for i in range(here, here + size, n + 1):
            entry = abs(scratch[i])
            largest = entry if entry > largest else largest
        trace, square, scale = 0.0, 0.0, 1.0 / largest
        for i in range(here, here + size):
            scratch[i] *= scale
            square += scratch[i] * scratch[i]
        for i in range(here, here + size, n + 1):
            trace += scratch[i]
        # Of rank 1 when the squares of the eigenvalues have the sum of the eigenvalues squared.
        if square >= (1.0 - _CONVERGED) * trace * trace:
            break
        for row in range(0, size, n):
            for j in range(n):
                total = 0.0
                for k in range(n):
                    total += scratch[here + row + k] * scratch[here + n * k + j]
                scratch[there + row + j] = total
        here, there = there, here
    best = 0
    for i in range(n):
        best = i if abs(scratch[here + (n + 1) * i]) > abs(scratch[here + (n + 1) * best]) else best
    row = here + n * best
    square = 0.0
    for i in range(row, row + n):
        square += scratch[i] * scratch[i]
    for i in range(n):
        scratch[size + i] = scratch[row + i] / math.sqrt(square)
    return vanishing < 2


@inner_kernel
def _invert(a: Floats, n: int, shift: float) -> int:
    """Replace a semidefinite n x n matrix by minus the inverse of itself plus ``shift`` times the identity.

    Return the number of pivots that are no more than the shift. Beaton's sweep operator, the largest pivot first. The
    diagonal elements that were pivots are negative.
    """
    for i in range(n):
        a[(n + 1) * i] += shift
    vanishing = 0
    for _ in range(n):
        k = 0
        for i in range(1, n):
            k = i if a[(n + 1) * i] > a[(n + 1) * k] else k
        top = n * k
        pivot = a[top + k]
        if not pivot > _VANISHING * shift:
            vanishing += 1
        for row in range(0, n * n, n):
            if row == top:
                continue
            factor = a[row + k] / pivot
            for j in range(n):
                a[row + j] -= factor * a[top + j]
            a[row + k] = factor
        for j in range(n):
            a[top + j] /= pivot
        a[top + k] = -1.0 / pivot
    return vanishing


@inner_kernel
def solve_positive_definite(system: Floats) -> bool:
    """Solve A x = b for a symmetric positive definite A by Cholesky's factorisation, in place.

    ``system`` has n + 1 rows of length n: A, of which the lower triangle is read, and b, which becomes x. False, and
    anything in ``system``, if A is not positive definite.
    """
    n = system.shape[1]
    for j in range(n):
        for i in range(j, n + 1):  # b is factorised like a row of A: that is the forward substitution
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i > j:
                system[i, j] = total * system[j, j]
            elif total > 0.0:
                system[j, j] = 1.0 / math.sqrt(total)
            else:
                return False
    for i in range(n - 1, -1, -1):
        total = system[n, i]
        for k in range(i + 1, n):
            total -= system[k, i] * system[n, k]
        system[n, i] = total * system[i, i]
    return True
