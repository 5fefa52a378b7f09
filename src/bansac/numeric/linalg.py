"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import inlined, kernel

__all__ = ["copy", "smallest_eigenvector"]

# Added to the eigenvalues of a semidefinite matrix, as a share of its trace: more than rounding, less than data.
_SHIFT = 1e-14
# A pivot up to this many times the shift is the shift.
_VANISHING = 100.0
# Squaring k times leaves the share (smallest eigenvalue / next one)^(2^k) of the wrong eigenvectors.
_SQUARINGS = 30
_CONVERGED = 1e-15


@inlined
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a vector, into the number type of ``target``."""
    for i in range(source.size):
        target[i] = source[i]


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
