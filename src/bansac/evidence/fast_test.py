"""A fast sufficient significance test, which most right models pass.

The test makes one pass over the points and does not sort. It counts fewer inliers and assumes a higher chance
probability than the full test (``bansac.evidence.verdict``). So a model that passes this test also passes the full
test. If there are many points, an evenly spaced subset is tested, with the number of models of all points.

The full test sorts the residuals and needs exact neighbours, and takes ten times as long for 800 matches. It also calls
functions of the problem that are not compiled (``significance_form``), so the two tests are separate functions.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import allocating_kernel, inlined, kernel
from bansac.evidence.common_motion import fit_motion
from bansac.evidence.duplicate_points import SAME_POINT, squared_area, squared_length, wrap
from bansac.evidence.false_alarms import SIGNIFICANT, log_choose
from bansac.evidence.null_model import MATCH_CELL, cell_sizes, smallest_move
from bansac.maths.arrays import Bools, Floats, Ints, Words
from bansac.maths.rng import fixed_rng, next_index
from bansac.problems.problem import Problem

_SLOTS = 2048
_LINES = 16
# Points or matches tested, evenly spaced, and smallest number of rearranged ones: few are rearranged several times.
_SAMPLE = 500

# Size of a sample, its largest number of models, and number of others that each point or match is rearranged with.
_Form = tuple[int, int, int]


class _Lengths(NamedTuple):
    """Lengths of a test, in the unit of the data."""

    threshold: float
    cell: float  # side of a cell of neighbours
    same: float  # distance of points that are the same
    smallest: float  # distance of two displacements that give a third one


def is_significant_fast(
    problem: Problem, data: Floats, model: Floats, threshold: float, inliers: Bools, noise: float = np.inf
) -> bool:
    """Return whether the model is significant. If False, run the full test.

    ``noise`` is the largest threshold for which displacements may differ by their noise only.
    """
    n, m = inliers.size, problem.sample_size
    pairs = problem.traits.of_images
    if not (pairs or (problem.traits.points == ((0, 1),) and not problem.traits.directions)) or n < 2 * m:
        return False
    if not pairs and any(np.any(row[1:] == row[:-1]) for row in np.sort(data, axis=1)):
        return False  # the points may lie on a grid
    smallest = smallest_move(problem, min(threshold, noise))
    cell = MATCH_CELL * threshold if pairs else cell_sizes(problem, data, threshold)[0]
    lengths = _Lengths(threshold, cell, SAME_POINT * threshold, smallest)
    motion = fit_motion(data) if pairs else np.empty(0)
    form = m, problem.max_models, min(n - 1, -(-_SAMPLE // min(n, _SAMPLE)))
    return bool(_bound_false_alarms(problem.float64, data, model, inliers, lengths, motion, form) < SIGNIFICANT)


@kernel
def _bound_false_alarms(
    float64: Any, data: Floats, model: Floats, inliers: Bools, lengths: _Lengths, motion: Floats, form: _Form
) -> float:
    """Return an upper bound of the log of the number of false alarms."""
    n, (m, max_models, others) = inliers.size, form
    capacity = (2 * others + 1) * min(n, _SAMPLE)
    rearranged, residuals = np.empty((data.shape[0], capacity)), np.empty(capacity)
    support, size, near, moved = _sample_rearranged(data, inliers, lengths, motion, m - 1, others, rearranged)
    if support <= m:
        return np.inf
    far, limit = others * size, lengths.threshold * lengths.threshold
    # The first residuals are of matches exchanged with any other, the next ones of those with the displacements of
    # others, the rest of those exchanged with a neighbour.
    float64.residuals(rearranged, model, 0, far + near + moved, residuals)
    far_hits, near_hits, moved_hits = 1, 1, 0
    for i in range(far):
        far_hits += 1 if residuals[i] <= limit else 0
    for i in range(far, far + moved):
        moved_hits += 1 if residuals[i] <= limit else 0
    for i in range(far + moved, far + moved + near):
        near_hits += 1 if residuals[i] <= limit else 0
    alpha = far_hits / (far + 1.0)
    alpha = max(alpha, (1.0 - near / size) * alpha + near_hits / (size + 1.0))
    if moved_hits > 0.5 * moved:
        return np.inf  # the full test decides
    alpha = min(max(alpha, (moved_hits + 1) / (moved + 1.0) if moved > 0 else 0.0), 1.0)
    # the model of a subset may come from any m points of all, not only from inliers of the subset
    choices = log_choose(n, m) if size < n else log_choose(support, m)
    false_alarms: float = math.log(max_models * max(size - m, 1)) + log_choose(size, support) + choices
    false_alarms += (support - m) * math.log(alpha)
    return false_alarms


@allocating_kernel
def _sample_rearranged(
    data: Floats, support: Bools, lengths: _Lengths, motion: Floats, off_line: int, others: int, rearranged: Floats
) -> tuple[int, int, int, int]:
    """Rearrange points or matches with any others and with neighbours, and count the inliers that share no point.

    Returns the number of these inliers, of the points tested, of the points rearranged with a neighbour, and of the
    matches with the displacements of others. The first number is 0 if fewer than ``off_line`` inliers are off a line
    in an image. The columns of ``rearranged`` are the points, each rearranged with ``others`` other points, then as
    many matches with other displacements, then those rearranged with a neighbour.
    """
    channels, n = data.shape
    rng, width, same, smallest = fixed_rng(), lengths.cell, lengths.same, lengths.smallest
    step = (n + _SAMPLE - 1) // _SAMPLE
    looked_at = (n + step - 1) // step
    latest, used = np.empty(_SLOTS, np.int64), np.empty((2, _SLOTS), np.bool_)
    for k in range(_SLOTS):  # np.full and np.zeros cost a second of the first call ever
        latest[k], used[0, k], used[1, k] = -1, False, False
    members, sources = np.empty(looked_at, np.int64), np.empty((2, rearranged.shape[1]), np.int64)
    size = 0
    distinct, far, near = 0, 0, 0
    start = others * looked_at
    moved = start if channels >= 4 else 0
    for k in range(moved):
        i, one, other = k // others * step, next_index(rng, n), next_index(rng, n)
        _displace(data, i, one, other, smallest, motion, rearranged, start + k)
        sources[0, start + k] = sources[1, start + k] = i
    start += moved
    for i in range(0, n, step):
        column, row = np.floor(data[0, i] / width), np.floor(data[1, i] / width)
        slot = _slot(column, row)
        for _ in range(others):
            j = next_index(rng, n - 1)
            j = j + 1 if j >= i else j
            _exchange(data, i, j, rearranged, far)
            sources[0, far], sources[1, far] = i, j
            far += 1
        j = latest[slot]
        if j >= 0 and np.floor(data[0, j] / width) == column and np.floor(data[1, j] / width) == row:
            _exchange(data, i, j, rearranged, start + near)
            sources[0, start + near], sources[1, start + near] = i, j
            near += 1
        latest[slot] = i
        if support[i]:
            members[size] = i
            size += 1
            is_new = True
            for side in range(2 if channels >= 4 else 1):
                column, row = np.floor(data[2 * side, i] / (2.0 * same)), np.floor(data[2 * side + 1, i] / (2.0 * same))
                slot = _slot(column, row)
                is_new &= not used[side, slot]
                used[side, slot] = True
            distinct += is_new
    for c in range(4, channels):  # points keep their depths and weights
        for k in range(start + near):
            rearranged[c, k] = data[c, sources[c % 2, k]]
    on_line = channels >= 4 and _are_on_line(data, members[:size], same, off_line, rng)
    return 0 if on_line else distinct, looked_at, near, moved


@inlined
def _are_on_line(data: Floats, members: Ints, same: float, off_line: int, rng: Words) -> bool:
    """Return whether fewer than ``off_line`` matches are off a line through two of them, in either image."""
    for c in range(0, 4, 2):
        for _ in range(_LINES if members.size > 0 else 0):
            a, b = members[next_index(rng, members.size)], members[next_index(rng, members.size)]
            limit = 64.0 * same * same * squared_length(data, c, c + 1, a, b)
            off = 0
            for k in range(members.size):
                off += 1 if squared_area(data, c, c + 1, a, b, members[k]) > limit else 0
                if off >= off_line:
                    break
            if off < off_line and limit > 0.0:
                return True
    return False


@inlined
def _exchange(data: Floats, i: int | np.int64, j: int | np.int64, out: Floats, column: int) -> None:
    """Write point or match i rearranged with j to a column of ``out``, as in ``null_model``."""
    if data.shape[0] >= 4:
        out[0, column], out[1, column] = data[0, i], data[1, i]
        out[2, column], out[3, column] = data[2, j], data[3, j]
    else:
        dx, dy = data[0, j] - data[0, i], data[1, j] - data[1, i]
        out[0, column] = 0.5 * (data[0, i] + data[0, j] - dy)
        out[1, column] = 0.5 * (data[1, i] + data[1, j] + dx)


@inlined
def _displace(
    data: Floats, i: int, j: np.int64, k: np.int64, smallest: float, motion: Floats, out: Floats, column: int
) -> None:
    """Write match i with a displacement made of those of j and k to a column of ``out``, as in ``null_model``."""
    a, b, d, e = motion[0], motion[1], motion[3], motion[4]  # the shift is a part of both displacements
    jx, jy = data[2, j] - a * data[0, j] - b * data[1, j], data[3, j] - d * data[0, j] - e * data[1, j]
    kx, ky = data[2, k] - a * data[0, k] - b * data[1, k], data[3, k] - d * data[0, k] - e * data[1, k]
    dx, dy = kx - jx, ky - jy
    length = math.sqrt(dx * dx + dy * dy)
    if length == 0.0:
        dx, dy, length = smallest, 0.0, smallest
    half = 0.5 * max(smallest / length, 1.0)
    out[0, column], out[1, column] = data[0, i], data[1, i]
    out[2, column] = a * data[0, i] + b * data[1, i] + 0.5 * (jx + kx) - half * dy
    out[3, column] = d * data[0, i] + e * data[1, i] + 0.5 * (jy + ky) + half * dx


@inlined
def _slot(x: float, y: float) -> np.int64:
    """Return the slot of a cell in the table; if two cells share a slot, the test only becomes harder to pass."""
    column, row = np.int64(wrap(x, 65536.0)), np.int64(wrap(y, 65536.0))
    return (column * 73856093 ^ row * 19349663) & (_SLOTS - 1)
