"""The null model: residuals of a model on points or matches that are rearranged so that they have no structure.

The usual probability of a random inlier is the area of the inlier region over the area of the image. It is wrong if
points are clustered, lie on a grid or are shared by matches. So the residuals of the model are measured on rearranged
data:

* Matches have several points. The first point of one match is combined with the other points of another match.
* Other data have one point, and vectors at it get random directions. Two points are replaced by the third corner of the
  isosceles right triangle whose hypotenuse they form. Two points of an isotropic normal distribution give a point of
  the same distribution. Two points of a thin structure give a point beside it.

The rearrangement is done twice: with any other match ("far"), and with a neighbour ("near"). The second one accounts
for clusters in which each match agrees with the next by chance. Matches of two images are rearranged a third time
("moved"): each first point gets the displacement of other matches. It accounts for matches that were searched for
within a window around a prediction, so displacements are measured from the affine motion that most matches follow
(``common_motion``). The displacement is the third corner of such a triangle over two others, so that a window gives
displacements like its own, and displacements of a common motion give others. The largest probability is used.
"""

from dataclasses import dataclass, replace

import numpy as np

from bansac.compiled.jit import kernel
from bansac.evidence.common_motion import fit_motion
from bansac.evidence.duplicate_points import SAME_POINT
from bansac.maths.arrays import Floats, Ints
from bansac.maths.extent import GRID, grid_step, near_box
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.problem import Problem

REARRANGED = 2000
"""Smallest number of rearranged points or matches, if there are enough pairs."""

# Neighbours share a cell. Its side is this number of thresholds for matches and for points. Points have at least
# _POINT_CELLS cells along an axis: in larger cells, points of different clusters are neighbours. For data without
# points, the side is the extent of each channel over _CELLS.
MATCH_CELL = 8.0
_POINT_CELL, _POINT_CELLS = 32.0, 2
_CELLS = 4
# Smallest distance of two displacements that give a third one, in thresholds: for residuals of one dimension, and of
# more. Displacements of one motion differ by their noise only, those of a window by more.
_MOVED, _MOVED_IN_PLANE = 6.0, 4.0


@dataclass(frozen=True)
class NullModel:
    """Sorted residuals of the model on rearranged data.

    ``far`` are those of points or matches rearranged with any other one, ``near`` with a neighbour. ``moved`` are those
    of matches with the displacements of others; there are none if the points have no displacement. There are none of
    both before :func:`add_neighbours`. ``n`` is the number of points or matches. ``resolution`` is the probability that
    two random points share a coordinate of a grid, the smallest probability. Below the smallest residual the
    probability falls with the power ``decay`` of the distance: the codimension in images, and 1 in space, where points
    near a plane have small residuals by chance.
    """

    far: Floats
    near: Floats
    moved: Floats
    n: int
    resolution: float
    decay: int

    def probability(self, distance: Floats) -> Floats:
        """Return alpha(t), the probability that a random point or match has a residual of at most t; t is ascending.

        Points with a neighbour agree by chance more often. Both kinds are mixed by their shares.
        """
        share = self.near.size / self.n
        first, following = np.full(distance.size, self.resolution), np.zeros(distance.size)
        _raise_to_share(self.far, distance, 1.0, self.decay, first)
        _raise_to_share(self.moved, distance, 1.0, self.decay, first)
        _raise_to_share(self.near, distance, share, self.decay, following)
        return np.asarray((1.0 - share) * first + share * np.maximum(first, following))


@kernel
def _raise_to_share(residuals: Floats, distances: Floats, extra: float, decay: int, probabilities: Floats) -> None:
    """Raise each probability to the share of ``residuals`` within its distance; both are in ascending order.

    ``extra`` residuals are added within each distance, so that the share is never 0. Below the smallest residual the
    share falls with the power ``decay``, down to that within a thousandth. Without residuals nothing changes.
    """
    count = 0
    for k in range(distances.size if residuals.size > 0 else 0):
        while count < residuals.size and residuals[count] <= distances[k]:
            count += 1
        share = (count + extra) / (residuals.size + extra)
        if count == 0:
            share *= min(max(distances[k] / residuals[0], 1e-3), 1.0) ** decay
        probabilities[k] = max(probabilities[k], share)


