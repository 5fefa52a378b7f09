"""The solvers of six matches with an unknown focal length, the slow way: as a polynomial eigenvalue problem."""

import itertools

import numpy as np
from numpy.typing import NDArray

from tests.reference.eigenvalues import quadratic_eigenvalues
from tests.reference.epipolar import cross_matrix, random_rotation

_Array = NDArray[np.float64]

_MONOMIALS = list(itertools.combinations_with_replacement(range(3), 3))


def constraints(basis: _Array, w: float, shared: bool) -> _Array:
    """Return the coefficients of the trace constraint and of det F in the monomials of a, b, c."""
    Q1, Q2 = np.diag([1, 1, w if shared else 1]), np.diag([1, 1, w])
    M = np.zeros((10, 10))
    for column, monomial in enumerate(_MONOMIALS):
        for i, j, k in set(itertools.permutations(monomial)):
            A, B, C = basis[i], basis[j], basis[k]
            S = A @ Q1 @ B.T @ Q2
            M[:9, column] += (2 * S @ C - np.trace(S) * C).ravel()
            M[9, column] += np.linalg.det([A[0], B[1], C[2]])
    return M


def focal_lengths(x1: _Array, x2: _Array, shared: bool) -> _Array:
    """Return the focal lengths of all real solutions, in ascending order, for points of the order of 1."""
    rows = np.einsum("ni,nj->nij", np.insert(x2, 2, 1, axis=1), np.insert(x1, 2, 1, axis=1))
    basis = np.linalg.svd(rows.reshape(6, 9))[2][6:].reshape(3, 3, 3)
    M0, plus, minus = (constraints(basis, w, shared) for w in (0.0, 1.0, -1.0))
    M1, M2 = (plus - minus) / 2, (plus + minus) / 2 - M0
    w = quadratic_eigenvalues(M0, M1, M2)
    w = w[np.abs(w.imag) < 1e-7 * np.abs(w)].real
    return np.sort(1 / np.sqrt(w[w > 0]))


def scene(rng: np.random.Generator, f1: float, f2: float) -> tuple[_Array, _Array, _Array]:
    """Return six matches relative to the principal points and their F, of unit norm."""
    while True:
        R = random_rotation(rng, np.radians(40), np.radians(5))
        x1 = rng.uniform(-0.7, 0.7, (6, 2))
        X = np.column_stack([x1 / f1, np.ones(6)]) * rng.uniform(2, 10, (6, 1))
        t = rng.normal(size=3)
        Y = (X - X.mean(axis=0)) @ R.T + X.mean(axis=0) + t
        x2 = f2 * Y[:, :2] / Y[:, 2:]
        if (Y[:, 2] > 0.5).all() and np.abs(x2).max() < 1.2:
            E = cross_matrix(Y[0] - R @ X[0]) @ R
            F = np.diag([1 / f2, 1 / f2, 1]) @ E @ np.diag([1 / f1, 1 / f1, 1])
            return x1, x2, F / np.linalg.norm(F)
