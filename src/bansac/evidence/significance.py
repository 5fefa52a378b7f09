"""Significance of a model: whether its data support it more than chance explains, and the reason if they do not.

:func:`judge` makes the fast test first (:mod:`.fast_test`). If it fails, models of random samples of rearranged matches
decide for the maps of points (:mod:`.random_models`). For other models the number of false alarms decides
(:mod:`.false_alarms`), whose null model is measured on rearranged data (:mod:`.null_model`). Few matches of an epipolar
geometry are also compared with searches of rearranged ones. Of data that share a point, one counts
(:mod:`.duplicate_points`).
"""

import enum
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from bansac.evidence.duplicate_points import (
    SMALL,
    count_off_line,
    count_off_plane,
    first_of_equals,
    threshold_of_flat,
)
from bansac.evidence.false_alarms import SIGNIFICANT, binomial_tail, log_nfa
from bansac.evidence.fast_test import is_significant_fast
from bansac.evidence.null_model import REARRANGED, NullModel, add_neighbours, measure_far
from bansac.evidence.random_models import MOST_SEARCHED, Matches, as_matches, count_mirrored, log_nfa_of_rates, log_tail
from bansac.evidence.search_window import fits_window
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.extent import GRID, near_box
from bansac.problems.problem import Problem

_FirstOf: TypeAlias = Callable[[Problem, Floats, float], Ints]

EXACT = 1e-3
"""Smaller residuals are raised to this share of the threshold, because they are due to rounding."""
# The support is tested within these shares of the threshold. If the threshold is large, a support within a smaller one
# shares fewer points, and its neighbours are nearer.
_SHARES = 1.0, 0.5, 0.25
# Largest probability that the model itself has its support on rearranged matches, and that a search of them has it.
_SELDOM, _RARE = 3e-3, 7e-4
# If the threshold is not small, the probability of a random inlier is checked. At _USELESS or above, the inliers prove
# nothing, and neither do they if that of a match with the displacement of another one is as large.
_USELESS = 0.5


class Reason(enum.Enum):
    """The result of the test of a model: it is significant, or the reason why it is not.

    The inliers of a ``COLLINEAR`` model are significant, but lie on a line, so that they do not determine it. Those of
    ``FEW_OFF_LINE`` determine it, but too few are off the line to exclude chance. The same holds for planes. Those of
    ``WINDOW`` are outliers of a search window.
    """

    SIGNIFICANT = enum.auto()
    COLLINEAR = enum.auto()
    FEW_OFF_LINE = enum.auto()
    CHANCE = enum.auto()
    LARGE_THRESHOLD = enum.auto()
    COPLANAR = enum.auto()
    FEW_OFF_PLANE = enum.auto()
    MIRRORED = enum.auto()
    ROUNDED = enum.auto()
    WINDOW = enum.auto()


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
        return self.reason in (Reason.SIGNIFICANT, Reason.COLLINEAR, Reason.FEW_OFF_LINE)


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
    return judge(problem, data, measured, searches=False).is_significant


def judge(problem: Problem, data: Floats, measured: MeasuredModel, *, searches: bool = True) -> Judgement:
    """Test whether chance explains the support, and whether enough inliers are off a line.

    The stricter model of a problem (``Traits``) is tested, too. Without ``searches``, few matches of an epipolar
    geometry are not compared with searches of rearranged ones, which take some milliseconds.
    """
    if fits_window(problem, data, measured.model, measured.threshold, measured.noise):
        return Judgement(Reason.WINDOW)
    form = _Form(problem, data, measured.model, *significance_form(problem, data, measured.model))
    first = _test(form, measured._replace(model=form.model), searches)
    if searches and form.is_map and _is_mirrored(form, measured):
        return Judgement(Reason.MIRRORED)
    stricter = problem.traits.stricter
    if first.is_significant or measured.num_inliers <= problem.sample_size or stricter is None:
        return first
    tested, model = stricter(data, form.model, measured.threshold)
    residuals = tested.distances(form.matches, model)
    inliers = residuals <= measured.threshold
    other = measured._replace(model=model, residuals=residuals, inliers=inliers, num_inliers=int(inliers.sum()))
    second = _test(form._replace(tested=tested), other, searches=False)
    return second if second.is_significant else first


class _Form(NamedTuple):
    """A problem with its data, and the problem, the data and the model of the significance test."""

    problem: Problem
    data: Floats
    own_model: Floats
    tested: Problem
    matches: Floats
    model: Floats

    @property
    def is_map(self) -> bool:
        """Whether the model maps a point of a match to the other one."""
        return self.tested.traits.are_matches and self.tested.traits.codimension > 1


