"""The threshold of a run: the given one, or one that follows the residuals of significant models.

:mod:`.noise_scale` has the estimate, and ``bansac.engine.search`` decides when it is made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.cheirality_score import score_in_full
from bansac.engine.state import State
from bansac.evidence.noise_scale import estimate_threshold, threshold_bounds
from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem

# If the noise of most points is below this number of thresholds, points further away are not used.
_WINDOW = 6.0
# A threshold above this share of the largest one is at the bound.
_NEARLY = 0.98


class AdaptiveThreshold:
    """The threshold of a run, in the frame of the run; it is written to the state.

    ``first`` is the first threshold. It is estimated if there is a significance test, unless ``is_estimated`` is False.
    The test is :meth:`bansac.engine.frame.Frame.is_significant`.
    """

    def __init__(
        self,
        problem: Problem,
        state: State,
        first: float,
        is_significant: Callable[[Floats, float, bool], bool] | None = None,
        *,
        is_estimated: bool = True,
    ) -> None:
        self._problem, self._state, self._is_significant = problem, state, is_significant
        self._bounds = threshold_bounds(problem, first, state.data)
        self.first = self.value = first
        self.is_estimated = is_significant is not None and is_estimated

    def write(self, value: float) -> None:
        """Write a threshold to the state."""
        self.value = value
        self._state.settings["squared_threshold"] = self.value * self.value

    def make_best(self, packed: Any, model: Floats, threshold: float) -> bool:
        """Make a model the best one of the state at another threshold; return False if too few points are inliers.

        ``packed`` is the state as the struct for the kernels.
        """
        self.write(threshold)
        progress, is_inlier = self._state.progress, np.empty(self._state.odds.size, np.bool_)
        self._state.best_model[:] = model
        progress["best_score"] = score_in_full(packed, model, is_inlier)
        progress["best_inliers"] = inliers = np.count_nonzero(is_inlier)
        return bool(inliers > self._problem.sample_size)

    def is_trustworthy(self, model: Floats, fast: bool = False) -> bool:
        """Return whether a model has more support than chance explains, and its residuals are not too large."""
        assert self._is_significant is not None
        if not self._is_significant(model, self.value, fast):
            return False
        # Outliers, such as those of a closed curve, may not be uniform in the wide window.
        windows, largest = (np.inf, _WINDOW), self._bounds[1]
        return any(self.estimate(model, w, raised=False) < _NEARLY * min(w * self.value, largest) for w in windows)

    def widest(self, model: Floats) -> float:
        """Return the threshold estimated from all residuals of a model, but no smaller one than is given."""
        found = self.estimate(model, np.inf)
        return found if self.is_estimated else max(found, self.first)

    def estimate(self, model: Floats, window: float = _WINDOW, *, raised: bool = True) -> float:
        """Return the threshold estimated from the residuals of a model within this number of thresholds.

        That of few matches is larger if ``raised``.
        """
        residuals, (smallest, largest) = self._problem.distances(self._state.data, model), self._bounds
        bounds = smallest, min(window * self.value, largest)
        return estimate_threshold(residuals, self._problem, bounds, raised=raised and len(self._problem.points) > 1)
