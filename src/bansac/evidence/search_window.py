"""Search windows: whether a model has outliers as inliers that were searched near a prediction.

Such outliers agree with the prediction at a threshold as large as the window. Their errors are uniform within it, but
those of inliers are nearly normal. Excess kurtosis tells them apart whatever the size of the window: it is -1.2 for
uniform and 0 for normal errors, or -.2 if they are truncated at the 99 % quantile of their length.
"""

import math

import numpy as np

from bansac.evidence.false_alarms import SIGNIFICANT, log_nfa
from bansac.maths.arrays import Floats
from bansac.maths.extent import grid_step
from bansac.problems.problem import Problem

# Errors are uniform if the excess kurtosis of both components is below _UNIFORM. Fewer than _FEW errors do not show it.
_UNIFORM, _FEW = -0.7, 100


def fits_window(problem: Problem, data: Floats, model: Floats, threshold: float, noise: float) -> bool:
    """Return whether the errors within a threshold of a flat model, of two components, are uniform.

    ``noise`` is that of :class:`bansac.evidence.significance.MeasuredModel`; smaller errors may be uniform. So may
    those of coordinates that are rounded to a grid with steps of a threshold or more.
    """
    if threshold <= noise or problem.residual_size != 2 or problem.linearize is None:
        return False
    squares = _squares_within(problem, data, model, threshold)
    if squares.shape[1] < _FEW:
        return False
    kurtosis = np.mean(squares * squares, axis=1) / np.mean(squares, axis=1) ** 2 - 3.0
    if not kurtosis.max() < _UNIFORM:
        return False
    return bool(threshold > max(grid_step(data[channel]) for channel in problem.traits.points[-1]))


def has_peak(problem: Problem, data: Floats, model: Floats, threshold: float) -> bool:
    """Return whether a search window within a threshold has more small errors than uniform ones have by chance.

    The area of a square window is six times the mean of the squared lengths.
    """
    lengths = np.sort(_squares_within(problem, data, model, threshold).sum(axis=0))
    alpha = np.minimum(math.pi / 6.0 * lengths / lengths.mean(), 1.0)
    return log_nfa(alpha, lengths.size, problem.sample_size, problem.max_models) < SIGNIFICANT


def _squares_within(problem: Problem, data: Floats, model: Floats, threshold: float) -> Floats:
    squares = problem.linearized(data, model)[0] ** 2
    return squares[:, squares.sum(axis=0) <= threshold * threshold]
