"""Literal analysis of variance of signed Sampson distances between the cells of a grid."""

import math

import numpy as np


def signed_distances(F, data):
    """Return the signed Sampson distances of matches (4 x N) to F (3 x 3)."""
    distances = []
    for x1, y1, x2, y2 in data.T:
        line2, line1 = F @ [x1, y1, 1.0], F.T @ [x2, y2, 1.0]
        distances.append(np.array([x2, y2, 1.0]) @ line2 / math.sqrt(sum(line2[:2] ** 2) + sum(line1[:2] ** 2)))
    return np.array(distances)


def cells(points, side):
    """Return the cell of every point (2 x N) in a grid with ``side`` cells along each axis over their box."""
    low, high = points.min(axis=1), points.max(axis=1)
    return [tuple(np.minimum(side * (point - low) / (high - low), side - 1).astype(int)) for point in points.T]


def analysis(values, groups):
    """Return the ratio of the mean squares between and within groups, and its degrees of freedom."""
    parts = [values[[group == each for group in groups]] for each in set(groups)]
    n, k = len(values), len(parts)
    between = sum(len(part) * (part.mean() - values.mean()) ** 2 for part in parts) / (k - 1)
    within = sum(((part - part.mean()) ** 2).sum() for part in parts) / (n - k)
    return between / within, k - 1, n - k
