"""Which data count as evidence: distinct ones, that do not lie on one line."""

from __future__ import annotations

import numpy as np

from bansac.numeric.arrays import Bools, Floats
from bansac.problems.problem import Problem

__all__ = ["count_off_line", "distinct"]

# Points of data nearer to each other than this share of the threshold are one point; at twice that they may be.
_SAME = 0.25


def distinct(problem: Problem, data: Floats, residuals: Floats, threshold: float) -> Bools:
    """Return a mask of data of which no two share a point, on either side of a match.

    Of data that do the one of the smallest residual remains. Without points (see ``Problem``) only equal data are one.
    """
    order = np.argsort(residuals, kind="stable")
    sorted_data = data[:, order]
    kept = np.arange(order.size)
    if problem.points:
        size = 2 * _SAME * threshold
        for point in problem.points:
            rows = sorted_data[list(point)]
            # Two points near each other share a cell of at least one of the grids, which are half a cell apart.
            for corner in np.ndindex(*(2,) * len(rows)):
                offset = 0.5 * np.array(corner)[:, None]
                kept = kept[_first_of_cell(np.floor(rows[:, kept] / size + offset))]
    elif problem.channels > 1:
        kept = kept[_first_of_cell(sorted_data)]
    mask = np.zeros(order.size, np.bool_)
    mask[order[kept]] = True
    return mask


def _first_of_cell(cells: Floats) -> Bools:
    """Return which columns equal no earlier one."""
    order = np.lexsort(cells)  # stable: of equal columns the first comes first
    ordered = cells[:, order]
    first = np.ones(order.size, np.bool_)
    first[order[1:]] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    return first


def count_off_line(x: Floats, threshold: float) -> int:
    """Return how many of the points ``x`` (2 x N, N at least 2) are off the line on which most of them lie.

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
    across = direction[0, :, None] * (x[1] - start[1][:, None]) - direction[1, :, None] * (x[0] - start[0][:, None])
    return int(np.sum(np.abs(across) > 2 * threshold, axis=1).min())
