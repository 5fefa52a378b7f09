"""The verdict on a model: ``success``, ``message`` and ``configuration`` of a result.

:func:`find_verdict` decides whether a model is a success, and :func:`plane_motion_verdict` the motion of a plane. It is
a success if chance does not explain its support and its inliers do not lie on a line.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from bansac.engine.runner import EngineResult
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.extent import GRID, near_box
from bansac.problems.affine import AFFINE
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem
from bansac.significance.ambiguity import count_other_support
from bansac.significance.configuration import SEARCHED, configuration_message, find_configuration, lower_to_noise
from bansac.significance.false_alarms import SIGNIFICANT, log_nfa
from bansac.significance.fast_test import is_significant_fast
from bansac.significance.misfit import has_misfit
from bansac.significance.null_model import NullModel, add_neighbours, measure_far
from bansac.significance.support import count_off_line, count_off_plane, determines_plane, first_of_equals
from bansac.significance.vertical import has_verticals, keep_verticals, of_three_matches

_FirstOf: TypeAlias = Callable[[Problem, Floats, float], Ints]

# Smaller residuals are raised to this share of the threshold, because they are due to rounding.
_EXACT = 1e-3
# The support is tested within these shares of the threshold. If the threshold is large, a support within a smaller one
# shares fewer points, and its neighbours are nearer.
_SHARES = 1.0, 0.5, 0.25
# What undoes the normalisation of affine maps, similarities and homographies. The threshold is one for x2. If the
# variance of x2 is above _MAGNIFIED times that of x1, it is too large for x1, the part of a photograph or in metres.
_OF_PLANES, _MAGNIFIED = (AFFINE.denormalize, HOMOGRAPHY.denormalize), 4.0
# If the threshold exceeds the share _SMALL of the extent of the data, the probability of a random inlier is checked. At
# _USELESS or above, the inliers prove nothing, and neither do they if that of a match with the displacement of another
# one is as large.
_SMALL = 0.1
_USELESS = 0.5

_CHANCE = ", no more than chance gives"

# A model of fewer inliers than this share of its score in the search is not represented by its numbers.
_ROUNDED_SHARE = 0.5
_ROUNDED = ": rounded to double precision it has other residuals, so move the origin of coordinates nearer to the data"
# Of at most _FEW data, the number of further inliers that a success needs at least is told, up to _MOST_MISSING.
_FEW, _MOST_MISSING = 20, 10

# Limits that end a search before its restarts agree, and what a success then says.
_LIMITS = "max_iterations", "max_seconds", "restarts"
_NOT_CONFIRMED = "; the restarts did not agree before the search ended, and preset='accurate' searches longer"

_REPEATS = "; the inliers lie on a plane or one step to either side of it, as if a pattern on it repeats"
_OTHER_SUPPORT = "; off a plane of many inliers, {} outliers support another {}"


class Doubt(NamedTuple):
    """Why a model is no success, such as that chance explains its support; the text is "" if it is one.

    ``lengths``, in the unit of the data, are those of the placeholders of the text.
    """

    text: str = ""
    lengths: tuple[float, ...] = ()

    def in_words(self, unit: float) -> str:
        """Return the text; one unit of the data is ``unit`` there."""
        return self.text.format(*(unit * length for length in self.lengths)) if self.lengths else self.text


class Verdict(NamedTuple):
    """The verdict on the model of a ``Result``; :func:`find_verdict` decides ``success``.

    ``configuration`` is that of the ``Result``. ``doubt`` also says why there is no model. ``remark`` is what else the
    message says.
    """

    success: bool
    configuration: str | None
    doubt: Doubt
    remark: str = ""


class MeasuredModel(NamedTuple):
    """A flat model with its residuals and inliers. All lengths are in the unit of the data.

    ``noise`` is the largest threshold for which the displacements of matches may differ by their noise only.
    Displacements that are random within a search window look like noise at a threshold that is large enough. So an
    estimated threshold needs this limit.
    """

    model: Floats
    threshold: float
    residuals: Floats
    inliers: Bools
    num_inliers: int
    noise: float = np.inf


def find_verdict(
    problem: Problem, data: Floats, measured: MeasuredModel | None, outcome: EngineResult, *, two_views: bool
) -> Verdict:
    """Decide whether the model of a run is a success, and why; there is no model if ``measured`` is None.

    If ``two_views``, the data are matches of two views, and their configuration is determined, too.
    """
    if measured is None:
        return Verdict(False, None, Doubt(_explain_no_model(problem, data.shape[1], outcome)))
    doubt, configuration = _test_support(problem, data, measured)
    if doubt.text and measured.num_inliers < _ROUNDED_SHARE * outcome.score:
        doubt = Doubt(_ROUNDED)
    doubt = _with_missing(problem, data, measured, doubt)
    residuals, threshold, others, repeats = measured.residuals, measured.threshold, 0, False
    if doubt.text == "" and problem.sample_size == problem.channels == 3 and len(problem.points) == 1:
        some = np.random.default_rng(0).permutation(_first_of_inliers(measured, problem, data, threshold))
        some = some[: np.searchsorted(np.cumsum(measured.inliers[some]), SEARCHED)]
        configuration = None if determines_plane(data[:, some], measured.inliers[some], threshold) else "collinear"
    if two_views and configuration is None:
        data = np.ascontiguousarray(data[:4])  # without the verticals
        configuration = find_configuration(problem, data, residuals, threshold, by_chance=doubt.text != "")
    remark = configuration_message(problem, configuration)
    if configuration == "general":
        others, repeats = count_other_support(data, residuals, lower_to_noise(problem, residuals, threshold))
    if others > 0 or repeats:
        configuration = "ambiguous"
        remark += _REPEATS if repeats else _OTHER_SUPPORT.format(others, problem.name)
    elif configuration == "general" and _has_misfit(problem, data, measured):
        configuration = "misfit"
        remark += "; residuals of neighbours are alike, as with lens distortion, a deformation or a wrong model"
    success = doubt.text == "" and configuration != "collinear"
    if success and outcome.restarts > 1 and outcome.stop_reason in _LIMITS:
        remark += _NOT_CONFIRMED
    return Verdict(success, configuration, doubt, remark)


def _has_misfit(problem: Problem, data: Floats, measured: MeasuredModel) -> bool:
    """Return whether the residuals of an epipolar geometry depend on the place, also if equal matches count once."""
    model, inliers, exact = measured.model, measured.inliers, _EXACT * measured.threshold
    if not has_misfit(data, model, inliers, exact):
        return False
    distinct = np.zeros(inliers.size, np.bool_)
    distinct[first_of_equals(_significance_form(problem, data, model)[0], data, measured.threshold)] = True
    return has_misfit(data, model, inliers & distinct, exact)


def is_significant(
    problem: Problem, data: Floats, model: Floats, threshold: float, fast: bool = False, *, noise: float
) -> bool:
    """Return whether a model has more support than chance explains; ``noise`` is that of :class:`MeasuredModel`.

    If ``fast``, only the fast test is made, which some significant models fail.
    """
    residuals = problem.distances(data, model)
    inliers = residuals <= threshold
    if fast:
        problem, data, model = _significance_form(problem, data, model)
        return is_significant_fast(problem, data, model, threshold, inliers, noise)
    measured = MeasuredModel(model, threshold, residuals, inliers, int(inliers.sum()), noise)
    return _test_support(problem, data, measured)[0].text == ""


def plane_motion_verdict(problem: Problem, data: Floats, measured: MeasuredModel) -> Verdict:
    """Return the verdict on a relative pose that was computed from the homography of the inliers."""
    doubt, configuration = _test_support(problem, data, measured)
    success = doubt.text == "" and configuration is None
    remark = ", from the homography of their plane, with which two motions agree"
    return Verdict(success, configuration or "planar", _with_missing(problem, data, measured, doubt), remark)


def _explain_no_model(problem: Problem, n: int, outcome: EngineResult) -> str:
    """Return the message of a run of ``n`` points or matches that found no model."""
    if n < problem.sample_size:
        return f"{problem.name} needs at least {problem.sample_size} data points, got {n}"
    reason = f"none of the {outcome.models_tested} models tested has an inlier"
    if outcome.models_tested == 0:
        flat = "coincident, collinear, coplanar" if _is_map_of_space(problem) else "coincident, collinear"
        reason = f"none of {outcome.iterations} samples gives a valid model ({flat} or contradictory data?)"
    return f"no {problem.name} found: {reason}"


def _test_support(problem: Problem, data: Floats, measured: MeasuredModel) -> tuple[Doubt, str | None]:
    """Test whether chance explains the support, and whether enough inliers are off a line.

    Returns the doubt, and "collinear" or None. With known verticals, the model that keeps them is tested, too. If a map
    of the plane magnifies, the first points are also tested at the scale of the second ones.
    """
    tested, matches, model = _significance_form(problem, data, measured.model)
    if problem.significance_form is not None and _is_beyond_window(problem, data, measured):
        measured = measured._replace(noise=np.inf)  # the form takes the motion out of the displacements
    first = _test(tested, matches, measured._replace(model=model))
    if (first[0].text or first[1]) and problem.denormalize in _OF_PLANES and measured.num_inliers > problem.sample_size:
        x1, x2 = np.var(data[:, measured.inliers], axis=1).reshape(2, 2).sum(axis=1)
        if 0.0 < _MAGNIFIED * x1 < x2:
            scales = np.sqrt([x2 / x1, x2 / x1, 1.0, 1.0])
            scaled = (model.reshape(-1, 3) / scales[:3]).ravel()
            return _test(problem, data * scales[:, None], measured._replace(model=scaled))
    if first[0].text == "" or measured.num_inliers <= problem.sample_size or not has_verticals(problem):
        return first
    model = keep_verticals(tested, data, model, measured.threshold)
    residuals = tested.distances(matches, model)
    inliers = residuals <= measured.threshold
    upright = measured._replace(model=model, residuals=residuals, inliers=inliers, num_inliers=int(inliers.sum()))
    second = _test(of_three_matches(tested), matches, upright)
    return second if second[0].text == "" else first


def _significance_form(problem: Problem, data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the problem, the data and the model of the significance test."""
    return (problem, data, model) if problem.significance_form is None else problem.significance_form(data, model)


