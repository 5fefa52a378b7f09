"""Slow twin of ``bansac.evidence.neighbours``: the priors by comparing all pairs of matches."""

import math

import numpy as np

from bansac.maths.extent import GRID, near_box


def priors(data):
    """Return the priors from neighbours; no cell may have so many matches that some are left out."""
    n = data.shape[1]
    side = int(math.sqrt(n / 1.5))
    places, near = [], []
    for points in (data[:2], data[2:]):
        low, high = near_box(np.ascontiguousarray(points), GRID)
        extent = high - low
        scale = np.array([side / width if width > 0 else 0.0 for width in extent])
        clamped = np.clip(points.T, low, high)
        places.append(np.minimum((clamped - low) * scale, side - 1.0).astype(int))
        near.append(1e-3 * math.hypot(*extent))
    values = []
    for i in range(n):
        touch1, touch2 = ((abs(cells - cells[i]) <= 1).all(axis=1) for cells in places)
        duplicate = np.zeros(n, bool)
        for points, radius in zip((data[:2], data[2:]), near, strict=True):
            duplicate |= ((points.T - points[:, i]) ** 2).sum(axis=1) <= radius**2
        touch1[i] = touch2[i] = False
        excess = np.sum(touch1 & touch2 & ~duplicate) - np.sum(touch1) * np.sum(touch2) / (n - 1)
        values.append(0.02 + 0.7 * min(max(excess / 6.0, 0.0), 1.0) * min(40 / (1 + np.sum(touch1)), 1.0))
    return np.array(values)
