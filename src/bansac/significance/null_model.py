"""The null model: residuals of a model on points or matches that are rearranged so that they have no structure.

The textbook probability of a random match, the area of the inliers over that of the image, is wrong if data are
clustered, lie on a grid or share points. So residuals of the model are measured on data that are rearranged:

* Matches, which have several points: the first point of one match with the other points of another.
* Else two points become the corner of the right triangle with equal legs whose hypotenuse they are: two points of a
  normal distribution that is as wide as long give one of the same distribution, two of a thin structure one beside it.

This is done twice. The second is any other match, then a neighbour, so that clusters of matches of which every one
agrees with the next are chance as well. The larger probability counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bansac.numeric.arrays import Bools, Floats, Ints
from bansac.numeric.jit import inlined, kernel
from bansac.numeric.rng import seed_rng, shuffle
from bansac.problems.problem import Problem
from bansac.significance.support import SAME_POINT, hash_cell

__all__ = ["NullModel", "add_neighbours", "cell_size", "measure_far", "measure_null_model", "scales"]

# At least that many rearranged data where there are enough pairs of data.
_PAIRS = 2000
# Neighbours share a cell of this many thresholds, for matches and for points; where the unit of distances is not known,
# one of so many of the extent.
_MATCH_CELL = 8.0
_POINT_CELL = 32.0
_CELLS = 4


@dataclass(frozen=True)
class NullModel:
    """Residuals of the model on rearranged data.

    Parameters
    ----------
    far : (M,) ndarray
        Sorted residuals of data exchanged with any others.
    near : (K,) ndarray
        Sorted residuals of data exchanged with neighbours.
    alone : float
        Share of the data that have no neighbour.
    resolution : float
        Least probability: that of two random data to share a coordinate of a grid.
    """

    far: Floats
    near: Floats
    alone: float
    resolution: float

    def probability(self, distance: Floats) -> Floats:
        """Return alpha(t), the probability that a random point or match has a residual of at most ``distance``."""
        far = _share_within(self.far, distance, 1.0)
        if self.near.size > 0:
            share = 1.0 - self.alone
            far = np.maximum(far, self.alone * far + share * _share_within(self.near, distance, share))
        return np.maximum(far, self.resolution)


def _share_within(residuals: Floats, distance: Floats, extra: float) -> Floats:
    """Return the share of ``residuals`` within each distance, ``extra`` ones being added so that it is never 0.

    Below the smallest residual it falls linearly, which is slower than it may, to a thousandth.
    """
    count = np.searchsorted(residuals, distance, side="right")
    share = (count + extra) / (residuals.size + extra)
    below = count == 0
    if below.any():
        share[below] *= np.clip(distance[below] / residuals[0], 1e-3, 1.0)
    return np.asarray(share)


def measure_null_model(problem: Problem, data: Floats, model: Floats, threshold: float) -> NullModel:
    """Measure the residuals of ``model`` on rearranged ``data`` (channels x N, N at least 2)."""
    return add_neighbours(measure_far(problem, data, model), problem, data, model, threshold)


def measure_far(problem: Problem, data: Floats, model: Floats) -> NullModel:
    """Measure them on matches exchanged with any others only: probabilities are at most those of the full model."""
    n, order = data.shape[1], _random_order(data)
    shifts = range(1, min(n - 1, -(-_PAIRS // n)) + 1)
    if len(problem.points) > 1:
        far = np.empty((len(data), len(shifts) * n))
        _exchange_with_others(data, order, _first_points(problem), far)
    else:
        shuffled = np.take(data, order, axis=1)
        far = np.concatenate([_rearrange(problem, shuffled, np.roll(shuffled, -k, axis=1)) for k in shifts], axis=1)
    return NullModel(
        far=_sorted_residuals(problem, far, model),
        near=np.empty(0),
        alone=1.0,
        resolution=0.0 if len(problem.points) > 1 else _resolution(data),
    )


def add_neighbours(null_model: NullModel, problem: Problem, data: Floats, model: Floats, threshold: float) -> NullModel:
    """Return the null model of ``measure_far`` with the residuals of matches exchanged with neighbours added."""
    own, other = _neighbours(problem, np.take(data, _random_order(data), axis=1), threshold)
    near = _sorted_residuals(problem, _rearrange(problem, own, other), model)
    return replace(null_model, near=near, alone=1 - own.shape[1] / data.shape[1])


def _random_order(data: Floats) -> Ints:
    """Return the same random order of the data every time."""
    order = np.empty(data.shape[1], np.int64)
    shuffle(seed_rng(0), order)
    return order


@kernel
def _exchange_with_others(data: Floats, order: Ints, stays: Bools, exchanged: Floats) -> None:
    """Exchange each datum with the next one of ``order``, with the one after that, and so on; channels may stay."""
    n = order.size
    for c in range(data.shape[0]):
        for start in range(0, exchanged.shape[1], n):
            first = 0 if stays[c] else start // n + 1
            for i in range(n):
                k = first + i
                exchanged[c, start + i] = data[c, order[k if k < n else k - n]]


def _sorted_residuals(problem: Problem, data: Floats, model: Floats) -> Floats:
    squared = np.empty(data.shape[1])
    problem.float64_residuals(data, model, 0, squared.size, squared)
    squared[np.isnan(squared)] = np.inf
    squared.sort()
    return np.sqrt(squared, out=squared)


def _neighbours(problem: Problem, data: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return points or matches and a neighbour of each: another one of its cell, with which it shares no point."""
    n, cells = data.shape[1], _cells(problem, data, threshold)
    point_of = np.full(problem.channels, -1)
    for k, point in enumerate(problem.points):
        point_of[list(point)] = k
    first, second, table = np.empty(n, np.int64), np.empty(n, np.int64), np.full(2 << n.bit_length(), -1)
    count = _pair_neighbours(data, cells, point_of, SAME_POINT * threshold, table, first, second)
    return np.take(data, first[:count], axis=1), np.take(data, second[:count], axis=1)


