"""Static matches: whether a model follows an overlay, such as a logo, a date stamp or a dashboard.

The points of an overlay are at the same place in both images. Any epipolar geometry with F = [e]x agrees with them, and
so does the identity. A static camera has such matches, too. But its wrong matches are at the places of its right ones,
and the moving matches of a scene behind an overlay are at other places. So a model follows an overlay if many of its
inliers do not move, many matches move and are no inliers, and the two seldom share a cell of a grid over image 1.
"""

import math

import numpy as np

from bansac.evidence.configuration import TOLERANCE
from bansac.evidence.misfit import IN_CELL, MOST_CELLS
from bansac.evidence.rivals import RIVAL
from bansac.maths.arrays import Bools, Floats

# Share of the pairs of random places that two structures at places of their own have in common cells.
_MIXED = 0.4


def count_static(data: Floats, inliers: Bools, threshold: float) -> int:
    """Return the number of static inliers of matches (4 x N) if the model follows an overlay, else 0."""
    is_still = np.hypot(data[2] - data[0], data[3] - data[1]) <= TOLERANCE * threshold
    is_static, is_moving = is_still & inliers, ~(is_still | inliers)
    static, moving = int(np.count_nonzero(is_static)), np.count_nonzero(is_moving)
    if static == 0 or static < RIVAL * np.count_nonzero(inliers) or moving < max(RIVAL * inliers.size, 1.0):
        return 0
    members = is_static | is_moving
    return static if _rate_mixture(data[:2, members], is_static[members]) <= _MIXED else 0


def _rate_mixture(points: Floats, is_first: Bools) -> float:
    """Return the number of pairs of a first and another point (2 x N) in one cell, over that of random places."""
    side = int(min(max(math.sqrt(is_first.size / IN_CELL), 2.0), MOST_CELLS))
    low, extent = points.min(axis=1, keepdims=True), np.ptp(points, axis=1, keepdims=True)
    i, j = np.minimum((points - low) * (side / np.maximum(extent, 1e-300)), side - 1).astype(np.int64)
    first, other = (np.bincount(side * i + j, mask, side * side) for mask in (is_first, ~is_first))
    pairs = np.sum(first * other / np.maximum(first + other - 1.0, 1.0))
    return float(pairs * (is_first.size - 1) / (first.sum() * other.sum()))