def significance_form(problem: Problem, data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
    """Return the problem, the data and the model of the significance test."""
    return (problem, data, model) if problem.significance_form is None else problem.significance_form(data, model)


def _test(form: _Form, measured: MeasuredModel, searches: bool) -> Judgement:
    """Return what :func:`judge` does, for the model of the significance test."""
    problem, data, m = form.tested, form.matches, form.tested.sample_size
    model, threshold, _, inliers, count, noise = measured
    if count <= m:
        return Judgement(Reason.CHANCE, count)
    if is_significant_fast(problem, data, model, threshold, inliers, noise):
        return Judgement(Reason.SIGNIFICANT)
    if form.is_map:
        data = _at_one_scale(problem, data, inliers)
    useless = _large_threshold(form, threshold)
    if form.is_map:
        is_supported, kept = _exceeds_rates(form, data, measured)
    elif useless is not None:
        return useless
    else:
        is_supported, kept = _exceeds_false_alarms(problem, data, measured)
        if not is_supported and searches and problem.traits.are_matches:
            is_supported = _exceeds_searches(form, measured)
    support = kept[inliers[kept]]
    if not is_supported:
        return useless or Judgement(Reason.CHANCE, support.size)
    return Judgement(_find_flat(problem, data, measured, support, kept.size - support.size))


def _find_flat(problem: Problem, data: Floats, measured: MeasuredModel, support: Ints, outliers: int) -> Reason:
    """Return the reason if nearly all of the support lies on a line, or for a map of space on a plane.

    The test is for problems with m > 2 whose data are matches or points in space. Two matches determine a similarity
    and are always on a line; points of the plane on a line determine a line. At least m - 1 points must be off the
    line. Fewer determine the model: a line fixes all its parameters but those of m - 2 matches, of m - 3 of an epipolar
    geometry, and a plane all but those of m - 3. But if they are no more than the outliers, they may be some of these.
    The test of find_configuration has a wider tolerance and requires more points off the line than chance explains,
    because a long noisy line has some.
    """
    m, traits, reason = problem.sample_size, problem.traits, Reason.SIGNIFICANT
    for point in traits.points if m > 2 and (traits.are_matches or traits.flat) else ():
        x = np.ascontiguousarray(data[list(point)][:, support])
        flat = threshold_of_flat(problem, x, measured.residuals, measured.threshold)
        off = count_off_line(x, flat)
        if off < m - 1:
            free = m - 2 - (traits.are_matches and traits.codimension == 1)
            if off < free or off <= outliers:
                return Reason.COLLINEAR
            reason = Reason.FEW_OFF_LINE
        elif reason is not Reason.FEW_OFF_LINE and traits.flat == "plane":
            off = count_off_plane(x, flat)
            if off < m - 1 and reason is not Reason.COPLANAR:
                reason = Reason.COPLANAR if off < m - 3 or off <= outliers else Reason.FEW_OFF_PLANE
    return reason


def _at_one_scale(problem: Problem, data: Floats, inliers: Bools) -> Floats:
    """Return matches with the first points scaled to the spread of the second ones, which have the threshold's unit."""
    first, second = (list(point) for point in problem.traits.points)
    scaled, (x1, x2) = data.copy(), (np.sum(np.var(data[point][:, inliers], axis=1)) for point in (first, second))
    if 0.0 < x1 < np.inf and x2 > 0.0:
        scaled[first] *= np.sqrt(x2 / x1)
    return scaled


def _matches(form: _Form, measured: MeasuredModel, kept: Ints) -> Matches:
    """Return the matches that count, with the problem whose samples give models."""
    data, distances = np.take(form.data, kept, axis=1), measured.residuals[kept]
    return as_matches(form.problem, data, distances, measured.threshold, form.tested.traits.points[0])


def _exceeds_rates(form: _Form, data: Floats, measured: MeasuredModel) -> tuple[bool, Ints]:
    """Return whether models of rearranged matches do not explain the support, and the indices of those that count."""
    kept = first_of_inliers(measured, form.tested, data, measured.threshold)
    is_rare = _is_rare(form, measured, kept)
    return is_rare and log_nfa_of_rates(_matches(form, measured, kept), EXACT) < SIGNIFICANT, kept


def _exceeds_searches(form: _Form, measured: MeasuredModel) -> bool:
    """Return whether searches of rearranged matches do not explain the support of an epipolar geometry."""
    kept = first_of_inliers(measured, form.tested, form.matches, measured.threshold)
    is_rare = kept.size <= MOST_SEARCHED and _is_rare(form, measured, kept)
    level = math.log(_RARE)
    return is_rare and log_tail(_matches(form, measured, kept), EXACT, level) < level


def _is_rare(form: _Form, measured: MeasuredModel, kept: Ints) -> bool:
    """Return whether the model seldom has its support on rearranged matches, whatever other models have.

    Degenerate models of grids, and of matches that another structure explains, are seldom among few samples.
    """
    problem, data, model = form.problem, form.data, form.own_model
    if not problem.traits.are_matches or form.tested.channels != problem.channels:  # its points have several units
        problem, data, model = form.tested, form.matches, form.model
    m, n, thinned = problem.sample_size, kept.size, np.take(data, kept, axis=1)
    support = np.sort(measured.residuals[kept][measured.inliers[kept]])
    if support.size <= m:
        return False
    null_model = measure_far(problem, thinned, model)
    null_model = add_neighbours(null_model, problem, thinned, model, measured.threshold, measured.noise)
    alpha = null_model.probability(np.maximum(support, EXACT * measured.threshold))
    level, sizes = _SELDOM / (support.size - m), range(support.size, m, -1)
    return alpha[-1] < _USELESS and any(binomial_tail(k - m, n - m, alpha[k - 1]) < level for k in sizes)


def _is_mirrored(form: _Form, measured: MeasuredModel) -> bool:
    """Return whether a model of mirrored matches has more than twice the inliers within some share of the threshold.

    It has more than half of the inliers of the tested model. A motion agrees with a reflection on a line of an image,
    on a plane of space, and on a flat cloud if the threshold is as large as the cloud is high. Maps with as many
    parameters as an affine one include reflections.
    """
    n, m, dimensions = measured.inliers.size, form.problem.sample_size, len(form.problem.traits.points[-1])
    if m * form.problem.traits.codimension >= dimensions * (dimensions + 1):
        return False
    some = _matches(form, measured, np.arange(0, n, 1 + n // REARRANGED))
    within = np.ldexp(some.threshold, np.arange(-9, 1))
    own = np.searchsorted(np.sort(some.distances), within, side="right")
    least = np.maximum(2 * own, max(int(some.inliers.sum()) // 2, m))
    return bool(np.any(count_mirrored(some, within) > least))


def _large_threshold(form: _Form, threshold: float) -> Judgement | None:
    """Return a judgement if a large threshold makes a random point or match an inlier, else None."""
    problem, data = form.tested, form.matches
    points = problem.traits.points[-1:] if form.is_map else problem.traits.points
    points = points or tuple((channel,) for channel in range(problem.channels))
    boxes = (near_box(np.ascontiguousarray(data[list(point)]), GRID) for point in points)  # without far data
    extent = min(float(np.ptp(box, axis=0).max()) for box in boxes)
    if threshold <= SMALL * extent:
        return None
    null_model = add_neighbours(measure_far(problem, data, form.model), problem, data, form.model, threshold)
    chance = float(null_model.probability(np.array([threshold]))[0])
    return Judgement(Reason.LARGE_THRESHOLD, extent=extent, chance=chance) if chance >= _USELESS else None


def first_of_inliers(measured: MeasuredModel, problem: Problem, data: Floats, threshold: float) -> Ints:
    """Return the indices of all outliers, and of inliers that share no point with each other."""
    kept = measured.residuals > threshold
    inliers = np.flatnonzero(~kept)
    kept[inliers[first_of_equals(problem, np.take(data, inliers, axis=1), threshold)]] = True
    return np.flatnonzero(kept)


def _exceeds_false_alarms(problem: Problem, data: Floats, measured: MeasuredModel) -> tuple[bool, Ints]:
    """Return whether the false alarms do not explain the support, and the indices of the data that count.

    Of data that share a point the first one counts. If chance then explains the support, all outliers and the first
    inliers count, which is the stronger test of nearest neighbours: wrong matches share points with right ones.
    """
    distinct = first_of_equals(problem, data, measured.threshold)
    if _is_supported(problem, data, measured, distinct, first_of_equals):
        return True, distinct
    first_of = partial(first_of_inliers, measured)
    kept = first_of(problem, data, measured.threshold)
    more = np.count_nonzero(measured.inliers[kept]) > np.count_nonzero(measured.inliers[distinct])
    if more and _is_supported(problem, data, measured, kept, first_of):
        return True, kept
    return False, distinct


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
