"""Whether a model is more than a product of chance, and what happened, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.engine.runner import EngineResult
from bansac.problems.problem import Problem
from bansac.significance.false_alarms import SIGNIFICANT, log_nfa
from bansac.significance.fast_test import is_significant_fast
from bansac.significance.null_model import add_neighbours, measure_far
from bansac.significance.support import count_off_line, first_of_equals

__all__ = ["judge"]

# Residuals below this share of the threshold count as that much: rounding, not exactness.
_EXACT = 1e-3
# A threshold above this share of the extent of the data, within which most random data are, tells nothing.
_SMALL = 0.1
_USELESS = 0.5


def judge(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    unit: float,
    outcome: EngineResult,
    residuals: NDArray[np.float64],
    inliers: NDArray[np.bool_],
    count: int,
) -> tuple[bool, str, bool]:
    """Say whether the model has more support than chance gives, in words what happened, and if the support is a line.

    Parameters
    ----------
    problem : Problem
        The problem.
    data : (channels, N) ndarray
        The data.
    threshold : float
        Largest residual of an inlier.
    unit : float
        Unit of the threshold and the residuals over that of the data.
    outcome : EngineResult
        What the run found.
    residuals : (N,) ndarray
        Residuals of its model.
    inliers : (N,) ndarray of bool
        Which of them are at most the threshold.
    count : int
        How many.
    """
    n, m = residuals.size, problem.sample_size
    if n < m:
        return False, f"{problem.name} needs at least {m} data, got {n}", False
    if outcome.model is None:
        if outcome.models_tested == 0:
            reason = f"all {outcome.iterations} samples were degenerate (coincident or collinear data?)"
        else:
            reason = f"none of the {outcome.models_tested} models tested has an inlier"
        return False, f"no {problem.name} found: {reason}", False
    model = outcome.model
    if problem.evidence is not None:
        problem, data, model = problem.evidence(data, model)
    found = f"{problem.name} with {count} of {n} inliers"
    if count <= m:
        return False, f"{found}, no more than chance gives", False
    if is_significant_fast(problem, data, model, threshold / unit, inliers):
        return True, found, False
    background = measure_far(problem, data, model)
    extent = _smallest_extent(problem, data)
    if threshold / unit > _SMALL * extent:
        background = add_neighbours(background, problem, data, model, threshold / unit)
        chance = float(background.probability(np.array([threshold / unit]))[0])
        if chance >= _USELESS:
            return (
                False,
                (
                    f"{found}, but the threshold of {threshold:.3g} is not small against the data, which extend over "
                    f"{extent * unit:.3g}: a random datum is an inlier with probability {chance:.2f}"
                ),
                False,
            )
    support = np.flatnonzero(inliers)
    support = support[np.argsort(residuals[support], kind="stable")]
    support = support[first_of_equals(problem, data[:, support], threshold / unit)]
    exactness = np.maximum(residuals[support], _EXACT * threshold) / unit
    false_alarms = log_nfa(background.probability(exactness), n, m, problem.max_models)
    if false_alarms < SIGNIFICANT:  # they are no fewer with the neighbours, which cost most of the time
        background = add_neighbours(background, problem, data, model, threshold / unit)
        false_alarms = log_nfa(background.probability(exactness), n, m, problem.max_models)
    if false_alarms >= SIGNIFICANT:
        apart = "" if support.size == count else f", of which {support.size} share no point"
        return False, f"{found}{apart}, no more than chance gives", False
    # Two matches, always on a line, determine a similarity; points of the plane on a line determine the line.
    if m > 2 and (len(problem.points) > 1 or any(len(point) > 2 for point in problem.points)):
        for point in problem.points:
            if count_off_line(np.ascontiguousarray(data[list(point)][:, support]), threshold / unit) < m - 1:
                return False, f"{found}, which lie on a line and do not determine it", True
    return True, found, False


def _smallest_extent(problem: Problem, data: NDArray[np.float64]) -> float:
    """Return how far the data extend: the points of that image, or else the channel, in which it is least."""
    points = problem.points or [(channel,) for channel in range(problem.channels)]
    extents: list[float] = np.ptp(data, axis=1).tolist()
    return min(max(extents[channel] for channel in point) for point in points)