def _is_beyond_window(problem: Problem, data: Floats, measured: MeasuredModel) -> bool:
    """Return whether a search window does not explain matches in space: most displacements differ by a threshold."""
    if len(data) != 6 or len(problem.points) != 2 or measured.num_inliers == 0:
        return False
    first, second = (data[list(point)][:, measured.inliers] for point in problem.points)
    displacement = second - first
    differences = displacement - np.median(displacement, axis=1, keepdims=True)
    return bool(np.median(np.linalg.norm(differences, axis=0)) > measured.threshold)


def _test(problem: Problem, data: Floats, measured: MeasuredModel) -> tuple[Doubt, str | None]:
    """Return what ``_test_support`` does, for the model of the significance test."""
    m, nothing = problem.sample_size, Doubt()
    model, threshold, _, inliers, count, noise = measured
    if count <= m:
        return Doubt(_CHANCE), None
    if is_significant_fast(problem, data, model, threshold, inliers, noise):
        return nothing, None
    if (doubt := _explain_large_threshold(problem, data, model, threshold)).text:
        return doubt, None
    distinct = first_of_equals(problem, data, threshold)
    support = distinct[inliers[distinct]]
    if not _is_supported(problem, data, measured, distinct, first_of_equals):
        first_of = partial(_first_of_inliers, measured)
        kept, before = first_of(problem, data, threshold), support.size
        support = kept[inliers[kept]]
        if support.size == before or not _is_supported(problem, data, measured, kept, first_of):
            return Doubt(_explain_shared_points(before, count) + _CHANCE), None
    # The test is for problems with m > 2 whose data are matches or points in space. Two matches determine a similarity
    # and are always on a line; points of the plane on a line determine a line. At least m - 1 points must be off the
    # line. The test of find_configuration has a wider tolerance and requires more points off the line than chance
    # explains, because a long noisy line has some.
    if m > 2 and (len(problem.points) > 1 or any(len(point) > 2 for point in problem.points)):
        for point in problem.points:
            if count_off_line(np.ascontiguousarray(data[list(point)][:, support]), threshold) < m - 1:
                return nothing, "collinear"
    if _is_map_of_space(problem):
        for point in problem.points:
            if count_off_plane(data[list(point)][:, support], threshold) < m - 1:
                return Doubt(" on a plane, which does not determine the map"), None
    return nothing, None


