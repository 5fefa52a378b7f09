"""Lack of fit: whether the residuals of an epipolar geometry depend on the place in the image.

Noise has no place. So the signed residuals of neighbouring matches are independent if the model is right. They are
alike if it does not describe the images: with lens distortion that is not corrected, a deformation, a rolling shutter,
or a wrong motion that is near to many matches. The test is an analysis of variance between the cells of a grid over
the inliers in image 1 (Fisher, Statistical Methods for Research Workers, 1925).
"""

import math

import numpy as np

from bansac.compiled.jit import plain
from bansac.geometry.epipolar import epipolar_terms
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.linalg import matrix_entries

# Mean number of points in a cell, and the largest number of cells along a side.
_IN_CELL, _MOST_CELLS = 5, 10

# Share of the variance between the cells, and number of standard deviations by which it exceeds chance.
SHARE, DEVIATIONS = 0.15, 3.3


def has_misfit(data: Floats, model: Floats, inliers: Bools, exact: float) -> bool:
    """Return whether the residuals of the inliers (of matches, 4 x N) of a flat F or E depend on the place.

    Residuals below ``exact`` are due to rounding.
    """
    matches = np.compress(inliers, data, axis=1)
    if matches.shape[1] < 3:
        return False
    a1, b1, a2, b2, algebraic = plain(epipolar_terms)(plain(matrix_entries)(model), *matches)
    norms = np.sqrt(a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2)
    return depends_on_cell(algebraic / np.maximum(norms, 1e-300), cells_of(matches[:2]), exact)


def cells_of(points: Floats) -> Ints:
    """Return the cells of points (2 x N, N at least 1) in a grid over their box."""
    side = int(min(max(math.sqrt(points.shape[1] / _IN_CELL), 2.0), _MOST_CELLS))
    low, extent = points.min(axis=1, keepdims=True), np.ptp(points, axis=1, keepdims=True)
    i, j = np.minimum((points - low) * (side / np.maximum(extent, 1e-300)), side - 1).astype(np.int64)
    return np.asarray(side * i + j)


def depends_on_cell(residuals: Floats, cells: Ints, exact: float) -> bool:
    """Return whether residuals depend on their cell, by an analysis of variance."""
    n, sizes = residuals.size, np.bincount(cells)
    sums, sizes = np.bincount(cells, residuals)[sizes > 0], sizes[sizes > 0]
    first, second = sizes.size - 1, n - sizes.size
    of_cells, squares = np.sum(sums * sums / sizes), residuals @ residuals
    if first < 1 or second < 1 or not squares - residuals.sum() ** 2 / n > n * exact * exact:
        return False
    between, within = of_cells - residuals.sum() ** 2 / n, squares - of_cells
    ratio = between / first / (max(within, 1e-9 * between) / second)
    mean_size = (n - np.sum(sizes * sizes) / n) / first
    share = (ratio - 1.0) / (ratio + mean_size - 1.0)  # the intraclass correlation
    return bool(share > SHARE and deviations(ratio, first, second) > DEVIATIONS)


def deviations(ratio: float, first: int, second: int) -> float:
    """Return the standard normal deviate of an F ratio with these degrees of freedom (Paulson, 1942)."""
    a, b, root = 2.0 / (9.0 * first), 2.0 / (9.0 * second), math.cbrt(ratio)
    return ((1.0 - b) * root - (1.0 - a)) / math.sqrt(b * root * root + a)
