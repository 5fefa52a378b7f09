"""Which data count as evidence: distinct ones, that do not lie on one line."""

from __future__ import annotations

import itertools

import numpy as np

from bansac.numeric.arrays import Floats, Ints
from bansac.problems.problem import Problem

__all__ = ["SAME_POINT", "count_off_line", "first_of_equals"]

# Points of data nearer to each other than this share of the threshold are one point; at twice that they may be.
SAME_POINT = 0.25

# Up to so many values a dict is faster than sorting.
_FEW = 200


def first_of_equals(problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the indices of data of which no two share a point, on either side of a match: of those that do, the first.

    Without points (see ``Problem``) only equal data are one.
    """
    kept = np.arange(data.shape[1])
    if not problem.points:
        return np.sort(np.unique(data, axis=1, return_index=True)[1]) if problem.channels > 1 else kept
    for point in problem.points:
        rows = data[list(point)] / (2 * SAME_POINT * threshold)
        # Two points near each other share a cell of at least one of the grids, which are half a cell apart.
        for corner in np.ndindex(*(2,) * len(rows)):
            cells = np.floor(rows[:, kept] + 0.5 * np.array(corner)[:, None])
            cells -= cells.min(axis=1, keepdims=True)
            key = cells[0]
            for cell in cells[1:]:
                key = key * (cell.max() + 1) + cell
            kept = kept[_first_of_values(key)]
    return kept


def _first_of_values(values: Floats) -> Ints:
    """Return the index of the first of each value, in ascending order."""
    if values.size > _FEW:
        return np.sort(np.unique(values, return_index=True)[1])
    first: dict[float, int] = {}
    for index, value in enumerate(values.tolist()):
        first.setdefault(value, index)
    return np.fromiter(first.values(), np.int64, len(first))


def count_off_line(x: Floats, threshold: float) -> int:
    """Return how many of the points ``x`` (D x N, N at least 2) are off the line on which most of them lie.

    The line is one of 32 through pairs of the points. A point is off it at more than twice ``threshold``.
    """
    n = x.shape[1]
    i = np.arange(32) * 7919 % n
    j = (i + 1 + np.arange(32) * 104729 % max(n - 1, 1)) % n
    direction = x[:, j] - x[:, i]
    length = np.sqrt(np.sum(direction * direction, axis=0))
    direction = direction[:, length > 0] / length[length > 0]
    if direction.shape[1] == 0:
        return 0
    start = x[:, i[length > 0]]
    square = np.zeros((direction.shape[1], n))
    for a, b in itertools.combinations(range(len(x)), 2):  # the entries of the cross product
        across = direction[a, :, None] * (x[b] - start[b][:, None]) - direction[b, :, None] * (x[a] - start[a][:, None])
        square += across * across
    return int(np.sum(square > (2 * threshold) ** 2, axis=1).min())
