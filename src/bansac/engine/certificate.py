"""A cheap test that most right models pass: enough support, far apart, against a model of chance of one draw.

It asks for more than the test in full (``bansac.estimate.verdict``) does: of the inliers only those count that lie alone in
a cell of neighbours, and of those a quarter, since data nearer than a cell can lie in four.
"""

from __future__ import annotations

import numpy as np

from bansac.engine.background import cell_sizes, scales
from bansac.engine.significance import SIGNIFICANT, log_false_alarms
from bansac.engine.support import SAME_POINT
from bansac.numeric.arrays import Bools, Floats, Words
from bansac.numeric.jit import inlined, kernel
from bansac.numeric.rng import next_index, seed_rng
from bansac.problems.problem import Problem

__all__ = ["is_clear"]

_SLOTS = 8192
_LINES = 16


def is_clear(problem: Problem, data: Floats, model: Floats, threshold: float, inliers: Bools) -> bool:
    """Return whether the model is significant beyond doubt; False says nothing."""
    n, m = inliers.size, problem.sample_size
    pairs = len(problem.points) == 2
    if data.shape[0] != (4 if pairs else 2) or n < 2 * m:
        return False
    if not pairs and any(np.any(row[1:] == row[:-1]) for row in np.sort(data, axis=1)):
        return False  # the data may lie on a grid
    widths = cell_sizes(problem, data, threshold)
    scale = np.ones(2) if pairs else scales(problem, data)
    exchanged = np.empty_like(data)
    apart = _survey(data, inliers, seed_rng(0), widths, scale, SAME_POINT * threshold, m - 1, exchanged)
    size = apart // 4
    if size <= m:
        return False
    squared = np.empty(n)
    problem.exact_residuals(exchanged, model, 0, n, squared)
    alpha = (np.count_nonzero(squared <= threshold * threshold) + 1) / (n + 1)
    return log_false_alarms(size, alpha, n, m, problem.max_models) < SIGNIFICANT


@kernel
def _survey(
    data: Floats,
    support: Bools,
    rng: Words,
    widths: Floats,
    scale: Floats,
    same: float,
    off_line: int,
    exchanged: Floats,
) -> int:
    """Rearrange the data at random into ``exchanged`` and return how many of the support lie in different cells.

    0 if the support of matches lies on a line in one image, but for fewer than ``off_line``.
    """
    channels, n = data.shape
    used = np.zeros((2, _SLOTS), np.bool_)
    members = np.empty(n, np.int64)
    count, apart = 0, 0
    for i in range(n):
        j = next_index(rng, n - 1)
        j += 1 if j >= i else 0
        if channels == 4:
            exchanged[0, i], exchanged[1, i] = data[0, i], data[1, i]
            exchanged[2, i], exchanged[3, i] = data[2, j], data[3, j]
        else:
            dx, dy = (data[0, j] - data[0, i]) / scale[0], (data[1, j] - data[1, i]) / scale[1]
            exchanged[0, i] = 0.5 * (data[0, i] + data[0, j] - scale[0] * dy)
            exchanged[1, i] = 0.5 * (data[1, i] + data[1, j] + scale[1] * dx)
        if support[i]:
            members[count] = i
            count += 1
            first = _slot(data[0, i] / widths[0], data[1, i] / widths[1])
            second = first
            if channels == 4:
                second = _slot(data[2, i] / (2.0 * same), data[3, i] / (2.0 * same))
            if not (used[0, first] or used[1, second]):
                apart += 1
            used[0, first] = True
            used[1, second] = True
    for row in range(0, channels if channels == 4 else 0, 2):
        for line in range(_LINES):
            a, b = members[next_index(rng, count)], members[next_index(rng, count)]
            dx, dy = data[row, b] - data[row, a], data[row + 1, b] - data[row + 1, a]
            limit = 8.0 * same * np.sqrt(dx * dx + dy * dy)
            off = 0
            for k in range(count):
                i = members[k]
                off += abs(dx * (data[row + 1, i] - data[row + 1, a]) - dy * (data[row, i] - data[row, a])) > limit
                if off >= off_line:
                    break
            if off < off_line and limit > 0.0:
                return 0
    return apart


@inlined
def _slot(x: float, y: float) -> int:
    """Return the place of a cell in the table; two cells that share one only make the test harder to pass."""
    return (np.int64(np.floor(x)) * 73856093 ^ np.int64(np.floor(y)) * 19349663) & (_SLOTS - 1)
