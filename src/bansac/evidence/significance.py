"""Significance of a model: whether its data support it more than chance explains, and the reason if they do not.

:func:`judge` makes the fast test first (:mod:`.fast_test`). If it fails, the number of false alarms decides
(:mod:`.false_alarms`): its null model is measured on rearranged data (:mod:`.null_model`). Of data that share a point,
one counts (:mod:`.duplicate_points`).
"""

import enum
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from bansac.evidence.duplicate_points import count_off_line, count_off_plane, first_of_equals
from bansac.evidence.false_alarms import SIGNIFICANT, log_nfa
from bansac.evidence.fast_test import is_significant_fast
from bansac.evidence.null_model import NullModel, add_neighbours, measure_far
from bansac.evidence.vertical import has_verticals, keep_verticals, of_three_matches
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.extent import GRID, near_box
from bansac.problems.affine import AFFINE
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem

_FirstOf: TypeAlias = Callable[[Problem, Floats, float], Ints]

EXACT = 1e-3
"""Smaller residuals are raised to this share of the threshold, because they are due to rounding."""
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

# Of at most _FEW data, the number of further inliers that a success needs at least is told, up to _MOST_MISSING.
_FEW, _MOST_MISSING = 20, 10


class Reason(enum.Enum):
    """The result of the test of a model: it is significant, or the reason why it is not.

    The inliers of a ``COLLINEAR`` model are significant, but lie on a line.
    """

    SIGNIFICANT = enum.auto()
    COLLINEAR = enum.auto()
    CHANCE = enum.auto()
    LARGE_THRESHOLD = enum.auto()
    COPLANAR = enum.auto()
    ROUNDED = enum.auto()


class Judgement(NamedTuple):
    """The reason, and the numbers that explain it; ``extent`` is a length in the unit of the data.

    ``distinct`` is the number of inliers that share no point. ``chance`` is the probability that a random point or
    match is an inlier.
    """

    reason: Reason
    distinct: int = 0
    extent: float = 0.0
    chance: float = 0.0

    @property
    def is_significant(self) -> bool:
        """Whether chance does not explain the support."""
        return self.reason in (Reason.SIGNIFICANT, Reason.COLLINEAR)


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


def is_significant(
    problem: Problem, data: Floats, model: Floats, threshold: float, fast: bool = False, *, noise: float
) -> bool:
    """Return whether a model has more support than chance explains; ``noise`` is that of :class:`MeasuredModel`.

    If ``fast``, only the fast test is made, which some significant models fail.
    """
    residuals = problem.distances(data, model)
    inliers = residuals <= threshold
    if fast:
        problem, data, model = significance_form(problem, data, model)
        return is_significant_fast(problem, data, model, threshold, inliers, noise)
    measured = MeasuredModel(model, threshold, residuals, inliers, int(inliers.sum()), noise)
    return judge(problem, data, measured).is_significant


def judge(problem: Problem, data: Floats, measured: MeasuredModel) -> Judgement:
    """Test whether chance explains the support, and whether enough inliers are off a line.

    With known verticals, the model that keeps them is tested, too. If a map of the plane magnifies, the first points
    are also tested at the scale of the second ones.
    """
    tested, matches, model = significance_form(problem, data, measured.model)
    if problem.significance_form is not None and _is_beyond_window(problem, data, measured):
        measured = measured._replace(noise=np.inf)  # the form takes the motion out of the displacements
    first = _test(tested, matches, measured._replace(model=model))
    enough = measured.num_inliers > problem.sample_size
    if first.reason is not Reason.SIGNIFICANT and problem.denormalize in _OF_PLANES and enough:
        x1, x2 = np.var(data[:, measured.inliers], axis=1).reshape(2, 2).sum(axis=1)
        if 0.0 < _MAGNIFIED * x1 < x2:
            scales = np.sqrt([x2 / x1, x2 / x1, 1.0, 1.0])
            scaled = (model.reshape(-1, 3) / scales[:3]).ravel()
            second = _test(problem, data * scales[:, None], measured._replace(model=scaled))
            return second if second.is_significant else first
    if first.is_significant or not enough or not has_verticals(problem):
        return first
    model = keep_verticals(tested, data, model, measured.threshold)
    residuals = tested.distances(matches, model)
    inliers = residuals <= measured.threshold
    upright = measured._replace(model=model, residuals=residuals, inliers=inliers, num_inliers=int(inliers.sum()))
    second = _test(of_three_matches(tested), matches, upright)
    return second if second.is_significant else first


