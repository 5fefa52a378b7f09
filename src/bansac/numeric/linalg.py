"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math

import numpy as np

from bansac.numeric.arrays import Floats, Reals
from bansac.numeric.jit import inlined, inner_kernel

__all__ = ["copy", "smallest_eigenvector"]

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
