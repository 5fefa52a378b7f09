"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel

__all__ = ["diagonalize", "smallest_eigenvector", "solve_linear"]

_MAX_SWEEPS = 30
_CONVERGED = 1e-32


@kernel
def diagonalize(a: NDArray[np.float64], vectors: NDArray[np.float64], vector: NDArray[np.float64]) -> None:
    """Diagonalise a symmetric matrix: eigenvalues on the diagonal of ``a``, unit eigenvectors as rows of ``vectors``.

    Both are n x n, flat, row by row. The eigenvector of the smallest eigenvalue goes into ``vector`` as well, whose
    size is n. Cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5).
    """
    n = vector.size
    for i in range(n * n):
        vectors[i] = 0.0
    for i in range(n):
        vectors[i * n + i] = 1.0
    for _ in range(_MAX_SWEEPS):
        off, diagonal = 0.0, 0.0
        for i in range(n):
            diagonal += a[i * n + i] * a[i * n + i]
            for j in range(i):
                off += a[i * n + j] * a[i * n + j]
        if not off > _CONVERGED * diagonal:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                apq = a[p * n + q]
                if apq == 0.0:
                    continue
                theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq)
                t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    akp, akq = a[k * n + p], a[k * n + q]
                    a[k * n + p], a[k * n + q] = c * akp - s * akq, s * akp + c * akq
                for k in range(n):
                    apk, aqk = a[p * n + k], a[q * n + k]
                    a[p * n + k], a[q * n + k] = c * apk - s * aqk, s * apk + c * aqk
                    vpk, vqk = vectors[p * n + k], vectors[q * n + k]
                    vectors[p * n + k], vectors[q * n + k] = c * vpk - s * vqk, s * vpk + c * vqk
    smallest = 0
    for i in range(1, n):
        if a[i * n + i] < a[smallest * n + smallest]:
            smallest = i
    for i in range(n):
        vector[i] = vectors[smallest * n + i]


@kernel
def smallest_eigenvector(a: NDArray[np.float64], vector: NDArray[np.float64], work: NDArray[np.float64]) -> None:
    """Write the unit eigenvector of the smallest eigenvalue of a symmetric n x n matrix into ``vector``.

    ``work`` has room for 2 * n * n numbers.
    """
    n = vector.size
    for i in range(n):
        for j in range(n):
            work[i * n + j] = a[i, j]
    diagonalize(work, work[n * n :], vector)


@kernel
def solve_linear(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Solve a x = b by Gaussian elimination with partial pivoting; x replaces b, a is destroyed; False if singular."""
    n = b.size
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = abs(a[i, j]) if abs(a[i, j]) > largest else largest
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if not abs(a[pivot, k]) > 1e-14 * largest:
            return False
        if pivot != k:
            for j in range(n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
            b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return True
