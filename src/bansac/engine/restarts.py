"""Restarts of a run: each starts from fresh probabilities, and the model with the highest weighted score is the answer.

A network that believes a wrong model draws from the inliers of that model, whatever the number of iterations; a second
start from the prior does not depend on the first. Restarts share the budget of iterations. They end when several of
them lead to the same model, one less if most of the data are its inliers: easy data need a short restart or two, hard
ones get all.

The refined models of the restarts are compared by their weighted scores: the score over the matches in front of the
cameras (``bansac.engine.cheirality_score``) times the plausibility of the model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bansac.engine.options import Options
from bansac.engine.state import State
from bansac.numeric.arrays import Bools, Floats

__all__ = ["Candidate", "Restarts", "SavedState"]

# Samples of a restart at most, unless the budget allows for more: what a network has not found by then it seldom finds.
_RESTART_ITERATIONS = 300

# Of a model that is less plausible than this, which is likely to be wrong, so many times as many restarts have to
# agree.
_PLAUSIBLE = 0.9
_IMPLAUSIBLE_RESTARTS = 2

# A model of a larger share of the data is one restart more likely to be right: no other one can have as many inliers.
_MAJORITY = 0.5

# Two models are the same if the intersection of their inliers is that share of the union.
_SAME = 0.95


class Candidate(NamedTuple):
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
        With a number of iterations.
    """

    def __init__(self, options: Options) -> None:
        assert options.max_iterations is not None
        self._options = options
        self._budget = int(options.max_iterations)
        self._longest = options.restart_iterations or max(
            _RESTART_ITERATIONS, math.ceil(self._budget / options.restarts)
        )
        self._agreeing = 0
        self.count = 0
        self.iterations = 0
        self.models_tested = 0
        self.best: Candidate | None = None
        self._is_latest = False
        self._best_state: list[tuple[Any, Any]] = []

    def iterations_left(self) -> int:
        """Return the maximum number of iterations of the next restart."""
        return min(self._budget - self.iterations, self._longest)

    def end_restart(self, state: State, candidate: Candidate | None) -> None:
        """Count a restart, and keep its model if it has the highest weighted score."""
        self.count += 1
        self.iterations += int(state.progress["iterations"])
        self.models_tested += int(state.progress["models_tested"])
        if candidate is None:
            self._is_latest = False
            return
        if self.best is not None and _is_same(candidate, self.best):
            self._agreeing += 1
        elif self.best is None or candidate.weighted_score > self.best.weighted_score:
            self._agreeing = 1
        self._is_latest = self.best is None or candidate.weighted_score > self.best.weighted_score
        if self._is_latest:
            self.best = candidate

    def keep_best(self, state: State) -> None:
        """Keep what the sampler has learnt, before another restart, if the latest one has the best model."""
        if self._is_latest:
            arrays = (state.odds, state.sampler_numbers, state.sampler_indices)
            self._best_state = [(array, array.copy()) for array in arrays]

    def restore_best(self) -> None:
        """Bring back what the sampler had learnt at the end of the restart of the best model."""
        if not self._is_latest:
            for array, values in self._best_state:
                array[...] = values

    def agree(self) -> bool:
        """Whether enough restarts have led to the best model."""
        if self.best is None or self._options.restarts == 1:
            return False
        if self.best.plausibility < _PLAUSIBLE:
            return self._agreeing >= _IMPLAUSIBLE_RESTARTS * self._options.agreement
        majority = self.best.inliers > _MAJORITY * self.best.is_inlier.size
        return self._agreeing >= self._options.agreement - majority

    def over(self) -> bool:
        """Whether there is no further restart; none is the last one before the minimum number of iterations."""
        if self.iterations >= self._budget:
            return True
        enough = self.iterations >= self._options.min_iterations
        return enough and (self.agree() or self.count >= self._options.restarts)


def _is_same(first: Candidate, second: Candidate) -> bool:
    """Whether two models have nearly the same inliers."""
    both = int(np.count_nonzero(first.is_inlier & second.is_inlier))
    return both >= _SAME * (first.inliers + second.inliers - both)


class SavedState:
    """What a restart starts from, kept before the first one.

    Parameters
    ----------
    state : State
        The state before its first iteration, after ``pack_run``, which writes into its records.
    """

    def __init__(self, state: State) -> None:
        arrays = (state.memory, state.odds, state.sampler_numbers, state.sampler_indices, state.stop_indices)
        self._arrays = [(array, array.copy()) for array in arrays if array.size > 0]

    def restore(self) -> None:
        """Undo what the restarts so far have learnt; the random numbers go on."""
        for array, first in self._arrays:
            array[...] = first
