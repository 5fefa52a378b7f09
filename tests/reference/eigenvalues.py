"""Polynomial eigenvalue problems."""

import numpy as np


def quadratic_eigenvalues(M0, M1, M2):
    """Return the finite w with det(M0 + w M1 + w^2 M2) = 0."""
    start, n = -0.4321, len(M0)  # with w = start + 1 / v the problem is (v^2 A + v B + M2) x = 0
    inverse = np.linalg.inv(M0 + start * M1 + start**2 * M2)
    companion = np.block([[-inverse @ (M1 + 2 * start * M2), -inverse @ M2], [np.eye(n), np.zeros((n, n))]])
    v = np.linalg.eigvals(companion)
    return start + 1 / v[np.abs(v) > 1e-9]
