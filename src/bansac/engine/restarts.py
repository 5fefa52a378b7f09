"""Restarts of a run: each starts from the prior, and the model with the highest weighted score is the result.

If the network has high probabilities for the inliers of a wrong model, it keeps drawing from them, whatever the number
of iterations. A restart from the prior does not depend on the restarts before it.

:meth:`Restarts.over` decides when the restarts end:

* the iterations of all restarts together have reached ``max_iterations``;
* or ``restarts`` restarts are done;
* or ``agreement`` restarts have led to the same model. One less is enough if most points are its inliers and the
  problem has ``majority_agrees``. If the threshold is estimated, the model must be significant.

The last two apply from ``min_iterations`` on. Easy data need one or two short restarts, hard data need all. The search
(``bansac.engine.search``) also ends the restarts at ``max_seconds``.

The refined models of the restarts are compared by their weighted scores. A weighted score is the score over the matches
in front of the cameras (``bansac.engine.cheirality_score``) times the plausibility of the model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bansac.engine.options import Options
from bansac.engine.state import State
from bansac.maths.arrays import Bools, Floats

__all__ = ["RestartModel", "Restarts", "SavedState", "is_same", "iterations_to_confirm"]

# Length of the first restart in iterations, or longer if all restarts together would not use the budget. The length is
# doubled with every second restart.
_RESTART_ITERATIONS = 300
_MOST_GROWING = 64

# A model with a plausibility below _PLAUSIBLE is likely to be wrong. It needs _IMPLAUSIBLE_RESTARTS times more agreeing
# restarts.
_PLAUSIBLE = 0.9
_IMPLAUSIBLE_RESTARTS = 2

# A model with a larger inlier ratio needs one agreeing restart less: no model with other inliers can have more.
_MAJORITY = 0.5

# Fewest iterations of a restart that agrees with an initial model.
_FEWEST = 25

# Two models are the same if the intersection of their inlier sets is at least this share of the union.
_SAME = 0.9


def _growth(count: int) -> int:
    """Return the length of a restart after ``count`` others, in lengths of the first: 1, 1, 2, 2, 4, 4, ..."""
    return 1 << min(count // 2, 30)


class RestartModel(NamedTuple):
    """The refined model of a restart, in the frame of the run."""

    model: Floats
    score: float
    weighted_score: float
    plausibility: float
    is_inlier: Bools
    inliers: int


class Restarts:
    """The best model of the restarts so far, and the sums over them.

    Parameters
    ----------
    options : Options
        The options of the run, with ``max_iterations`` set.
    majority_agrees : bool
        The property of the problem.
    """

    def __init__(self, options: Options, majority_agrees: bool = True) -> None:
        assert options.max_iterations is not None
        self._options, self._majority_agrees = options, majority_agrees
        self._budget = int(options.max_iterations)
        self._grows = options.restart_iterations is None
        shares = sum(_growth(k) for k in range(min(options.restarts, _MOST_GROWING)))
        self._first = options.restart_iterations or max(_RESTART_ITERATIONS, math.ceil(self._budget / shares))
        self._agreeing = 0
        self.count = 0
        self.iterations = 0
        self.models_tested = 0
        self.best: RestartModel | None = None
        self._initial: RestartModel | None = None
        self.is_latest = False  # whether the latest restart has the best model
        self.is_trusted = True  # whether restarts may agree on it
        self._best_state: list[tuple[Any, Any]] = []
        self._aside: tuple[RestartModel | None, int, list[tuple[Any, Any]]] = None, 0, []

    def begin_with(self, initial: RestartModel) -> None:
        """Start from a significant initial model; a restart that leads to it agrees with it."""
        self.best = self._initial = initial
        self._agreeing, self.is_trusted = 1, True

    @property
    def initial(self) -> RestartModel | None:
        """The initial model as long as it is the best one and no restart agrees with it."""
        return self._initial if self.best is self._initial and self._agreeing == 1 else None

    def iterations_left(self) -> int:
        """Return the maximum number of iterations of the next restart."""
        longest = self._first * _growth(self.count) if self._grows else self._first
        return min(self._budget - self.iterations, longest)

    def end_restart(self, state: State, candidate: RestartModel | None) -> None:
        """Count a restart, and keep its model if it has the highest weighted score."""
        self.count += 1
        self.iterations += int(state.progress["iterations"])
        self.models_tested += int(state.progress["models_tested"])
        if candidate is None:
            self.is_latest = False
            return
        if self.best is not None and is_same(candidate.is_inlier, self.best.is_inlier):
            self._agreeing += 1
        elif self.best is None or candidate.weighted_score > self.best.weighted_score:
            self._agreeing = 1
        self.is_latest = self.best is None or candidate.weighted_score > self.best.weighted_score
        if self.is_latest:
            self.best = candidate

    def keep_best(self, state: State) -> None:
        """Save the probabilities of the sampler before the next restart if the latest restart has the best model."""
        if self.is_latest:
            arrays = (state.odds, state.sampler_numbers, state.sampler_indices)
            self._best_state = [(array, array.copy()) for array in arrays]

    def restore_best(self) -> None:
        """Restore the probabilities of the sampler from the end of the restart with the best model."""
        if not self.is_latest:
            for array, values in self._best_state:
                array[...] = values

    def trust(self) -> None:
        """Let restarts agree from now on; earlier models have another threshold and are discarded."""
        self.is_trusted, self.best, self._agreeing = True, None, 0

    def swap_best(self) -> bool:
        """Exchange the best model and the one set aside, and what belongs to them; return whether there is one."""
        self._aside, aside = (self.best, self._agreeing, self._best_state), self._aside
        self.best, self._agreeing, self._best_state = aside
        self.is_latest = False
        return self.best is not None

    def agree(self) -> bool:
        """Return whether enough restarts have led to the best model."""
        if self.best is None or not self.is_trusted:
            return False
        if self._options.restarts == 1:
            return self._initial is not None and self._agreeing > 1
        if self.best.plausibility < _PLAUSIBLE:
            return self._agreeing >= _IMPLAUSIBLE_RESTARTS * self._options.agreement
        majority = self._majority_agrees and self.best.inliers > _MAJORITY * self.best.is_inlier.size
        return self._agreeing >= self._options.agreement - majority

    def over(self) -> bool:
        """Return whether there is no further restart.

        Before ``min_iterations`` only the budget of iterations ends the restarts.
        """
        if self.iterations >= self._budget:
            return True
        enough = self.iterations >= self._options.min_iterations
        return enough and (self.agree() or self.count >= self._options.restarts)


def is_same(first: Bools, second: Bools) -> bool:
    """Return whether two models with these masks of inliers are the same."""
    both = int(np.count_nonzero(first & second))
    return both >= _SAME * (int(np.count_nonzero(first)) + int(np.count_nonzero(second)) - both)


def iterations_to_confirm(initial: RestartModel, most: int, sample_size: int, confidence: float) -> tuple[int, ...]:
    """Return the numbers of iterations after which a restart ends if it has led to the initial model.

    They are half of the iterations that a search requires for as many inliers, and all of them. ``most`` is the maximum
    for the restart.
    """
    all_inlier = (initial.inliers / initial.is_inlier.size) ** sample_size
    required = min(math.log1p(-confidence) / math.log1p(-min(all_inlier, confidence)), most)
    return max(_FEWEST, math.ceil(0.5 * required)), max(2 * _FEWEST, math.ceil(required))


class SavedState:
    """A copy of the state before the first restart, from which every restart starts.

    Parameters
    ----------
    state : State
        The state before its first iteration. ``pack_run`` must have been called, because it writes to the records.
    """

    def __init__(self, state: State) -> None:
        arrays = (state.memory, state.odds, state.sampler_numbers, state.sampler_indices, state.stop_indices)
        self._arrays = [(array, array.copy()) for array in arrays if array.size > 0]

    def restore(self) -> None:
        """Reset the state to that before the first restart, except the random generator."""
        for array, first in self._arrays:
            array[...] = first