def _is_map_of_space(problem: Problem) -> bool:
    """Return whether the model is an affine map of space, which points on a plane do not determine."""
    return problem.sample_size > 3 and problem.channels == 6 and len(problem.points) == 2


def _explain_large_threshold(problem: Problem, data: Floats, model: Floats, threshold: float) -> Doubt:
    """Return a doubt if a large threshold makes a random point or match an inlier."""
    points = problem.points or [(channel,) for channel in range(problem.channels)]
    boxes = (near_box(np.ascontiguousarray(data[list(point)]), GRID) for point in points)  # without far data
    extent = min(float(np.ptp(box, axis=0).max()) for box in boxes)
    if threshold <= _SMALL * extent:
        return Doubt()
    null_model = add_neighbours(measure_far(problem, data, model), problem, data, model, threshold)
    chance = float(null_model.probability(np.array([threshold]))[0])
    if chance < _USELESS:
        return Doubt()
    return Doubt(
        ", but the threshold of {:.3g} is too large for data with an extent of {:.3g}: "
        f"a random data point is an inlier with probability {chance:.2f}",
        (threshold, extent),
    )


def _explain_shared_points(distinct: int, count: int) -> str:
    """Return a text on the number of inliers that share no point with others."""
    if distinct > 0.5 * count:
        return "" if distinct == count else f" ({distinct} without a common point)"
    return (
        f", but only {distinct} of them at distinct points: points repeat, or the threshold is large compared with "
        "their distances"
    )


