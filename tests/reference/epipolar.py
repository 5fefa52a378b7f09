"""Two views: literal residuals, checks and solvers in NumPy, and random scenes with exact truth."""

import numpy as np


def cross_matrix(t):
    return np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]])


def random_rotation(rng, largest=0.8, smallest=0.0):
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    angle = rng.uniform(smallest, largest)
    K = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def random_scene(rng, n):
    """Return noise-free matches (4 x n, normalised coordinates), R and t; all points lie in front of both cameras."""
    R = random_rotation(rng)
    t = rng.normal(size=3)
    t /= np.linalg.norm(t)
    X = np.empty((3, 0))
    while X.shape[1] < n:
        points = np.vstack([rng.uniform(-2, 2, (2, 4 * n)), rng.uniform(3, 8, (1, 4 * n))])
        X = np.hstack([X, points[:, (R @ points + t[:, None])[2] > 0.5]])
    X = X[:, :n]
    Y = R @ X + t[:, None]
    return np.ascontiguousarray(np.vstack([X[:2] / X[2], Y[:2] / Y[2]])), R, t


def homogeneous(data):
    ones = np.ones(data.shape[1])
    return np.vstack([data[:2], ones]), np.vstack([data[2:], ones])


def sampson(data, F):
    x1, x2 = homogeneous(data)
    lines2, lines1 = F @ x1, F.T @ x2
    algebraic = np.einsum("in,in->n", x2, lines2)
    return algebraic**2 / (lines2[0] ** 2 + lines2[1] ** 2 + lines1[0] ** 2 + lines1[1] ** 2)


def symmetric(data, F):
    """Squared distances of x2 to the line F x1 and of x1 to the line F^T x2, added."""
    x1, x2 = homogeneous(data)

    def squared_distances(points, lines):
        return [(line @ x) ** 2 / (line[0] ** 2 + line[1] ** 2) for x, line in zip(points.T, lines.T, strict=True)]

    return np.add(squared_distances(x2, F @ x1), squared_distances(x1, F.T @ x2))


def is_oriented(data, F):
    x1, x2 = homogeneous(data)
    epipole = np.linalg.svd(F.T)[2][2]
    signs = np.sign(np.einsum("in,in->n", np.cross(epipole, x2.T).T, F @ x1))
    return not ((signs > 0).any() and (signs < 0).any())


def eight_point(data, weights):
    """Weighted normalised eight-point algorithm, without a constraint on the singular values."""
    used = weights > 0
    T = []
    for rows in (data[:2, used], data[2:, used]):
        w = weights[used]
        centre = (rows * w).sum(axis=1) / w.sum()
        scale = np.sqrt(2 * w.sum() / (w * ((rows - centre[:, None]) ** 2).sum(axis=0)).sum())
        T.append(np.array([[scale, 0, -scale * centre[0]], [0, scale, -scale * centre[1]], [0, 0, 1]]))
    x1, x2 = homogeneous(data[:, used])
    a, b = T[0] @ x1, T[1] @ x2
    A = np.einsum("in,jn->nij", b, a).reshape(-1, 9) * np.sqrt(weights[used])[:, None]
    return T[1].T @ np.linalg.svd(A)[2][8].reshape(3, 3) @ T[0]


def distance_up_to_scale(A, B):
    """Largest difference of two matrices scaled to unit norm, whatever their signs."""
    a, b = np.ravel(A) / np.linalg.norm(A), np.ravel(B) / np.linalg.norm(B)
    return min(np.abs(a - b).max(), np.abs(a + b).max())


def is_among(truth, models):
    """Say whether a matrix is one of the models up to scale."""
    return any(distance_up_to_scale(model, truth) < 1e-6 for model in models)


def farthest(models, others):
    """Largest distance up to scale of a model to the nearest of the others; infinite if there are no others."""
    return max((min((distance_up_to_scale(A, B) for B in others), default=np.inf) for A in models), default=0.0)


def triangulate(data, R, t):
    """Points X = d x1 with cross(x2, d R x1 + t) = 0, for matches without noise."""
    x1, x2 = homogeneous(data)
    rotated = np.cross(x2.T, (R @ x1).T)
    shifted = np.cross(x2.T, t)
    depths = -(rotated * shifted).sum(axis=1) / (rotated * rotated).sum(axis=1)
    return depths * x1


def in_front(data, R, t):
    """Which matches without noise have positive depths in both cameras."""
    X = triangulate(data, R, t)
    return (X[2] > 0) & ((R @ X + t[:, None])[2] > 0)
