"""Weights of the points in the score.

*Density.* Matches are not independent: a textured facade or a repeated window gives many matches in one part of the
image. A wrong model that fits them may have a higher score than the right model, whose inliers are spread over the
image. So the weight of a match is ``1 / sqrt(n1 n2)``, where n1 and n2 are the numbers of matches around it in the two
images.

*Reliability.* If the points have inlier probabilities, such as 1 - SNN ratio, the weight of a point is its squared
probability. Many unlikely matches agree with a wrong model by chance.

Weights are used for the score only. The stopping criteria and the network count inliers without weights.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.extent import GRID, SAMPLE, bound_near

# Cells along the diagonal of the box around the points of an image. The neighbourhood of a point, 3 x 3 cells, has the
# area of a circle whose radius is 3 % of the diagonal.
_CELLS = 56.0
# Far points (``maths.extent``) are outside of the box and count as points of its border. If the box contained them,
# all other points would be neighbours of each other and have negligible weights.

# The grid has an empty row or column of cells on each side of the box.
_SIDE = int(_CELLS) + 3

# Weights are whole multiples of this unit, so their sums are exact in any order, and a weight fits into a float32.
_UNIT = 2.0**-24


def scale_weights(weights: Floats) -> None:
    """Scale positive weights to a maximum of 1, in place."""
    weights[:] = np.maximum(np.ceil(weights / weights.max(initial=0.0) / _UNIT), 1.0) * _UNIT


def reliability_weights(probabilities: Floats) -> Floats | None:
    """Return the squares of inlier probabilities; None if they are not all in [0, 1] or are all 0."""
    if probabilities.size == 0 or not (probabilities.min() >= 0.0 and 0.0 < probabilities.max() <= 1.0):
        return None
    return np.square(probabilities)


def prior_of_scores(scores: Floats) -> Floats:
    """Return scores in [0, 1] as they are, and others by rank: the share of the data whose scores are not larger."""
    if scores.size == 0 or (scores.min() >= 0.0 and scores.max() <= 1.0):
        return scores
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) / scores.size)[place], dtype=np.float64)


@kernel
def density_weights(data: Floats) -> Floats:
    """Return weights of points (2 x N) or matches (4 x N) that decrease with the density around them.

    A weight is 1 over the geometric mean of the numbers of points in the 3 x 3 cells around a point in each image.
    """
    weights = np.empty(data.shape[1])
    grid, cells = np.empty(_SIDE * _SIDE, np.int64), np.empty(weights.size, np.int64)
    images, box, ordered = data.shape[0] // 2, np.empty((2, 2)), np.empty(SAMPLE)
    for image in range(images):
        points = data[2 * image : 2 * image + 2]
        bound_near(points, GRID, box, ordered)
        _count_around(points[0], points[1], weights, grid, cells, box, image == 0)
    for n in range(weights.size):
        weights[n] = 1.0 / (math.sqrt(weights[n]) if images == 2 else weights[n])
    return weights


@inner_kernel
def _count_around(x: Floats, y: Floats, products: Floats, grid: Ints, cells: Ints, box: Floats, is_first: bool) -> None:
    """Multiply ``products`` by the number of points around each point; for the first image, set it to this number."""
    low_x, low_y, high_x, high_y = box[0, 0], box[0, 1], box[1, 0], box[1, 1]
    diagonal = math.sqrt((high_x - low_x) ** 2 + (high_y - low_y) ** 2)
    scale = _CELLS / diagonal if diagonal > 0.0 else 0.0
    for cell in range(grid.size):
        grid[cell] = 0
    for n in range(x.size):
        column = int((min(max(x[n], low_x), high_x) - low_x) * scale)
        row = int((min(max(y[n], low_y), high_y) - low_y) * scale)
        cell = (1 + row) * _SIDE + 1 + column
        cells[n] = cell
        grid[cell] += 1
    for n in range(x.size):
        count = 0
        for middle in range(cells[n] - _SIDE, cells[n] + _SIDE + 1, _SIDE):
            count += grid[middle - 1] + grid[middle] + grid[middle + 1]
        products[n] = count if is_first else products[n] * count