def _with_missing(problem: Problem, data: Floats, measured: MeasuredModel, doubt: Doubt) -> Doubt:
    """Return the doubt; if chance is the only reason, say how many more inliers few data need at least.

    These have the largest residual of the inliers. A model of few data fits them better than others, so that more may
    be needed. The search, which tests many models, has no use for this number.
    """
    n, count = data.shape[1], measured.num_inliers
    if doubt.text != _CHANCE or not 2 <= n <= _FEW or 2 * count < n:
        return doubt
    problem, data, model = _significance_form(problem, data, measured.model)
    m = problem.sample_size
    if count < m:
        return doubt
    exactness = np.maximum(np.sort(measured.residuals[measured.inliers]), _EXACT * measured.threshold)
    alpha = measure_far(problem, data, model).probabilities(exactness)[0]
    for more in range(1, _MOST_MISSING + 1):
        extended = np.append(alpha, np.full(more, alpha[-1]))
        none = np.zeros(extended.size, np.bool_)
        if log_nfa(extended, extended, none, (n + more, 0), m, problem.max_models) < SIGNIFICANT:
            return Doubt(f"{_CHANCE}: at least {more} more {'inliers are' if more > 1 else 'inlier is'} needed")
    return doubt


def _first_of_inliers(measured: MeasuredModel, problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the indices of all outliers, and of inliers that share no point with each other."""
    kept = measured.residuals > threshold
    inliers = np.flatnonzero(~kept)
    kept[inliers[first_of_equals(problem, np.take(data, inliers, axis=1), threshold)]] = True
    return np.flatnonzero(kept)


def _is_supported(problem: Problem, data: Floats, measured: MeasuredModel, kept: Ints, first_of: _FirstOf) -> bool:
    """Return whether the support within a share of the threshold is more than chance gives.

    Of points or matches that share a point, only those of ``first_of`` count: the first, inlier or not, or the first
    inlier and all outliers. The second is the stronger test of nearest neighbours, whose wrong matches share points
    with right ones. ``kept`` are the data that count at the threshold itself.
    """
    model, threshold, residuals, noise = measured.model, measured.threshold, measured.residuals, measured.noise
    null_model = None
    for share in _SHARES:
        within = share * threshold
        if share != 1.0:
            before, kept = kept, first_of(problem, data, within)
            null_model = null_model if np.array_equal(before, kept) else None
        thinned, residuals_kept = np.take(data, kept, axis=1), residuals[kept]
        support = np.flatnonzero(residuals_kept <= within)
        if support.size <= problem.sample_size:
            continue
        support = support[np.argsort(residuals_kept[support], kind="stable")]
        exactness = np.maximum(residuals_kept[support], _EXACT * within)
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
    first, following = null_model.probabilities(exactness)
    follows = null_model.follows[support]
    return log_nfa(first, following, follows, (n - n_following, n_following), m, models) < SIGNIFICANT
