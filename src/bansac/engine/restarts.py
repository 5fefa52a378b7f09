"""The plan of a run: what the next restart searches, and when there is none.

If the network has high probabilities for the inliers of a wrong model, it keeps drawing from them, whatever the number
of iterations. A restart from the prior does not depend on the restarts before it. It leads to a refined model, a
*hypothesis*, which is a *duplicate* of the best one if the two have nearly the same inliers.

:func:`next_restart` decides by the hypotheses and the counts so far:

* A restart is on all data, or on the matches that neighbours support (``bansac.evidence.neighbours``). It leaves out
  the data near hypotheses that have lost, unless they are inliers of the best one.
* The restarts end if enough of them have led to the best hypothesis and it is significant, if they lead to models that
  chance explains again and again, or at a limit of the options.
* Then, or after a round of restarts, an *alternative* of the best hypothesis is searched: among the data that are not
  near any hypothesis, and, if the best one may fit several structures of less noise, also among the data near it, at a
  smaller threshold. The latter search draws uniformly, because neighbours may agree on the mixture.
"""

import enum
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bansac.engine.frame import Frame
from bansac.evidence.noise_scale import WIDE
from bansac.evidence.random_models import NEAR
from bansac.evidence.rivals import FINER, RIVAL
from bansac.maths.arrays import Bools, Floats

# Length of the first restart in iterations, or longer if all restarts together would not use the budget. Every second
# restart doubles the length. At most _MOST_GROWING restarts are planned.
_RESTART_ITERATIONS, _MOST_GROWING = 300, 64

# A model with a larger inlier ratio needs half of the agreeing restarts: no model with other inliers can have more.
_MAJORITY = 0.5

# If models with other inliers may fit nearly as well, scores of duplicates differ by at most this share.
_SAME_SCORE = 0.003

# The first restart of a round is on all matches, the others on those with more neighbours than chance gives. After a
# round, an alternative of a significant hypothesis is searched, although it is not confirmed.
_ROUND = 4

# A search for an alternative samples a structure of the needed size with this probability, if it may be so long: it has
# at most _LONGEST models, or _LONGEST_FINER iterations at a smaller threshold. PART of that size is among its data.
_CONFIDENCE, _LONGEST, _LONGEST_FINER, PART = 0.95, 600, 1500, 0.75


@dataclass(eq=False)
class Hypothesis:
    """A refined model."""

    model: Floats  # in the frame of the run
    threshold: float  # in the unit of the data
    score: float
    weighted_score: float  # score over the matches in front of the cameras, times the plausibility
    is_inlier: Bools
    distances: Floats  # of the data from the model
    inliers: int
    is_significant: bool  # chance does not explain its support
    restarts: int = 1  # that led to it, without the caller's initial model
    is_initial: bool = False
    is_window: bool = False  # its inliers are outliers of a search window (``bansac.evidence.search_window``)
    searched: int = 0  # 1 after the search of other data, and 1 more after each search for less noise
    significance: float = math.nan  # over all thresholds; NaN until it is compared
    beliefs: Floats | None = None  # of the sampler at the end of its restart

    @property
    def is_near(self) -> Bools:
        """The mask of the data within three thresholds of it."""
        return self.distances <= NEAR * self.threshold


class Purpose(enum.Enum):
    """What a restart is for: the best model, an alternative of other data, or an alternative of less noise."""

    BEST = enum.auto()
    OTHER_DATA = enum.auto()
    LESS_NOISE = enum.auto()


class RestartPlan(NamedTuple):
    """What a restart searches."""

    members: Bools | None  # mask of its data, None for all
    threshold: float  # in the unit of the data
    iterations: int  # at most
    with_prior: bool  # starts from the prior, else from equal odds
    learns: bool  # updates the network
    purpose: Purpose = Purpose.BEST
    least: int = 0  # inliers among all data from which on a model is of use


