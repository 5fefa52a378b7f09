"""Lack of fit: whether the residuals of an epipolar geometry depend on the place in the image.

Noise has no place. So the signed residuals of neighbouring matches are independent if the model is right. They are
alike if it does not describe the images: with lens distortion that is not corrected, a deformation, a rolling shutter,
or a wrong motion that is near to many matches. The test is an analysis of variance between the cells of a grid over
the inliers in image 1 (Fisher, Statistical Methods for Research Workers, 1925).
"""

import math

import numpy as np

from bansac.compiled.jit import kernel
from bansac.geometry.epipolar import epipolar_terms
from bansac.maths.arrays import Bools, Floats
from bansac.maths.linalg import matrix_entries

# Mean number of inliers in a cell, and the largest number of cells along a side.
IN_CELL, MOST_CELLS = 5, 10

# Share of the variance between the cells, and number of standard deviations by which it exceeds chance.
SHARE, DEVIATIONS = 0.15, 3.3


def has_misfit(data: Floats, model: Floats, inliers: Bools, exact: float) -> bool:
    """Return whether the residuals of the inliers (of matches, 4 x N) of a flat F or E depend on the place.

    Residuals below ``exact`` are due to rounding.
    """
    side = int(min(max(math.sqrt(np.count_nonzero(inliers) / IN_CELL), 2.0), MOST_CELLS))
    n, cells, between, within, squared_sizes = _analyse(data, model, inliers, np.zeros((side, side, 2)))
    if cells < 2 or n <= cells or not between + within > n * exact * exact:
        return False
    ratio = between / (cells - 1) / (max(within, 1e-9 * between) / (n - cells))
    mean_size = (n - squared_sizes / n) / (cells - 1)
    share = (ratio - 1.0) / (ratio + mean_size - 1.0)  # the intraclass correlation
    return share > SHARE and deviations(ratio, cells - 1, n - cells) > DEVIATIONS


def deviations(ratio: float, first: int, second: int) -> float:
    """Return the standard normal deviate of an F ratio with these degrees of freedom (Paulson, 1942)."""
    a, b, root = 2.0 / (9.0 * first), 2.0 / (9.0 * second), math.cbrt(ratio)
    return ((1.0 - b) * root - (1.0 - a)) / math.sqrt(b * root * root + a)


@kernel
def _analyse(data: Floats, model: Floats, inliers: Bools, sums: Floats) -> tuple[int, int, float, float, float]:
    """Return the numbers of inliers and cells, the squares between and within the cells, and the squared sizes.

    ``sums`` has the size and the sum of the residuals of each cell.
    """
    side, F = sums.shape[0], matrix_entries(model)
    left, right, low, high = np.inf, -np.inf, np.inf, -np.inf
    for k in range(inliers.size):
        if inliers[k]:
            left, right = min(left, data[0, k]), max(right, data[0, k])
            low, high = min(low, data[1, k]), max(high, data[1, k])
    per_x, per_y = side / max(right - left, 1e-300), side / max(high - low, 1e-300)
    n, total, squares = 0, 0.0, 0.0
    for k in range(inliers.size):
        if inliers[k]:
            a1, b1, a2, b2, algebraic = epipolar_terms(F, data[0, k], data[1, k], data[2, k], data[3, k])
            residual = algebraic / math.sqrt(a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2)
            i, j = int((data[0, k] - left) * per_x), int((data[1, k] - low) * per_y)
            cell = sums[min(i, side - 1), min(j, side - 1)]
            cell[0] += 1.0
            cell[1] += residual
            n, total, squares = n + 1, total + residual, squares + residual * residual
    cells, of_cells, squared_sizes = 0, 0.0, 0.0
    for i in range(side):
        for j in range(side):
            size, value = sums[i, j, 0], sums[i, j, 1]
            if size > 0.0:
                cells, of_cells, squared_sizes = cells + 1, of_cells + value * value / size, squared_sizes + size * size
    return n, cells, of_cells - total * total / max(n, 1), squares - of_cells, squared_sizes
