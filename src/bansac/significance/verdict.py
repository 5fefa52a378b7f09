"""The verdict on a model: ``success``, ``message`` and ``configuration`` of a result.

:func:`find_verdict` decides whether a model is a success. It is a success if chance does not explain its support and
its inliers do not lie on a line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.engine.runner import EngineResult
from bansac.maths.arrays import Floats, Ints
from bansac.maths.extent import GRID, near_box
from bansac.problems.problem import Problem
from bansac.significance.ambiguity import count_other_support
from bansac.significance.configuration import configuration_message, find_configuration
from bansac.significance.false_alarms import SIGNIFICANT, log_nfa
from bansac.significance.fast_test import is_significant_fast
from bansac.significance.null_model import NullModel, add_neighbours, measure_far, measure_null_model
from bansac.significance.support import count_off_line, count_off_plane, first_of_equals
from bansac.significance.vertical import has_verticals, keep_verticals, of_three_matches

__all__ = ["Verdict", "find_verdict", "is_significant", "plane_motion_verdict"]

# Smaller residuals are raised to this share of the threshold, because they are due to rounding.
_EXACT = 1e-3
# The support is tested within these shares of the threshold. If the threshold is large, a support within a smaller one
# shares fewer points, and its neighbours are nearer.
_SHARES = 1.0, 0.5, 0.25
# If the threshold exceeds the share _SMALL of the extent of the data, the probability of a random inlier is checked. At
# _USELESS or above, the inliers prove nothing. The same holds for a match with the displacement of others.
_SMALL = 0.1
_USELESS = 0.5

_CHANCE = ", no more than chance gives"

# Limits that end a search before its restarts agree, and what a success then says.
_LIMITS = "max_iterations", "max_seconds", "restarts"
_NOT_CONFIRMED = "; the restarts did not agree before the search ended, and preset='accurate' searches longer"


class Verdict(NamedTuple):
    """The verdict on the model of a ``Result``.

    Parameters
    ----------
    success : bool
        Whether the model has more support than chance explains and its inliers do not lie on a line.
    message : str
        The outcome in words.
    configuration : {"general", "ambiguous", "planar", "pure_rotation", "collinear"} or None
        Configuration of the inliers, see ``Result``.
    """

    success: bool
    message: str
    configuration: str | None


def find_verdict(
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
    noise: float = np.inf,
) -> Verdict:
    """Decide whether the model of a run is a success.

    Parameters
    ----------
    problem : Problem
        The problem.
    data : (channels, N) ndarray
        The data.
    threshold : float
        Largest residual of an inlier, in the caller's unit.
    unit : float
        Length of one unit of ``data`` in the caller's unit. Threshold and residuals are divided by it.
    outcome : EngineResult
        Result of the run.
    residuals : (N,) ndarray
        Residuals of its model, in the caller's unit.
    inliers : (N,) ndarray of bool
        Whether each residual is at most the threshold.
    count : int
        Number of inliers.
    two_views : bool
        Whether the data are matches of two views. If True, their configuration is determined.
    noise : float
        Largest threshold for which the displacements of matches may differ by their noise only, in the caller's unit.
        Displacements that are random within a search window look like noise at a threshold that is large enough. So an
        estimated threshold needs this limit.

    Returns
    -------
    Verdict
        Success, message and configuration.
    """
    n = residuals.size
    if outcome.model is None:
        return Verdict(False, _explain_no_model(problem, n, outcome), None)
    doubt, configuration = _test_support(
        problem, data, threshold, unit, outcome.model, residuals, inliers, count, noise
    )
    if two_views and configuration is None:
        data = np.ascontiguousarray(data[:4])  # without the verticals
        configuration = find_configuration(problem, data, residuals / unit, threshold / unit, by_chance=doubt != "")
    message = f"{problem.name} with {count} of {n} inliers{doubt}{configuration_message(problem, configuration)}"
    others = count_other_support(data, residuals / unit, threshold / unit) if configuration == "general" else 0
    if others > 0:
        configuration = "ambiguous"
        message += f"; off a plane of many inliers, {others} outliers support another {problem.name}"
    success = doubt == "" and configuration != "collinear"
    if success and outcome.restarts > 1 and outcome.stop_reason in _LIMITS:
        message += _NOT_CONFIRMED
    return Verdict(success, message, configuration)


def is_significant(
    problem: Problem,
    data: NDArray[np.float64],
    unit: float,
    noise: float,
    model: NDArray[np.float64],
    threshold: float,
    fast: bool = False,
) -> bool:
    """Return whether a model has more support than chance explains; the parameters are those of ``find_verdict``.

    If ``fast``, only the fast test is made, which some significant models fail.
    """
    residuals = problem.distances(data, model) * unit
    inliers = residuals <= threshold
    if fast:
        if problem.evidence is not None:
            problem, data, model = problem.evidence(data, model)
        return is_significant_fast(problem, data, model, threshold / unit, inliers, noise / unit)
    count = int(inliers.sum())
    return _test_support(problem, data, threshold, unit, model, residuals, inliers, count, noise)[0] == ""


def plane_motion_verdict(support: int, n: int) -> Verdict:
    """Return the verdict on a relative pose that was computed from the homography of the inliers.

    It replaces a pose that was already a success, so its support is not tested again.
    """
    message = f"relative pose with {support} of {n} inliers, from the homography of their plane"
    return Verdict(True, message, "planar")


def _explain_no_model(problem: Problem, n: int, outcome: EngineResult) -> str:
    """Return the message of a run of ``n`` points or matches that found no model."""
    if n < problem.sample_size:
        return f"{problem.name} needs at least {problem.sample_size} data points, got {n}"
    if outcome.models_tested == 0:
        flat = "coincident, collinear or coplanar" if _is_map_of_space(problem) else "coincident or collinear"
        reason = f"all {outcome.iterations} samples were degenerate ({flat} data?)"
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
    noise: float,
) -> tuple[str, str | None]:
    """Test whether chance explains the support, and whether enough inliers are off a line.

    Returns a text that says why chance explains the support, "" if it does not, and "collinear" or None. With known
    verticals, the model that keeps them is tested, too.
    """
    tested, matches = problem, data
    if problem.evidence is not None:
        tested, matches, model = problem.evidence(data, model)
    found = _test(tested, matches, threshold, unit, model, residuals, inliers, count, noise)
    if found[0] == "" or count <= problem.sample_size or not has_verticals(problem):
        return found
    model = keep_verticals(tested, data, model, threshold / unit)
    residuals = tested.distances(matches, model) * unit
    inliers = residuals <= threshold
    count, tested = int(inliers.sum()), of_three_matches(tested)
    kept = _test(tested, matches, threshold, unit, model, residuals, inliers, count, noise)
    return kept if kept[0] == "" else found


def _test(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    unit: float,
    model: NDArray[np.float64],
    residuals: NDArray[np.float64],
    inliers: NDArray[np.bool_],
    count: int,
    noise: float,
) -> tuple[str, str | None]:
    """Return the texts of ``_test_support`` for the model of the significance test."""
    m = problem.sample_size
    threshold, residuals, noise = threshold / unit, residuals / unit, noise / unit
    if count <= m:
        return _CHANCE, None
    if is_significant_fast(problem, data, model, threshold, inliers, noise):
        return "", None
    doubt = _explain_large_threshold(problem, data, model, threshold, unit)
    if doubt:
        return doubt, None
    distinct = first_of_equals(problem, data, threshold)
    support = distinct[inliers[distinct]]
    if not _is_significant(problem, data, model, threshold, residuals, distinct, noise):
        return _explain_shared_points(support.size, count) + _CHANCE, None
    # The test is for problems with m > 2 whose data are matches or points in space. Two matches determine a similarity
    # and are always on a line; points of the plane on a line determine a line. At least m - 1 points must be off the
    # line. The test of find_configuration has a wider tolerance and requires more points off the line than chance
    # explains, because a long noisy line has some.
    if m > 2 and (len(problem.points) > 1 or any(len(point) > 2 for point in problem.points)):
        for point in problem.points:
            if count_off_line(np.ascontiguousarray(data[list(point)][:, support]), threshold) < m - 1:
                return "", "collinear"
    if _is_map_of_space(problem):
        for point in problem.points:
            if count_off_plane(data[list(point)][:, support], threshold) < m - 1:
                return " on a plane, which does not determine the map", None
    return "", None


def _is_map_of_space(problem: Problem) -> bool:
    """Return whether the model is an affine map of space, which points on a plane do not determine."""
    return problem.sample_size > 3 and problem.channels == 6 and len(problem.points) == 2


def _explain_large_threshold(problem: Problem, data: Floats, model: Floats, threshold: float, unit: float) -> str:
    """Return a text if a large threshold makes a random point or match an inlier, else ""."""
    extent = _smallest_extent(problem, data)
    if threshold <= _SMALL * extent:
        return ""
    null_model = measure_null_model(problem, data, model, threshold)
    chance = float(null_model.probability(np.array([threshold]))[0])
    if chance < _USELESS:
        return ""
    return (
        f", but the threshold of {threshold * unit:.3g} is too large for data with an extent of {extent * unit:.3g}: "
        f"a random data point is an inlier with probability {chance:.2f}"
    )


def _explain_shared_points(distinct: int, count: int) -> str:
    """Return a text on the number of inliers that share no point with others."""
    if distinct > 0.5 * count:
        return "" if distinct == count else f" ({distinct} without a common point)"
    return (
        f", but only {distinct} of them at distinct points: points repeat, or the threshold is large compared with "
        "their distances"
    )


def _is_significant(
    problem: Problem, data: Floats, model: Floats, threshold: float, residuals: Floats, distinct: Ints, noise: float
) -> bool:
    """Return whether the support within a share of the threshold is more than chance gives.

    If points or matches share a point, only the first one counts, inlier or not. ``distinct`` are the first ones at the
    threshold itself.
    """
    kept, null_model = distinct, None
    for share in _SHARES:
        within = share * threshold
        if share != 1.0:
            before, kept = kept, first_of_equals(problem, data, within)
            null_model = null_model if np.array_equal(before, kept) else None
        thinned, of_kept = np.take(data, kept, axis=1), residuals[kept]
        support = np.flatnonzero(of_kept <= within)
        if support.size <= problem.sample_size:
            continue
        support = support[np.argsort(of_kept[support], kind="stable")]
        exactness = np.maximum(of_kept[support], _EXACT * within)
        null_model = null_model or measure_far(problem, thinned, model)
        if not _exceeds_chance(problem, null_model, support, exactness):
            continue
        # Neighbours and displacements can only raise the NFA, and take most of the time.
        complete = add_neighbours(null_model, problem, thinned, model, within, noise)
        if noise < within and complete.moved.size > 0 and np.mean(complete.moved <= within) > _USELESS:
            continue
        if _exceeds_chance(problem, complete, support, exactness):
            return True
    return False


def _exceeds_chance(problem: Problem, null_model: NullModel, support: Ints, exactness: Floats) -> bool:
    """Return whether the null model does not explain a support, in ascending order of its residuals ``exactness``.

    There are two tests: of all points or matches alike, and of those that follow a neighbour apart. The first is
    stronger for a small support of scattered points, the second for a clustered one.
    """
    m, models = problem.sample_size, problem.max_models
    n, n_following = null_model.follows.size, int(null_model.follows.sum())
    alike = null_model.probability(exactness)
    if log_nfa(alike, alike, np.zeros(support.size, np.bool_), (n, 0), m, models) < SIGNIFICANT:
        return True
    first, following = null_model.probability_first(exactness), null_model.probability_next(exactness)
    follows = null_model.follows[support]
    return log_nfa(first, following, follows, (n - n_following, n_following), m, models) < SIGNIFICANT


def _smallest_extent(problem: Problem, data: NDArray[np.float64]) -> float:
    """Return the smallest extent of the data over the images, or over the channels if the data have no points.

    Far data do not count.
    """
    points = problem.points or [(channel,) for channel in range(problem.channels)]
    boxes = (near_box(np.ascontiguousarray(data[list(point)]), GRID) for point in points)
    return min(float(np.ptp(box, axis=0).max()) for box in boxes)
