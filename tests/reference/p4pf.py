"""Pose and focal length of four points, the slow way: the three quadrics as a polynomial eigenvalue problem."""

import numpy as np

from bansac.geometry import rotation_matrix
from tests.reference.eigenvalues import quadratic_eigenvalues

# The monomials p^i q^j up to degree 4, and the multipliers of the quadrics.
_MONOMIALS = [(i, j) for i in range(5) for j in range(5 - i)]
_MULTIPLIERS = [(i, j) for i in range(3) for j in range(3 - i)]


def differences(X, x):
    """Return M = (X_k - X_4) and the maps D_r with b_r = D_r (d_1, d_2, d_3, 1)."""
    m = np.insert(x, 2, 1, axis=1)
    return (X[:3] - X[3]).T, [np.column_stack([np.diag(m[:3, r]), np.full(3, -m[3, r])]) for r in range(3)]


def quadrics(X, x):
    """Return the symmetric matrices of b_1^T G b_2, b_1^T G b_3 and b_2^T G b_3 in (d_1, d_2, d_3, 1)."""
    M, D = differences(X, x)
    G = np.linalg.inv(M.T @ M)
    products = [D[r].T @ G @ D[s] for r, s in ((0, 1), (0, 2), (1, 2))]
    return [(S + S.T) / np.linalg.norm(S) for S in products]


def depths(X, x):
    """Return all real intersections (d_1, d_2, d_3) of the quadrics."""
    C = np.zeros((3, 18, 15))  # constant, linear and quadratic in the hidden depth d_1
    S = quadrics(X, x)
    degrees = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)]  # of h, p, q
    for row, (k, (i, j)) in enumerate((k, m) for k in range(3) for m in _MULTIPLIERS):
        for a, (h1, p1, q1) in enumerate(degrees):
            for b, (h2, p2, q2) in enumerate(degrees):
                C[h1 + h2, row, _MONOMIALS.index((i + p1 + p2, j + q1 + q2))] += S[k][a, b]
    found = []
    for h in quadratic_eigenvalues(*np.random.default_rng(0).normal(size=(15, 18)) @ C):
        if abs(h.imag) > 1e-6 * abs(h):
            continue
        null = np.linalg.svd(C[0] + h.real * C[1] + h.real**2 * C[2])[2][-1]
        d = np.array([h.real, null[_MONOMIALS.index((1, 0))] / null[0], null[_MONOMIALS.index((0, 1))] / null[0], 1])
        if max(abs(d @ Q @ d) for Q in S) < 1e-7 * (1 + d @ d):
            found.append(d[:3])
    return found


def p4pf(X, x):
    """Return the (R, t, f) of exact images of four points that are not in a plane."""
    models = []
    for d in depths(X, x):
        M, D = differences(X, x)
        A = np.array([D_r @ [*d, 1] for D_r in D]) @ np.linalg.inv(M)
        lengths = np.linalg.norm(A, axis=1)
        if min(d) > 0 and np.linalg.det(A) > 0 and abs(lengths[0] / lengths[1] - 1) < 1e-6:
            f = lengths[0] / lengths[2]
            R = A / lengths[:, None]
            models.append((R, np.array([*x[3] / f, 1]) / lengths[2] - R @ X[3], f))
    return models


def scene(rng, n=4, tilt=None):
    """Return points, their images, R, t and f; the points are in a plane if ``tilt`` (in radians) is given."""
    f = np.exp(rng.uniform(np.log(0.7), np.log(5)))
    rays = np.insert(rng.uniform(-0.7, 0.7, (n, 2)), 2, f, axis=1) / f
    depth = rng.uniform(3, 10, (n, 1)) if tilt is None else 6 / (1 + np.tan(tilt) * rays[:, :1])
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    return (rays * depth - t) @ R, f * rays[:, :2], R, t, f
