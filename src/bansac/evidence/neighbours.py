"""Prior inlier probabilities of matches of two images from their neighbours, and the matches that neighbours support.

The neighbours of a right match have moved like it (Bian et al., GMS, CVPR 2017). So the matches around it in image 1
are around it in image 2, too. Wrong matches have such neighbours by chance only. The prior of a match grows with the
number of its neighbours in both images beyond the number that chance gives.

The neighbourhood of a match is the 3 x 3 cells of a grid around it. A near duplicate, a neighbour within a small
distance in either image, is no evidence: features are detected repeatedly, and one may have several matches. Wrong
matches from one small area to another have many neighbours, so the priors fall with the number of matches in a crowd.

Most restarts are among the matches with more neighbours than chance gives: fewer of them are wrong, and a search of
fewer matches is faster. The other restarts are for models whose matches have no such neighbours.

The significance test does not use these priors. It counts matches with such neighbours as dependent already.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.extent import GRID, SAMPLE, bound_near

# Average number of matches in a cell.
_PER_CELL = 1.5
# Prior of a match with no more neighbours than chance gives, and its increase for _FULL more neighbours.
_LOW, _RANGE, _FULL = 0.02, 0.7, 6.0
# A neighbourhood with more matches than this is a crowd: three times the average. No more neighbours of a row of cells
# are used, evenly spaced, so clusters cost no more time.
_CROWD = 40
# Near duplicates are within this share of the diagonal of the box of an image.
_DUPLICATE = 1e-3


def neighbour_priors(data: Floats) -> Floats | None:
    """Return prior inlier probabilities of matches (4 x N) from their neighbours; None for a single match."""
    n = data.shape[1]
    if n < 2:
        return None
    priors = np.empty(n)
    _write_priors(data, int(math.sqrt(n / _PER_CELL)), priors)
    return priors


def has_support(priors: Floats | None) -> Bools | None:
    """Mark the matches with more neighbours than chance gives, from their priors; None without priors."""
    return None if priors is None else priors > _LOW


@kernel
def _write_priors(data: Floats, side: int, priors: Floats) -> None:
    """Write the priors from the neighbours, with a grid of ``side`` x ``side`` cells in each image."""
    n, width = data.shape[1], side + 2
    cells, order, second = np.empty((2, n), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    starts, box = np.zeros((2, width * width + 2), np.int64), np.empty((2, 2))
    near, ordered = np.empty(2), np.empty(SAMPLE)
    for image in range(2):
        points = data[2 * image : 2 * image + 2]
        bound_near(points, GRID, box, ordered)
        near[image] = _DUPLICATE * math.hypot(box[1, 0] - box[0, 0], box[1, 1] - box[0, 1])
        _find_cells(points, side, box, cells[image], starts[image])
    for i in range(n):  # counting sort by the cell in image 1; in the end, cell c starts at starts[0, c]
        place = starts[0, cells[0, i] + 1]
        order[place], second[place] = i, cells[1, i]
        starts[0, cells[0, i] + 1] += 1
    for k in range(n):  # matches of one cell use the same memory
        i, around = order[k], -1
        for cell in range(cells[1, i] - width, cells[1, i] + width + 1, width):
            around += starts[1, cell + 3] - starts[1, cell]
        crowd, neighbours, shared = _count_neighbours(data, i, cells, order, second, starts[0], width, near)
        excess = shared - neighbours * around / (n - 1)
        priors[i] = _LOW + _RANGE * min(max(excess / _FULL, 0.0), 1.0) * min(_CROWD / crowd, 1.0)


@inner_kernel
def _find_cells(points: Floats, side: int, box: Floats, cells: Ints, starts: Ints) -> None:
    """Write the cells of the points, and the number of points before cell c to ``starts[c + 1]``.

    The cells of a far point are on the border of the box. The grid has an empty row or column on each of its sides.
    """
    width = side + 2
    for axis in range(2):
        low, high = box[0, axis], box[1, axis]
        scale, unit = side / (high - low) if high > low else 0.0, width if axis == 1 else 1
        for n in range(cells.size):
            share = (min(max(points[axis, n], low), high) - low) * scale
            place = int(share) if share < side else side - 1  # also for NaN, 0 times the infinite scale of a tiny box
            cells[n] = (1 + place) * unit + (cells[n] if axis == 1 else 0)
    for n in range(cells.size):
        starts[cells[n] + 2] += 1
    for cell in range(2, starts.size):
        starts[cell] += starts[cell - 1]


@inner_kernel
def _count_neighbours(
    data: Floats, i: int, cells: Ints, order: Ints, second: Ints, starts: Ints, width: int, near: Floats
) -> tuple[int, int, int]:
    """Return the numbers of matches around match i in image 1, of those compared, and of those also around it in 2."""
    crowd = neighbours = shared = 0
    for cell in range(cells[0, i] - width, cells[0, i] + width + 1, width):
        k, stop = starts[cell - 1], starts[cell + 2]
        crowd += stop - k
        step = 1 + (stop - k) // _CROWD
        while k < stop:  # a range with a step would divide to find its length
            j = order[k]
            if j != i:
                neighbours += 1
                apart = abs(second[k] - cells[1, i])
                if min(apart, abs(apart - width)) <= 1 and not _is_duplicate(data, i, j, near):
                    shared += 1
            k += step
    return crowd, neighbours, shared


@inner_kernel
def _is_duplicate(data: Floats, i: int, j: int, near: Floats) -> bool:
    """Return whether two matches have nearly the same point in one of the images."""
    for image in range(2):
        x, y = data[2 * image, i] - data[2 * image, j], data[2 * image + 1, i] - data[2 * image + 1, j]
        if x * x + y * y <= near[image] * near[image]:
            return True
    return False
