"""Problems of space, literally: P3P by Grunert's quartic, Umeyama by SVD, planes and conics by eigenvectors."""

import numpy as np


def rotate(q, X):
    """Return q X q* by products of quaternions; X is (N, 3)."""
    products = [multiply(multiply(q, np.append(0.0, x)), q * [1, -1, -1, -1]) for x in X]
    return np.array(products)[:, 1:]


def multiply(p, q):
    """Return Hamilton's product of two quaternions (w, x, y, z)."""
    scalar = p[0] * q[0] - p[1:] @ q[1:]
    return np.append(scalar, p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))


def umeyama(x1, x2, weights, with_scale):
    """Return (s R | t) of weighted matches: Umeyama (1991), equations 39 to 43."""
    share = weights / weights.sum()
    m1, m2 = share @ x1, share @ x2
    covariance = ((x2 - m2) * share[:, None]).T @ (x1 - m1)
    U, D, Vt = np.linalg.svd(covariance)
    S = np.diag([1.0, 1.0, np.sign(np.linalg.det(U) * np.linalg.det(Vt))])
    R = U @ S @ Vt
    scale = np.trace(np.diag(D) @ S) / (share @ ((x1 - m1) ** 2).sum(axis=1)) if with_scale else 1.0
    return np.column_stack([scale * R, m2 - scale * R @ m1])


def p3p(X, x):
    """Return the poses (R | t) of three points by Grunert's quartic (Haralick et al., IJCV 1994, section 3.1)."""
    rays = np.column_stack([x, np.ones(3)])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    aa, bb, cc = ((X[i] - X[j]) @ (X[i] - X[j]) for i, j in ((1, 2), (0, 2), (0, 1)))
    alpha, beta, gamma = (rays[i] @ rays[j] for i, j in ((1, 2), (0, 2), (0, 1)))
    p, q = (aa - cc) / bb, (aa + cc) / bb
    quartic = [
        (p - 1) ** 2 - 4 * cc / bb * alpha**2,
        4 * (p * (1 - p) * beta - (1 - q) * alpha * gamma + 2 * cc / bb * alpha**2 * beta),
        2
        * (
            p**2 - 1 + 2 * p**2 * beta**2 + 2 * (bb - cc) / bb * alpha**2
            - 4 * q * alpha * beta * gamma + 2 * (bb - aa) / bb * gamma**2
        ),
        4 * (-p * (1 + p) * beta + 2 * aa / bb * gamma**2 * beta - (1 - q) * alpha * gamma),
        (1 + p) ** 2 - 4 * aa / bb * gamma**2,
    ]  # fmt: skip
    poses = []
    for root in np.roots(quartic):
        v = root.real
        u = ((p - 1) * v**2 - 2 * p * beta * v + 1 + p) / (2 * (gamma - v * alpha))
        if abs(root.imag) > 1e-6 or v <= 0 or u <= 0:
            continue
        s1 = np.sqrt(bb / (1 + v**2 - 2 * v * beta))
        seen = rays * np.array([s1, u * s1, v * s1])[:, None]
        poses.append(umeyama(X, seen, np.ones(3), False))
    return poses


def reprojection_errors(R, t, X, x):
    """Return the distances in the image; inf for a point that is not in front of the camera."""
    errors = []
    for point, image in zip(X, x, strict=True):
        seen = R @ point + t
        errors.append(np.linalg.norm(seen[:2] / seen[2] - image) if seen[2] > 0 else np.inf)
    return np.array(errors)


def hyperplane(points, weights):
    """Return the line or plane of total least squares, up to sign."""
    centroid = weights @ points / weights.sum()
    normal = np.linalg.svd((points - centroid) * np.sqrt(weights)[:, None])[2][-1]
    return np.append(normal, -normal @ centroid)


def conic(points, weights):
    """Return the coefficients of unit norm with the least weighted sum of f^2, up to sign."""
    x, y = points.T
    design = np.column_stack([x * x, x * y, y * y, x, y, np.ones_like(x)])
    return np.linalg.eigh(design.T @ (weights[:, None] * design))[1][:, 0]


def sampson(coefficients, points):
    """Return f / |grad f| with the conic as a symmetric matrix C: f = p^T C p and grad f = 2 (C p)[:2]."""
    a, b, c, d, e, f = coefficients
    C = np.array([[a, b / 2, d / 2], [b / 2, c, e / 2], [d / 2, e / 2, f]])
    p = np.column_stack([points, np.ones(len(points))])
    return np.einsum("ni,ij,nj->n", p, C, p) / np.linalg.norm(2 * (p @ C)[:, :2], axis=1)
