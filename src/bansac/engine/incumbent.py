"""The optimised model of a round that has the most support: its score times its plausibility.

The loop compares scores, and a wrong model may have a higher score than the right one and be less plausible, or have
been repaired for the worse. So every optimised model of a run competes here. The best score of the run is the support
of the incumbent, so that the loop brings forward what might have more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.engine.state import Run, State
from bansac.numeric.arrays import Floats
from bansac.numeric.jit import kernel
from bansac.numeric.linalg import copy

__all__ = ["Incumbent"]

# What is known of the model: its score and its support, and what the loop knows of it apart from its score.
_SCORE, _SUPPORT, _INLIERS, _REQUIRED, _REQUIRED_BY = range(5)


class Incumbent:
    """The optimised model with the most support.

    Parameters
    ----------
    state : State
        The context, whose best model competes.
    packed : struct
        The same as the kernels take it.
    plausible : callable, optional
        The plausibility of a model, a factor of its support; None if all are equal.
    """

    def __init__(self, state: State, packed: Any, plausible: Callable[[Floats], float] | None) -> None:
        self._state = state
        self._packed = packed
        self._plausible = plausible
        self._model = np.empty_like(state.best_model)
        self._known = np.empty(5)
        self.reset()

    def reset(self) -> None:
        """Forget the model: a round begins."""
        self._known[_SUPPORT] = -np.inf

    def compete(self) -> bool:
        """Make the best model of the run the incumbent if it has more support, else bring the incumbent back."""
        plausibility = 1.0 if self._plausible is None else self._plausible(self._state.best_model)
        return bool(_compete(self._packed, plausibility, self._model, self._known))

    def settle(self) -> None:
        """Bring back the score of the incumbent: the last step of a round compares scores."""
        if self._known[_SUPPORT] > -np.inf:
            self._state.progress["best_score"] = self._known[_SCORE]


@kernel
def _compete(run: Run, plausibility: float, model: Floats, known: Floats) -> bool:
    """Keep the one with more support of the best model and the incumbent (``model``, ``known``), as both of them."""
    progress = run.progress
    support = progress.best_score * plausibility
    won: bool = support > known[_SUPPORT]
    if won:
        copy(run.best_model, model)
        known[_SCORE], known[_SUPPORT] = progress.best_score, support
        known[_INLIERS], known[_REQUIRED] = progress.best_inliers, progress.required_iterations
        known[_REQUIRED_BY] = progress.required_by
    else:
        copy(model, run.best_model)
        progress.best_inliers, progress.required_iterations = np.int64(known[_INLIERS]), known[_REQUIRED]
        progress.required_by = np.int64(known[_REQUIRED_BY])
    progress.best_score = known[_SUPPORT]
    return won