def significance_form(problem: Problem, data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
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


def _test(problem: Problem, data: Floats, measured: MeasuredModel) -> Judgement:
    """Return what :func:`judge` does, for the model of the significance test."""
    m = problem.sample_size
    model, threshold, _, inliers, count, noise = measured
    if count <= m:
        return Judgement(Reason.CHANCE, count)
    if is_significant_fast(problem, data, model, threshold, inliers, noise):
        return Judgement(Reason.SIGNIFICANT)
    if (useless := _large_threshold(problem, data, model, threshold)) is not None:
        return useless
    # Of data that share a point the first one counts. If chance then explains the support, all outliers and the first
    # inliers count, which is the stronger test of nearest neighbours: wrong matches share points with right ones.
    distinct = first_of_equals(problem, data, threshold)
    support = distinct[inliers[distinct]]
    if not _is_supported(problem, data, measured, distinct, first_of_equals):
        first_of = partial(first_of_inliers, measured)
        kept, before = first_of(problem, data, threshold), support.size
        support = kept[inliers[kept]]
        if support.size == before or not _is_supported(problem, data, measured, kept, first_of):
            return Judgement(Reason.CHANCE, before)
    # The test is for problems with m > 2 whose data are matches or points in space. Two matches determine a similarity
    # and are always on a line; points of the plane on a line determine a line. At least m - 1 points must be off the
    # line. The test of find_configuration has a wider tolerance and requires more points off the line than chance
    # explains, because a long noisy line has some.
    if m > 2 and (len(problem.points) > 1 or any(len(point) > 2 for point in problem.points)):
        for point in problem.points:
            if count_off_line(np.ascontiguousarray(data[list(point)][:, support]), threshold) < m - 1:
                return Judgement(Reason.COLLINEAR)
    if is_map_of_space(problem):
        for point in problem.points:
            if count_off_plane(data[list(point)][:, support], threshold) < m - 1:
                return Judgement(Reason.COPLANAR)
    return Judgement(Reason.SIGNIFICANT)


def is_map_of_space(problem: Problem) -> bool:
    """Return whether the model is an affine map of space, which points on a plane do not determine."""
    return problem.sample_size > 3 and problem.channels == 6 and len(problem.points) == 2


def _large_threshold(problem: Problem, data: Floats, model: Floats, threshold: float) -> Judgement | None:
    """Return a judgement if a large threshold makes a random point or match an inlier, else None."""
    points = problem.points or [(channel,) for channel in range(problem.channels)]
    boxes = (near_box(np.ascontiguousarray(data[list(point)]), GRID) for point in points)  # without far data
    extent = min(float(np.ptp(box, axis=0).max()) for box in boxes)
    if threshold <= _SMALL * extent:
        return None
    null_model = add_neighbours(measure_far(problem, data, model), problem, data, model, threshold)
    chance = float(null_model.probability(np.array([threshold]))[0])
    return Judgement(Reason.LARGE_THRESHOLD, extent=extent, chance=chance) if chance >= _USELESS else None


def count_missing(problem: Problem, data: Floats, measured: MeasuredModel) -> int:
    """Return the number of further inliers that few data need at least; 0 if there are many data or it is not known.

    These have the largest residual of the inliers. A model of few data fits them better than others, so that more may
    be needed. The search, which tests many models, has no use for this number.
    """
    n, count = data.shape[1], measured.num_inliers
    if not 2 <= n <= _FEW or 2 * count < n:
        return 0
    problem, data, model = significance_form(problem, data, measured.model)
    m = problem.sample_size
    if count < m:
        return 0
    exactness = np.maximum(np.sort(measured.residuals[measured.inliers]), EXACT * measured.threshold)
    alpha = measure_far(problem, data, model).probability(exactness)
    for more in range(1, _MOST_MISSING + 1):
        extended = np.append(alpha, np.full(more, alpha[-1]))
        if log_nfa(extended, n + more, m, problem.max_models) < SIGNIFICANT:
            return more
    return 0


def first_of_inliers(measured: MeasuredModel, problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the indices of all outliers, and of inliers that share no point with each other."""
    kept = measured.residuals > threshold
    inliers = np.flatnonzero(~kept)
    kept[inliers[first_of_equals(problem, np.take(data, inliers, axis=1), threshold)]] = True
    return np.flatnonzero(kept)


def _is_supported(problem: Problem, data: Floats, measured: MeasuredModel, kept: Ints, first_of: _FirstOf) -> bool:
    """Return whether the support within a share of the threshold is more than chance gives.

    ``kept`` are the data that count at the threshold itself, and ``first_of`` returns those at a smaller one.
    """
    model, residuals, noise, null_model = measured.model, measured.residuals, measured.noise, None
    for share in _SHARES:
        within, before = share * measured.threshold, kept
        kept = kept if share == 1.0 else first_of(problem, data, within)
        null_model = null_model if np.array_equal(before, kept) else None
        support = np.sort(residuals[kept][residuals[kept] <= within])
        if support.size <= problem.sample_size:
            continue
        thinned, exactness = np.take(data, kept, axis=1), np.maximum(support, EXACT * within)
        null_model = null_model or measure_far(problem, thinned, model)
        if not _exceeds_chance(problem, null_model, exactness):
            continue
        # Neighbours and displacements can only raise the NFA, and take most of the time.
        complete = add_neighbours(null_model, problem, thinned, model, within, noise)
        if noise < within and complete.moved.size > 0 and np.mean(complete.moved <= within) > _USELESS:
            continue
        if _exceeds_chance(problem, complete, exactness):
            return True
    return False


def _exceeds_chance(problem: Problem, null_model: NullModel, exactness: Floats) -> bool:
    """Return whether the null model does not explain a support with these residuals, in ascending order."""
    alpha = null_model.probability(exactness)
    return log_nfa(alpha, null_model.n, problem.sample_size, problem.max_models) < SIGNIFICANT
