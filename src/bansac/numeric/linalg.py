"""Linear algebra of small fixed sizes, without allocation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import kernel

__all__ = ["smallest_eigenvector", "solve_linear"]

_MAX_SWEEPS = 30


@kernel
def smallest_eigenvector(a: NDArray[np.float64], vector: NDArray[np.float64], work: NDArray[np.float64]) -> None:
    """Write the unit eigenvector of the smallest eigenvalue of a symmetric matrix into ``vector``.

    Cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5). ``a`` (n x n) is destroyed; ``work``
    has room for n * n numbers.
    """
    n = vector.size
    v = work[: n * n].reshape(n, n)
    for i in range(n):
        for j in range(n):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MAX_SWEEPS):
        off, diagonal = 0.0, 0.0
        for i in range(n):
            diagonal += a[i, i] * a[i, i]
            for j in range(i):
                off += a[i, j] * a[i, j]
        if not off > 1e-32 * diagonal:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    akp, akq = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * akp - s * akq, s * akp + c * akq
                for k in range(n):
                    apk, aqk = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * apk - s * aqk, s * apk + c * aqk
                    vpk, vqk = v[p, k], v[q, k]
                    v[p, k], v[q, k] = c * vpk - s * vqk, s * vpk + c * vqk
    smallest = 0
    for i in range(1, n):
        if a[i, i] < a[smallest, smallest]:
            smallest = i
    for i in range(n):
        vector[i] = v[smallest, i]


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
