"""The degenerate samples of DEGENSAC the slow way: textbook equations, one match at a time."""

import math

import numpy as np

from tests.reference.epipolar import cross_matrix, homogeneous

TRIPLETS = ((0, 1, 2), (3, 4, 5), (0, 1, 6), (3, 4, 6), (2, 5, 6))


def second_epipole(F):
    return np.linalg.svd(F.T)[2][2]


def homography_of_triplet(F, data):
    """Return H = A - e' (M^-1 b)^T of three matches (4 x 3), of a sign that gives the first match a positive depth."""
    x1, x2 = homogeneous(data)
    e = second_epipole(F)
    A = cross_matrix(e) @ F
    M = x1.T
    b = np.empty(3)
    for i in range(3):
        across = np.cross(x2[:, i], e)
        b[i] = np.cross(x2[:, i], A @ x1[:, i]) @ across / (across @ across)
    H = A - np.outer(e, np.linalg.inv(M) @ b)
    return H if H[2] @ x1[:, 0] > 0 else -H


def plane_distance(H, match):
    """Squared Sampson distance of a match from H: e^T (J J^T)^-1 e; infinite behind the camera."""
    x, y, u, v = match
    p = np.array([x, y, 1])
    w = H[2] @ p
    if not w > 0:
        return math.inf
    error = np.array([H[0] @ p - u * w, H[1] @ p - v * w])
    J = np.array([[*(H[0, :2] - u * H[2, :2]), -w, 0], [*(H[1, :2] - v * H[2, :2]), 0, -w]])
    return error @ np.linalg.solve(J @ J.T, error)


def on_plane(H, data, squared_threshold):
    return np.array([plane_distance(H, match) < squared_threshold for match in data.T])


def is_triangle(data, squared_threshold):
    """Compare the squared area with the squared sides of the triangle of image 1."""
    points = data[:2].T
    sides = points - np.roll(points, 1, axis=0)
    area = sides[0, 0] * sides[1, 1] - sides[0, 1] * sides[1, 0]
    return area**2 > squared_threshold * (sides**2).sum()


def planes(data, sample, F, squared_threshold):
    """Return the homographies of F that agree with five or more matches of the sample."""
    found = []
    for triplet in TRIPLETS:
        corners = data[:, sample[list(triplet)]]
        if is_triangle(corners, squared_threshold):
            H = homography_of_triplet(F, corners)
            if on_plane(H, data[:, sample], squared_threshold).sum() >= 5:
                found.append(H)
    return found