@kernel
def _pair_neighbours(
    data: Floats, cells: Floats, point_of: Ints, same: float, table: Ints, first: Ints, second: Ints
) -> int:
    """Pair each point or match with the next one of its cell that shares no point; return the number of pairs.

    If all data are in one cell the last one is paired with the first one. ``point_of`` has the point that a channel
    belongs to; ``table``, for hashing, is full of -1 and has a power of two of places, more than twice the data.
    """
    n, last, count, filled = cells.size, table.size - 1, 0, 0
    for step in range(n + 1):
        j = step if step < n else 0
        if step == n and filled > 1:
            break
        place = hash_cell(np.int64(0), cells[j]) & last
        while table[place] >= 0 and cells[table[place]] != cells[j]:
            place = (place + 1) & last
        i = table[place]
        table[place] = j
        filled += 1 if i < 0 else 0
        if i >= 0 and _are_apart(data, i, j, point_of, same):
            first[count], second[count] = i, j
            count += 1
    return count


@inlined
def _are_apart(data: Floats, i: np.int64, j: int, point_of: Ints, same: float) -> bool:
    """Return whether two matches share no point."""
    apart = True
    for point in range(point_of.size):
        largest = -1.0
        for c in range(point_of.size):
            if point_of[c] == point:
                largest = max(largest, abs(data[c, i] - data[c, j]))
        apart &= largest < 0.0 or largest > same
    return apart


def _rearrange(problem: Problem, own: Floats, other: Floats) -> Floats:
    """Exchange data with others (both channels x N)."""
    if len(problem.points) > 1:
        return np.where(_first_points(problem)[:, None], own, other)
    if problem.channels == 1:
        return np.linspace(own.min(), own.max(), own.shape[1])[None]
    scale = scales(problem, own)[:, None] if own.size else 1.0
    across = _turn((other - own) / scale)
    return np.ascontiguousarray(0.5 * (own + other + scale * across))


def _first_points(problem: Problem) -> Bools:
    """Return which channels are those of the first point of a match."""
    of_first = np.zeros(problem.channels, np.bool_)
    of_first[list(problem.points[0])] = True
    return of_first


def _turn(difference: Floats) -> Floats:
    """Return vectors (columns) of the same lengths at right angles to these."""
    if len(difference) == 2:
        return np.stack([-difference[1], difference[0]])
    across = np.random.Generator(np.random.PCG64(0)).normal(size=difference.shape)
    square = np.sum(difference * difference, axis=0)
    square[square == 0.0] = 1.0
    across -= difference * (np.sum(across * difference, axis=0) / square)
    return np.asarray(across * np.sqrt(square / np.sum(across * across, axis=0)))


def scales(problem: Problem, data: Floats) -> Floats:
    """Return the extent of every channel; the largest of those that are coordinates of one point."""
    extent = np.ptp(data, axis=1)
    for point in problem.points:
        extent[list(point)] = extent[list(point)].max()
    extent[extent == 0.0] = 1.0
    return np.asarray(extent)


def cell_size(problem: Problem, threshold: float) -> float:
    """Return the side of the cells of neighbours for a problem whose data have points."""
    return (_MATCH_CELL if len(problem.points) > 1 else _POINT_CELL) * threshold


def cell_sizes(problem: Problem, data: Floats, threshold: float) -> Floats:
    """Return the sides of the cells of neighbours, in the first point, else in all channels."""
    if not problem.points:
        return scales(problem, data) / _CELLS
    return np.full(len(problem.points[0]), cell_size(problem, threshold))


def _cells(problem: Problem, data: Floats, threshold: float) -> Floats:
    """Return a number for the cell that every datum lies in, by its first point; any other data by all channels."""
    rows = data[list(problem.points[0])] if problem.points else data
    size = cell_sizes(problem, data, threshold)
    key = np.zeros(data.shape[1])
    for row, width in zip(rows, size, strict=True):
        cell = np.floor((row - row.min()) / width)
        key = key * (cell.max() + 1) + cell
    return key


def _resolution(data: Floats) -> float:
    """Return the largest probability over the channels that random data share a value; 0 if none repeats."""
    largest = 0.0
    for row in data:
        values = np.unique(row)
        if 1 < values.size < row.size:
            extent = values[-1] - values[0]
            steps = np.diff(values)
            step = steps[steps > 1e-9 * extent].min()
            largest = max(largest, float(step / (extent + step)))
    return largest
