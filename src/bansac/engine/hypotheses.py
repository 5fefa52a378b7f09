"""Hypotheses of a run: the models that its restarts led to, and when the restarts end.

If the network has high probabilities for the inliers of a wrong model, it keeps drawing from them, whatever the number
of iterations. A restart from the prior does not depend on the restarts before it. Its refined model confirms a
hypothesis, if the two have nearly the same inliers, or is a new one. Models with the same inliers may be different
local optima. So their scores must be nearly the same, too, if the problem does not have ``majority_agrees``.

Hypotheses of the same threshold are compared by their weighted scores: the score over the matches in front of the
cameras (``bansac.engine.cheirality_score``) times the plausibility of the model. A score at one threshold does not
compare structures of different noise: at the threshold of a fine structure, a larger and coarser one loses its inliers.
So hypotheses of different thresholds are compared by their significance over all thresholds.

:meth:`Hypotheses.over` decides when the restarts end:

* the iterations of all restarts together have reached ``max_iterations``;
* or ``restarts`` restarts are done;
* or ``agreement`` restarts have led to the best hypothesis. Half of them are enough if most points are its inliers and
  the problem has ``majority_agrees``. If the threshold is estimated, the model must be significant;
* or twice as many restarts have led to a model that chance explains, at the first and at the wide threshold.

The last three apply from ``min_iterations`` on. Easy data need one or two short restarts, hard data need all. The
search (``bansac.engine.search``) then challenges the best hypothesis, and also ends the restarts at ``max_seconds``.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from bansac.engine.options import Options
from bansac.evidence.rivals import RIVAL, is_same
from bansac.maths.arrays import Bools, Floats

# Length of the first restart in iterations, or longer if all restarts together would not use the budget. The length is
# doubled with every second restart, of which at most _MOST_GROWING are planned.
_RESTART_ITERATIONS = 300
_MOST_GROWING = 64

# A model with a plausibility below _PLAUSIBLE is likely to be wrong. It needs _IMPLAUSIBLE_RESTARTS times as many
# agreeing restarts.
_PLAUSIBLE = 0.9
_IMPLAUSIBLE_RESTARTS = 3

# If no model is significant, the restarts end after this many times as many agreeing restarts, at each threshold.
_HOPELESS_RESTARTS = 2

# A model with a larger inlier ratio needs half of the agreeing restarts: no model with other inliers can have more.
_MAJORITY = 0.5

# Fewest iterations of a restart that agrees with an initial model.
_FEWEST = 25

# Two models are the same local optimum if the difference of their scores is at most this share.
_SAME_SCORE = 0.003

# Largest number of hypotheses.
_MOST_HYPOTHESES = 4

# A challenge samples a structure of the needed size with this probability, if it may be so long.
_CHALLENGE_CONFIDENCE = 0.95


@dataclass(eq=False)
class Hypothesis:
    """A refined model, in the frame of the run.

    ``restarts`` is the number of restarts that led to it. ``is_trusted`` says whether chance does not explain its
    support. ``challenges`` is the number of searches for a better one. ``significance`` is that over all
    thresholds, NaN until it is compared. ``learnt`` are arrays of the sampler with copies from the end of its restart.
    """

    model: Floats
    threshold: float
    score: float
    weighted_score: float
    plausibility: float
    is_inlier: Bools
    inliers: int
    restarts: int = 1
    is_trusted: bool = True
    challenges: int = 0
    significance: float = math.nan
    learnt: list[tuple[Any, Any]] = field(default_factory=list)


class Hypotheses:
    """The hypotheses of a run, best first, and the sums over its restarts.

    The options have a number of iterations; ``majority_agrees`` is the property of the problem.
    """

    def __init__(self, options: Options, majority_agrees: bool = True) -> None:
        assert options.max_iterations is not None
        assert options.agreement is not None
        self._options, self._majority_agrees = options, majority_agrees
        self.budget, self._agreement = int(options.max_iterations), int(options.agreement)
        self._grows = options.restart_iterations is None
        restarts = min(options.restarts, _MOST_GROWING)
        shares = (2 + restarts % 2) * 2 ** (restarts // 2) - 2  # 1 + 1 + 2 + 2 + 4 + 4 + ...
        self._first = options.restart_iterations or max(_RESTART_ITERATIONS, math.ceil(self.budget / shares))
        self.ranked: list[Hypothesis] = []
        self.count = 0
        self.iterations = 0
        self.models_tested = 0
        self._initial: Hypothesis | None = None

    @property
    def best(self) -> Hypothesis | None:
        """The best hypothesis, None if there is none."""
        return self.ranked[0] if self.ranked else None

    @property
    def is_trusted(self) -> bool:
        """Whether the best hypothesis is significant."""
        return bool(self.ranked) and self.ranked[0].is_trusted

    @property
    def initial(self) -> Hypothesis | None:
        """The initial model as long as it is the best one and no restart agrees with it."""
        initial = self._initial
        return initial if initial is not None and self.best is initial and initial.restarts == 1 else None

    def begin_with(self, initial: Hypothesis) -> None:
        """Start from a significant initial model; a restart that leads to it confirms it."""
        self.ranked, self._initial = [initial], initial

    def next_length(self) -> int:
        """Return the maximum number of iterations of the next restart."""
        longest = self._first << min(self.count // 2, 30) if self._grows else self._first  # times 1, 1, 2, 2, 4, 4, ...
        return min(self.budget - self.iterations, longest)

    def count_restart(self, progress: Any, *, is_challenge: bool = False) -> None:
        """Count the iterations and models of a restart, and the restart unless it challenges the best hypothesis."""
        self.count += not is_challenge
        self.iterations += int(progress["iterations"])
        self.models_tested += int(progress["models_tested"])

    def agree(self, old: Hypothesis, new: Hypothesis) -> bool:
        """Return whether a new hypothesis confirms an old one."""
        if not is_same(old.is_inlier, new.is_inlier):
            return False
        return self._majority_agrees or math.isclose(old.weighted_score, new.weighted_score, rel_tol=_SAME_SCORE)

    def competitor_of(self, new: Hypothesis) -> Hypothesis | None:
        """Return the hypothesis of the same structure or, until one is significant, of the same threshold."""
        if self.is_trusted:
            return next((old for old in self.ranked if is_same(old.is_inlier, new.is_inlier)), None)
        return next((old for old in self.ranked if old.threshold == new.threshold), None)

    def add(self, new: Hypothesis, old: Hypothesis | None, *, leads: bool, confirms: bool) -> None:
        """Add the hypothesis of a restart: as the best one if it leads, in place of the one of the same structure.

        If it does not lead, it may confirm the old one. The first significant one replaces all others.
        """
        if old is not None:
            new.challenges = old.challenges
            if confirms:
                old.restarts = new.restarts = old.restarts + 1
        if leads:
            others = (h for h in self.ranked if h is not old and (h.is_trusted or not new.is_trusted))
            self.ranked = [new, *others][:_MOST_HYPOTHESES]
        elif old is None and new.is_trusted:
            self.ranked = [*self.ranked[: _MOST_HYPOTHESES - 1], new]

    def is_confirmed(self) -> bool:
        """Return whether enough restarts have led to the best hypothesis."""
        best, options = self.best, self._options
        if best is None or not best.is_trusted:
            return False
        if options.restarts == 1:
            return self._initial is not None and best.restarts > 1
        if best.plausibility < _PLAUSIBLE:
            return best.restarts >= _IMPLAUSIBLE_RESTARTS * self._agreement
        if self._majority_agrees and best.inliers > _MAJORITY * best.is_inlier.size:
            return best.restarts >= self._agreement // 2
        return best.restarts >= self._agreement

    def is_hopeless(self) -> bool:
        """Return whether restarts lead to the same models again and again, although chance explains their support."""
        needed = _HOPELESS_RESTARTS * self._agreement
        return bool(self.ranked) and not self.is_trusted and all(h.restarts >= needed for h in self.ranked)

    def over(self) -> bool:
        """Return whether there is no further restart.

        Before ``min_iterations`` only the budget of iterations ends the restarts.
        """
        if self.iterations >= self.budget:
            return True
        enough = self.iterations >= self._options.min_iterations
        return enough and (self.is_confirmed() or self.is_hopeless() or self.count >= self._options.restarts)


def challenge_length(best: Hypothesis, others: int, sample_size: int, most: int, share: float) -> int:
    """Return the number of iterations, at most ``most``, to search ``others`` data for a better hypothesis or a rival.

    They sample a structure with a share of the inliers that the best has, but no more than half of the data. A rival
    has a quarter at least. Returns 0 if there are too few data.
    """
    least = max(RIVAL * best.inliers, sample_size + 1.0)
    if least >= others:
        return int(least == others)
    needed = max(min(share * best.inliers, 0.5 * others), least)
    all_inlier = (needed / others) ** sample_size
    return min(math.ceil(math.log1p(-_CHALLENGE_CONFIDENCE) / math.log1p(-all_inlier)), most)


def iterations_to_confirm(initial: Hypothesis, most: int, sample_size: int, confidence: float) -> tuple[int, ...]:
    """Return the numbers of iterations after which a restart ends if it has led to the initial model.

    They are half of the iterations that a search requires for as many inliers, and all of them. ``most`` is the maximum
    for the restart.
    """
    all_inlier = (initial.inliers / initial.is_inlier.size) ** sample_size
    required = min(math.log1p(-confidence) / math.log1p(-min(all_inlier, confidence)), most)
    return max(_FEWEST, math.ceil(0.5 * required)), max(2 * _FEWEST, math.ceil(required))