def measure_far(problem: Problem, data: Floats, model: Floats) -> NullModel:
    """Measure the "far" residuals of a model on rearranged data (channels x N, N at least 2).

    The probabilities are at most those of the complete null model.
    """
    n, shuffled = data.shape[1], np.take(data, _random_order(data), axis=1)
    shifts = np.arange(1, min(n - 1, -(-REARRANGED // n)) + 1)[:, None]
    far = _rearrange(problem, shuffled, np.take(shuffled, np.arange(n) + shifts, axis=1, mode="wrap"))
    return NullModel(
        far=_sorted_residuals(problem, far, model),
        near=np.empty(0),
        moved=np.empty(0),
        n=n,
        resolution=0.0 if problem.traits.are_matches else _resolution(_coordinates(problem, data)),
        decay=problem.traits.codimension if all(len(point) == 2 for point in problem.traits.points) else 1,
    )


def add_neighbours(
    null_model: NullModel, problem: Problem, data: Floats, model: Floats, threshold: float, noise: float = np.inf
) -> NullModel:
    """Return a copy of ``null_model`` with the residuals of matches rearranged with neighbours added.

    ``noise`` is the largest threshold for which displacements may differ by their noise only.
    """
    earlier, later = _neighbours(problem, data, threshold)
    rearranged = _rearrange(problem, np.take(data, earlier, axis=1), np.take(data, later[None], axis=1))
    smallest = smallest_move(problem, min(threshold, noise))
    return replace(
        null_model,
        near=_sorted_residuals(problem, rearranged, model),
        moved=_sorted_residuals(problem, _move(problem, data, smallest), model),
    )


def _random_order(data: Floats) -> Ints:
    """Return a random order of the points; it depends on their number only."""
    order = np.empty(data.shape[1], np.int64)
    shuffle(seed_rng(0), order)
    return order


def _sorted_residuals(problem: Problem, data: Floats, model: Floats) -> Floats:
    residuals = problem.distances(data, model)
    residuals.sort()
    return residuals


def _neighbours(problem: Problem, data: Floats, threshold: float) -> tuple[Ints, Ints]:
    """Return pairs of neighbours: of points or matches in one cell that share no point, the earlier and the later.

    In a random order, each one is paired with the next one in its cell.
    """
    cells, order = _cells(problem, data, threshold), _random_order(data)
    by_cell = np.argsort(cells[order], kind="stable")
    ordered = order[by_cell]
    pairs = np.flatnonzero(cells[ordered[1:]] == cells[ordered[:-1]])
    pairs = pairs[by_cell[pairs + 1].argsort()]
    earlier, later = ordered[pairs], ordered[pairs + 1]
    distances, apart = np.abs(data[:, later] - data[:, earlier]), np.ones(pairs.size, np.bool_)
    for point in problem.traits.points:
        apart &= distances[list(point)].max(axis=0) > SAME_POINT * threshold
    return earlier[apart], later[apart]


def _rearrange(problem: Problem, own: Floats, other: Floats) -> Floats:
    """Rearrange points or matches (channels x N) with others (channels x copies x N); return them in one row."""
    if own.size == 0:
        return own
    if problem.traits.are_matches:
        exchanged = other.copy()
        exchanged[list(problem.traits.points[0])] = own[list(problem.traits.points[0]), None]
    elif problem.channels == 1:
        exchanged = np.tile(np.linspace(own.min(), own.max(), own.shape[1]), (1, other.shape[1], 1))
    else:
        exchanged = other.copy()
        for channels in map(list, problem.traits.directions):
            random = np.random.Generator(np.random.PCG64(1)).normal(size=other[channels].shape)
            exchanged[channels] = random * np.linalg.norm(other[channels], axis=0) / np.linalg.norm(random, axis=0)
        rows = list(problem.traits.points[0]) if problem.traits.directions else slice(None)
        scale, own, other = scales(problem, own)[rows, None, None], own[rows, None], other[rows]
        exchanged[rows] = 0.5 * (own + other + scale * turn((other - own) / scale, own.shape))
    return exchanged.reshape(len(exchanged), -1)


def _move(problem: Problem, data: Floats, smallest: float) -> Floats:
    """Return matches with the displacements of others; no match if the two points differ in their dimensions.

    Displacements are measured from the common affine motion in images, and from the first point in space. Two that
    differ by less than ``smallest`` are taken as if they differed by it.
    """
    if not problem.traits.are_matches or len(problem.traits.points[0]) != len(problem.traits.points[1]):
        return data[:, :0]
    shuffled = np.take(data, _random_order(data), axis=1)
    channels = [list(point) for point in problem.traits.points]
    if problem.traits.of_images:
        channels = [of_point[:2] for of_point in channels]  # without their depths
    first, second = (shuffled[of_point] for of_point in channels)
    common = first
    if problem.traits.of_images:
        motion = fit_motion(data).reshape(2, 3)
        common = motion[:, :2] @ first + motion[:, 2:]
    n = data.shape[1]
    copies = max(1, min(n - 2, -(-REARRANGED // n)))
    start, step = np.arange(n), np.arange(copies)[:, None]
    displacement = second - common
    one, other = (np.take(displacement, start + shift, axis=1, mode="wrap") for shift in (step + 1, 2 * step + 3))
    difference = other - one
    length = np.sqrt(np.sum(difference * difference, axis=0))
    difference[0, length == 0.0] = length[length == 0.0] = smallest
    corner = 0.5 * (one + other + turn(difference, difference.shape) * np.maximum(smallest / length, 1.0))
    moved = np.repeat(shuffled[:, None], copies, axis=1)
    moved[channels[1]] = common[:, None] + corner
    return moved.reshape(len(data), -1)


def turn(difference: Floats, shape: tuple[int, ...]) -> Floats:
    """Return vectors (columns) orthogonal to these and of the same lengths, in space from random ones of ``shape``."""
    if len(difference) == 2:
        return np.stack([-difference[1], difference[0]])
    across = np.random.Generator(np.random.PCG64(0)).normal(size=shape)
    square = np.sum(difference * difference, axis=0)
    square[square == 0.0] = 1.0
    across = across - difference * (np.sum(across * difference, axis=0) / square)
    return np.asarray(across * np.sqrt(square / np.sum(across * across, axis=0)))


def scales(problem: Problem, data: Floats) -> Floats:
    """Return the extent of each channel without far data; channels of one point all get the largest of theirs."""
    extent = np.array([np.ptp(near_box(np.ascontiguousarray(row[None]), GRID)) for row in data])
    for point in problem.traits.points:
        extent[list(point)] = extent[list(point)].max()
    extent[extent == 0.0] = 1.0
    return np.asarray(extent)


def smallest_move(problem: Problem, threshold: float) -> float:
    """Return the smallest distance of two displacements that give a third one."""
    return threshold * (_MOVED if problem.traits.codimension == 1 else _MOVED_IN_PLANE)


def cell_sizes(problem: Problem, data: Floats, threshold: float) -> Floats:
    """Return the sides of a cell of neighbours, along the channels of the first point, or of all without points."""
    if problem.traits.are_matches:
        return np.full(len(problem.traits.points[0]), MATCH_CELL * threshold)
    extent = scales(problem, data)
    if not problem.traits.points:
        return extent / _CELLS
    return np.minimum(_POINT_CELL * threshold, extent[list(problem.traits.points[0])] / _POINT_CELLS)


def _cells(problem: Problem, data: Floats, threshold: float) -> Floats:
    """Return a number for the cell of each point or match, by its first point, or by all channels without points."""
    rows = _coordinates(problem, data)
    size = cell_sizes(problem, data, threshold)
    key = np.zeros(data.shape[1])
    for row, width in zip(rows, size, strict=True):
        cell = np.floor((row - row.min()) / width)
        key = key * (cell.max() + 1) + cell
    return key


def _coordinates(problem: Problem, data: Floats) -> Floats:
    """Return the coordinates of the first point of each datum; all channels of data without points."""
    return data[list(problem.traits.points[0])] if problem.traits.points else data


def _resolution(data: Floats) -> float:
    """Return the largest probability over the channels that two random values are equal; 0 if no value repeats."""
    steps = ((grid_step(row), float(np.ptp(row))) for row in data)
    return max(step / (extent + step) if step else 0.0 for step, extent in steps)
