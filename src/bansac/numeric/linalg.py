"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel

__all__ = ["smallest_eigenvector", "solve_linear"]

# Added to the eigenvalues of a semidefinite matrix, as a share of its trace: more than rounding, less than data.
_SHIFT = 1e-14
# A pivot up to this many times the shift is the shift.
_VANISHING = 100.0
# Squaring k times leaves the share (smallest eigenvalue / next one)^(2^k) of the wrong eigenvectors.
_SQUARINGS = 30
_CONVERGED = 1e-15
# Below this share of its size a matrix is singular.
_SINGULAR = 1e-14


@kernel
def smallest_eigenvector(a: NDArray[np.float64], vector: NDArray[np.float64], work: NDArray[np.float64]) -> bool:
    """Write the unit eigenvector of the smallest eigenvalue of a positive semidefinite matrix into ``vector``.

    The power method on the inverse, where the inverse itself is squared again and again: a small gap between the
    eigenvalues costs a few steps and not thousands. ``a`` (n x n, symmetric) is destroyed; ``work`` has room for n * n
    numbers. False, and any vector of the null space, where two or more eigenvalues vanish next to the trace.
    """
    n = vector.size
    trace = 0.0
    for i in range(n):
        vector[i] = 1.0 if i == 0 else 0.0
        trace += a[i, i]
    if not 0.0 < trace < np.inf:
        return False
    for i in range(n):
        a[i, i] += _SHIFT * trace
    vanishing = _invert(a, _VANISHING * _SHIFT * trace)
    for _ in range(_SQUARINGS):
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(a[i, i]))
        trace, square, scale = 0.0, 0.0, 1.0 / largest
        for i in range(n):
            trace += a[i, i] * scale
            for j in range(n):
                a[i, j] *= scale
                square += a[i, j] * a[i, j]
        # Of rank 1 when the squares of the eigenvalues have the sum of the eigenvalues squared.
        if square >= (1.0 - _CONVERGED) * trace * trace:
            break
        for i in range(n):
            for j in range(n):
                work[n * i + j] = 0.0
            for k in range(n):
                factor = a[i, k]
                for j in range(n):
                    work[n * i + j] += factor * a[k, j]
        for i in range(n):
            for j in range(n):
                a[i, j] = work[n * i + j]
    best = 0
    for i in range(1, n):
        best = i if abs(a[i, i]) > abs(a[best, best]) else best
    square = 0.0
    for i in range(n):
        square += a[best, i] * a[best, i]
    for i in range(n):
        vector[i] = a[best, i] / math.sqrt(square)
    return vanishing < 2


@kernel
def _invert(a: NDArray[np.float64], vanishing: float) -> int:
    """Replace a symmetric positive definite matrix by minus its inverse; return how many pivots are ``vanishing``.

    Beaton's sweep operator, the largest pivot first. The diagonal elements that were pivots are negative.
    """
    n = a.shape[0]
    count = 0
    for _ in range(n):
        k = 0
        for i in range(1, n):
            k = i if a[i, i] > a[k, k] else k
        pivot = a[k, k]
        if not pivot > vanishing:
            count += 1
        for i in range(n):
            if i == k:
                continue
            factor = a[i, k] / pivot
            for j in range(n):
                a[i, j] -= factor * a[k, j]
            a[i, k] = factor
        for j in range(n):
            a[k, j] /= pivot
        a[k, k] = -1.0 / pivot
    return count


@kernel
def solve_linear(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Solve a x = b by Gaussian elimination with partial pivoting, in place: ``b`` becomes x and ``a`` is destroyed.

    False, and ``b`` is not to be used, where a pivot vanishes next to the largest element of ``a``.
    """
    n = b.size
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(a[i, j]))
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            pivot = i if abs(a[i, k]) > abs(a[pivot, k]) else pivot
        if not abs(a[pivot, k]) > _SINGULAR * largest:
            return False
        if pivot != k:
            for j in range(k, n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
            b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return True
