"""Tests of a support: inliers that share no point, and points on a line or a plane."""

import numpy as np

from bansac.compiled.jit import inlined, kernel
from bansac.evidence.common_motion import FITS
from bansac.evidence.noise_scale import estimate_threshold
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.problems.problem import Problem

# Points closer than this share of the threshold count as one point; up to twice this distance they may count as one.
SAME_POINT = 0.25

SMALL = 0.1
"""A threshold above this share of the extent of the data is not small: many random data may be within it."""

# Chance explains the inliers off a line with a probability of at most _CHANCE, by likelihood ratios with one of these
# factors for each inlier. The smallest is for the many chance inliers of a large threshold.
_CHANCE, _FACTORS = 0.01, np.array([[2.0], [5.0], [20.0]])


def first_of_equals(problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the indices of points or matches that share no point with each other, in either image of a match.

    If several share a point, the first one is kept. If the data have no points (see ``Problem``), only equal columns
    are merged.
    """
    return np.flatnonzero(groups_of_equals(problem, data, threshold) == np.arange(data.shape[1]))


def groups_of_equals(problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the group of every point or match: the index that :func:`first_of_equals` keeps of it."""
    groups = np.arange(data.shape[1])
    if not problem.traits.points:
        _, first, which = np.unique(data, axis=1, return_index=True, return_inverse=True)
        return first[which.ravel()] if problem.channels > 1 else groups
    kept, table = groups.copy(), np.empty(4 << groups.size.bit_length(), np.int64)
    for point in problem.traits.points:
        x = np.ascontiguousarray(data[list(point)])
        kept = kept[: _keep_first_of_cells(x, 2 * SAME_POINT * threshold, kept, groups, table)]
    while (groups[groups] != groups).any():
        groups = groups[groups]
    return groups


@kernel
def _keep_first_of_cells(x: Floats, width: float, kept: Ints, groups: Ints, table: Ints) -> int:
    """Keep the index of the first point of each cell in ``kept``, and return the number of indices kept.

    The others get this index in ``groups``. ``x`` holds the points (coordinates x N). The grids are shifted by half a
    cell, so two points near each other share a cell of at least one grid. The grids are processed one after the other.
    ``table`` is a hash table; its length is a power of two and a multiple of the number of points, so that few points
    find their slot occupied.
    """
    d, count, last = x.shape[0], kept.size, table.size - 1
    cells = np.empty((count, d))  # of the points kept in this grid
    for grid in range(1 << d):
        candidates, count = count, 0
        for k in range(table.size):
            table[k] = -1
        for k in range(candidates):
            i, place = kept[k], np.int64(0)
            for c in range(d):
                cells[count, c] = np.floor(x[c, i] / width + 0.5 * (grid >> d - 1 - c & 1))
                place = hash_cell(place, cells[count, c])
            place &= last
            while table[place] >= 0:  # until an empty slot, or a point of the same cell
                same = True
                for c in range(d):
                    same &= cells[count, c] == cells[table[place], c]
                if same:
                    break
                place = (place + 1) & last
            if table[place] < 0:
                table[place] = count
                kept[count] = i
                count += 1
            else:
                groups[i] = kept[table[place]]
    return count


@inlined
def hash_cell(before: np.int64, cell: float) -> np.int64:
    """Return a hash below 2**32 of a cell's coordinate and the hash ``before`` of the previous coordinates.

    Neighbouring cells must have distant hashes, or the open addressing forms long runs.
    """
    return (before + np.int64(wrap(cell, 1048576.0))) * 739982445 >> 10 & 0xFFFFFFFF


@inlined
def wrap(cell: float, period: float) -> float:
    """Return exactly ``cell % period`` for a whole number and a power of two; the operator ``%`` would take 10 ns."""
    wrapped: float = cell - period * np.floor(cell / period)
    return wrapped


def threshold_of_flat(problem: Problem, points: Floats, residuals: Floats, threshold: float) -> float:
    """Return the threshold for tests whether ``points`` (D x N) are on a line or a plane.

    If twice the given one is not small against their extent, that of the noise replaces it, but none that is smaller
    than needed.
    """
    widest = 0.5 * SMALL * float(np.ptp(points, axis=1).max()) if points.size > 0 else 0.0
    return estimate_threshold(residuals, problem, (widest, threshold)) if 0.0 < widest < threshold else threshold


@kernel
def count_off_line(x: Floats, threshold: float) -> int:
    """Return the number of points ``x`` (D x N, N at least 2) off the line through most of them.

    The line is the best of 32 lines through pairs of points. A point is off a line if its distance exceeds twice
    ``threshold``.
    """
    d, n = x.shape
    fewest = n
    for k in range(32):
        i = k * 7919 % n
        j = (i + 1 + k * 104729 % max(n - 1, 1)) % n
        length, off = 0.0, 0
        for a in range(d):
            length += (x[a, j] - x[a, i]) ** 2
        for m in range(n):
            square = 0.0
            for a in range(d):
                for b in range(a):  # the entries of the cross product
                    square += squared_area(x, b, a, i, j, m)
            off += 1 if square > 4 * threshold * threshold * length else 0
        fewest = off if off < fewest and length > 0.0 else fewest
    return fewest if fewest < n else 0  # all points coincide


def count_off_plane(x: Floats, threshold: float) -> int:
    """Return the number of points ``x`` (3 x N, N at least 3) off the plane through most of them.

    The plane is the best of 64 planes through triples of points. A point is off a plane if its distance exceeds twice
    ``threshold``.
    """
    n, k = x.shape[1], np.arange(64)
    first, second, third = x[:, k * 7919 % n], x[:, (k * 104729 + 1) % n], x[:, (k * 611953 + 2) % n]
    normals = np.cross(second - first, third - first, axis=0)
    distances = np.abs(normals.T @ x - (normals * first).sum(axis=0)[:, None])
    lengths = np.linalg.norm(normals, axis=0)
    off = np.count_nonzero(distances > 2 * threshold * lengths[:, None], axis=1)
    return int(off[lengths > 0.0].min(initial=n))


def determines_plane(x: Floats, inliers: Bools, threshold: float) -> bool:
    """Return whether points ``x`` (3 x N) off the line of most ``inliers`` of a plane support it more than by chance.

    By chance, their directions from the line are random. A point at distance r is then within ``threshold`` of a plane
    through the line with the probability p = 2 / pi asin(threshold / r). In the order of r, each point multiplies a
    likelihood ratio by f / (1 + (f - 1) p) if it is an inlier, else by 1 / (1 + (f - 1) p). The mean of both is 1. So
    the ratio ever exceeds 1 / a with a probability of at most a (Ville, 1939). One of the points gives the plane, so a
    is divided by their number.
    """
    nearest = inliers
    for _ in range(FITS):
        offsets = x - x[:, nearest].mean(axis=1, keepdims=True)
        along = np.linalg.eigh(offsets[:, nearest] @ offsets[:, nearest].T)[1][:, -1:]
        r = np.linalg.norm(offsets - along * (along.T @ offsets), axis=0)
        nearest = inliers & (r <= np.median(r[inliers]))
    off = np.argsort(r)[np.count_nonzero(r <= threshold) :]
    by_chance = 2.0 / np.pi * np.arcsin(threshold / r[off])
    factors = np.where(inliers[off], _FACTORS, 1.0) / (1.0 + (_FACTORS - 1.0) * by_chance)
    log_ratio = np.cumsum(np.log(factors), axis=1)
    return bool(log_ratio.max(initial=0.0) > np.log(max(off.size, 1) * _FACTORS.size / _CHANCE))


@inlined
def squared_area(x: Floats, a: int, b: int, i: int | np.int64, j: int | np.int64, k: int | np.int64) -> float:
    """Return the squared distance of point k from the line through i and j, times the squared distance of i and j.

    The coordinates of the points are in rows ``a`` and ``b`` of ``x``.
    """
    across: float = (x[a, j] - x[a, i]) * (x[b, k] - x[b, i]) - (x[b, j] - x[b, i]) * (x[a, k] - x[a, i])
    return across * across


@inlined
def squared_length(x: Floats, a: int, b: int, i: int | np.int64, j: int | np.int64) -> float:
    """Return the squared distance of two points; their coordinates are in rows ``a`` and ``b`` of ``x``."""
    length: float = (x[a, j] - x[a, i]) ** 2 + (x[b, j] - x[b, i]) ** 2
    return length
