"""The verdict on a model: whether it is a success, what happened in words, and how its inliers lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.engine.runner import EngineResult
from bansac.problems.problem import Problem
from bansac.significance.configuration import configuration_message, find_configuration
from bansac.significance.false_alarms import SIGNIFICANT, log_nfa
from bansac.significance.fast_test import is_significant_fast
from bansac.significance.null_model import add_neighbours, measure_far
from bansac.significance.support import count_off_line, first_of_equals

__all__ = ["Verdict", "judge", "judge_motion_of_plane"]

# Residuals below this share of the threshold count as that much: rounding, not exactness.
_EXACT = 1e-3
# A threshold above this share of the extent of the data, within which most random data are, tells nothing.
_SMALL = 0.1
_USELESS = 0.5

_CHANCE = ", no more than chance gives"


class Verdict(NamedTuple):
    """What a ``Result`` says about its model.

    Parameters
    ----------
    success : bool
        Whether the model has more support than chance gives and its inliers determine it.
    message : str
        What happened.
    configuration : {"general", "planar", "pure_rotation", "collinear"} or None
        How the inliers lie, see ``Result``.
    """

    success: bool
    message: str
    configuration: str | None


def judge(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    unit: float,
    outcome: EngineResult,
    residuals: NDArray[np.float64],
    inliers: NDArray[np.bool_],
    count: int,
    *,
    two_views: bool,
) -> Verdict:
    """Decide whether the model of a run is a success.

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
        Result of the run.
    residuals : (N,) ndarray
        Residuals of its model.
    inliers : (N,) ndarray of bool
        Whether each is at most the threshold.
    count : int
        Number of inliers.
    two_views : bool
        Whether the data are matches of two views, whose configuration is looked for.

    Returns
    -------
    Verdict
        The decision.
    """
    n = residuals.size
    if outcome.model is None:
        return Verdict(False, _explain_no_model(problem, n, outcome), None)
    doubt, configuration = _test_support(problem, data, threshold, unit, outcome.model, residuals, inliers, count)
    if two_views and configuration is None:
        configuration = find_configuration(problem, data, residuals / unit, threshold / unit, by_chance=doubt != "")
    message = f"{problem.name} with {count} of {n} inliers{doubt}{configuration_message(problem, configuration)}"
    return Verdict(doubt == "" and configuration != "collinear", message, configuration)


def judge_motion_of_plane(support: int, n: int) -> Verdict:
    """Return the verdict on a relative pose that replaces a successful one by the motion of its inliers' plane."""
    message = f"relative pose with {support} of {n} inliers, from the homography of their plane"
    return Verdict(True, message, "planar")


def _explain_no_model(problem: Problem, n: int, outcome: EngineResult) -> str:
    """Return why a run of ``n`` points or matches found no model."""
    if n < problem.sample_size:
        return f"{problem.name} needs at least {problem.sample_size} data, got {n}"
    if outcome.models_tested == 0:
        reason = f"all {outcome.iterations} samples were degenerate (coincident or collinear data?)"
    else:
        reason = f"none of the {outcome.models_tested} models tested has an inlier"
    return f"no {problem.name} found: {reason}"


def _test_support(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    unit: float,
    model: NDArray[np.float64],
    residuals: NDArray[np.float64],
    inliers: NDArray[np.bool_],
    count: int,
) -> tuple[str, str | None]:
    """Return why chance explains the support, "" if it does not, and "collinear" if too few inliers are off a line."""
    n, m = residuals.size, problem.sample_size
    if problem.evidence is not None:
        problem, data, model = problem.evidence(data, model)
    if count <= m:
        return _CHANCE, None
    if is_significant_fast(problem, data, model, threshold / unit, inliers):
        return "", None
    null_model = measure_far(problem, data, model)
    extent = _smallest_extent(problem, data)
    if threshold / unit > _SMALL * extent:
        null_model = add_neighbours(null_model, problem, data, model, threshold / unit)
        chance = float(null_model.probability(np.array([threshold / unit]))[0])
        if chance >= _USELESS:
            return (
                f", but the threshold of {threshold:.3g} is not small against the data, which extend over "
                f"{extent * unit:.3g}: a random datum is an inlier with probability {chance:.2f}"
            ), None
    support = np.flatnonzero(inliers)
    support = support[np.argsort(residuals[support], kind="stable")]
    support = support[first_of_equals(problem, data[:, support], threshold / unit)]
    exactness = np.maximum(residuals[support], _EXACT * threshold) / unit
    false_alarms = log_nfa(null_model.probability(exactness), n, m, problem.max_models)
    if false_alarms < SIGNIFICANT:  # they are no fewer with the neighbours, which cost most of the time
        null_model = add_neighbours(null_model, problem, data, model, threshold / unit)
        false_alarms = log_nfa(null_model.probability(exactness), n, m, problem.max_models)
    if false_alarms >= SIGNIFICANT:
        apart = "" if support.size == count else f", of which {support.size} share no point"
        return apart + _CHANCE, None
    # Two matches, always on a line, determine a similarity; points of the plane on a line determine the line. This test
    # asks for the other points of a minimal sample off the line. That of find_configuration asks for more points off it
    # than chance gives, within a wider tolerance, because a long noisy line has some of them.
    if m > 2 and (len(problem.points) > 1 or any(len(point) > 2 for point in problem.points)):
        for point in problem.points:
            if count_off_line(np.ascontiguousarray(data[list(point)][:, support]), threshold / unit) < m - 1:
                return "", "collinear"
    return "", None


def _smallest_extent(problem: Problem, data: NDArray[np.float64]) -> float:
    """Return how far the data extend: the points of that image, or else the channel, in which it is least."""
    points = problem.points or [(channel,) for channel in range(problem.channels)]
    extents: list[float] = np.ptp(data, axis=1).tolist()
    return min(max(extents[channel] for channel in point) for point in points)
