"""Focal lengths of a fundamental matrix the slow way: Bougnoux's formula (1998) as it is written."""

import math

import numpy as np

from tests.reference.epipolar import cross_matrix


def squared_focal(F, p1, p2):
    """Return the square of the focal length of camera 1 for the principal points p1 and p2 (homogeneous)."""
    epipole2 = np.linalg.svd(F.T)[2][2]
    plane = np.diag([1.0, 1.0, 0.0])
    row = p2 @ cross_matrix(epipole2) @ plane @ F
    return -(row @ p1) * (p1 @ F.T @ p2) / (row @ plane @ F.T @ p2)


def plausibility(F, size1, size2):
    """Return how plausible the focal lengths are for images of these sizes (height, width)."""
    p1, p2 = (np.array([(width - 1) / 2, (height - 1) / 2, 1.0]) for height, width in (size1, size2))
    diagonals = math.hypot(*size1), math.hypot(*size2)
    x, y = F @ p1, F.T @ p2
    sampson = abs(p2 @ x) / math.sqrt(x[0] ** 2 + x[1] ** 2 + y[0] ** 2 + y[1] ** 2)
    if sampson <= 0.004 * (diagonals[0] + diagonals[1]) / 2:
        return 1.0
    factors = []
    for square, diagonal in zip((squared_focal(F, p1, p2), squared_focal(F.T, p2, p1)), diagonals, strict=True):
        z = math.log(math.sqrt(square) / diagonal / 0.85) / 0.6 if square > 0.0 else math.inf
        factors.append(0.8 + 0.2 * math.exp(-(z**2) / 2))
    return min(factors)