@dataclass(eq=False)
class History:
    """The restarts of a frame so far: the hypotheses, best first, and the sums over the restarts."""

    frame: Frame
    ranked: list[Hypothesis] = field(default_factory=list)
    count: int = 0
    iterations: int = 0
    models_tested: int = 0

    @property
    def best(self) -> Hypothesis | None:
        """The best hypothesis, None if there is none."""
        return self.ranked[0] if self.ranked else None

    @property
    def is_significant(self) -> bool:
        """Whether the best hypothesis is significant."""
        return bool(self.ranked) and self.ranked[0].is_significant

    def is_same_optimum(self, first: float, second: float) -> bool:
        """Return whether two scores may be those of the same optimum, for models with nearly the same inliers."""
        return self.frame.problem.majority_agrees or math.isclose(first, second, rel_tol=_SAME_SCORE)

    def is_confirmed(self) -> bool:
        """Return whether enough restarts have led to the best hypothesis, and it is significant."""
        best, rules = self.best, self.frame.options.restart_rules
        needed = int(rules.agreement)
        if best is None or not best.is_significant or best.restarts == 0:
            return False
        if rules.limit == 1:
            return best.is_initial
        majority = self.frame.problem.majority_agrees and best.inliers > _MAJORITY * self.frame.order.size
        return best.restarts + best.is_initial >= (needed // 2 if majority else needed)

    def is_over(self) -> bool:
        """Return whether no restart is left, apart from a search for an alternative.

        Before ``min_iterations`` only the budget of iterations ends the restarts. If restarts lead to the same models
        again and again although chance explains them, at each threshold that was tried, more would do the same. But
        outliers of a search window may hide another model.
        """
        options, rules = self.frame.options, self.frame.options.restart_rules
        if self.iterations >= self.budget:
            return True
        has_tried_all = self.count > self.frame.is_estimated  # thresholds: the second restart has the wide one
        is_hopeless = bool(self.ranked) and not self.is_significant and has_tried_all
        is_hopeless = is_hopeless and all(h.restarts >= int(rules.agreement) and not h.is_window for h in self.ranked)
        enough = self.iterations >= options.min_iterations
        return enough and (self.is_confirmed() or is_hopeless or self.count >= int(rules.limit))

    @property
    def budget(self) -> int:
        """The largest number of iterations of all restarts."""
        assert self.frame.options.max_iterations is not None
        return int(self.frame.options.max_iterations)

    def next_length(self) -> int:
        """Return the largest number of iterations of the next restart: 1, 1, 2, 2, 4, 4, ... times the first one."""
        rules = self.frame.options.restart_rules
        if rules.iterations != "default":
            return min(self.budget - self.iterations, rules.iterations)
        restarts = min(int(rules.limit), _MOST_GROWING)
        shares = (2 + restarts % 2) * 2 ** (restarts // 2) - 2
        first = max(_RESTART_ITERATIONS, math.ceil(self.budget / shares))
        return int(min(self.budget - self.iterations, first << min(self.count // 2, 30)))


def next_restart(history: History) -> RestartPlan | None:
    """Return the plan of the next restart; None if the run is over."""
    is_over = history.is_over()
    plan = _plan_alternative(history) if is_over or history.count >= _ROUND else None
    return plan if plan is not None or is_over else _plan_restart(history)


def _plan_alternative(history: History) -> RestartPlan | None:
    """Return the plan to search for an alternative of the best hypothesis; None if nothing is left to search."""
    best, options, plan = history.best, history.frame.options, None
    if best is None or not best.is_significant or options.restart_rules.limit == 1 or not options.sampler_row.adaptive:
        return None
    if best.searched == 0:
        plan = _plan_other_data(history, best)
    return _plan_less_noise(history, best) if plan is None else plan


def _plan_restart(history: History) -> RestartPlan:
    """Return the plan of a restart for the best model.

    Until a hypothesis is significant, the restarts alternate between the first threshold and a wide one, because the
    noise may be larger than expected, and those of a round that are on all data do not learn, except the first restart,
    because outliers that agree may hold the network. Instead of the wide threshold, those after a search window leave
    out its inliers.
    """
    count, best, is_significant, frame = history.count, history.best, history.is_significant, history.frame
    is_complete = count % (_ROUND if count <= _ROUND or is_significant else 2) == 0
    members = None if is_complete else history.frame.supported
    with_prior = count == 0 or not is_complete or history.frame.supported is None
    threshold, windows = frame.threshold, [h for h in history.ranked if h.is_window]
    if best is not None and is_significant:
        if frame.is_estimated:
            threshold = best.threshold if best.restarts > 0 else max(frame.threshold, best.threshold)
        if len(history.ranked) > 1:
            kept = best.is_inlier | ~_near(history, 1)
            members = kept if members is None else members & kept
    elif windows and count % 2:
        members = ~np.any([h.is_inlier for h in windows], axis=0)
    elif frame.is_estimated and count % 2:
        threshold *= WIDE
    if members is not None and not frame.problem.sample_size < np.count_nonzero(members) < frame.order.size:
        members = None
    learns = is_significant or count == 0 or not is_complete
    return RestartPlan(members, threshold, history.next_length(), with_prior, learns)


def _plan_other_data(history: History, best: Hypothesis) -> RestartPlan | None:
    """Return the plan to search the data that are not near any hypothesis; a long search is on supported ones."""
    members, most = ~_near(history), min(history.next_length(), _LONGEST // history.frame.problem.max_models)
    least = _least(history, best)
    length = alternative_length(least, int(np.count_nonzero(members)), history.frame.problem.sample_size, most)
    if length == most and history.frame.supported is not None:
        members &= history.frame.supported
        part = max(int(PART * least), history.frame.problem.sample_size + 1)
        length = alternative_length(part, int(np.count_nonzero(members)), history.frame.problem.sample_size, most)
    threshold = max(history.frame.threshold, best.threshold)
    plan = RestartPlan(members, threshold, length, True, True, Purpose.OTHER_DATA, least)
    return plan if length > 0 else None


def finer_threshold(best: Hypothesis, first: float, k: int = 1) -> float | None:
    """Return the k-th of 2, 4, 8, ... first thresholds; None if it is not less than half of that of the best one."""
    threshold = first * 2.0**k
    return threshold if threshold < FINER * best.threshold else None


def _plan_less_noise(history: History, best: Hypothesis) -> RestartPlan | None:
    """Return the plan to search for a structure of less noise, in all data not near hypotheses that have lost."""
    threshold = finer_threshold(best, history.frame.threshold, max(best.searched, 1))
    if threshold is None:
        return None
    members, most = ~_near(history, 1), min(history.budget - history.iterations, _LONGEST_FINER)
    least = _least(history, best)
    length = alternative_length(least, int(np.count_nonzero(members)), history.frame.problem.sample_size, most)
    plan = RestartPlan(members, threshold, length, False, False, Purpose.LESS_NOISE, least)
    return plan if length > 0 else None


def _least(history: History, best: Hypothesis) -> int:
    """Return the smallest number of inliers of an alternative."""
    return max(history.frame.problem.sample_size + 1, int(RIVAL * best.inliers))


def _near(history: History, first: int = 0) -> Bools:
    """Mark the data that are near one of the hypotheses, from the first of these ranks on."""
    near = np.zeros(history.frame.order.size, np.bool_)
    for hypothesis in history.ranked[first:]:
        near |= hypothesis.is_near
    return near


def alternative_length(least: int, others: int, sample_size: int, most: int) -> int:
    """Return the number of iterations to sample ``least`` inliers among others, at most ``most``, 0 if too few."""
    if least >= others:
        return 0
    all_inlier = (least / others) ** sample_size
    return min(math.ceil(math.log1p(-_CONFIDENCE) / math.log1p(-all_inlier)), most)
