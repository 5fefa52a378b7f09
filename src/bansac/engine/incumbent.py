"""The optimised model of a round that has the most support: its score times its plausibility.

The loop compares scores, and a wrong model may have a higher score than the right one and be less plausible, or have
been repaired for the worse. So every optimised model of a run competes here. The best score of the run is the support
of the incumbent, so that the loop brings forward what might have more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bansac.engine.state import State
from bansac.numeric.arrays import Floats

__all__ = ["Incumbent"]

# What the loop knows of its best model, apart from the score.
_KNOWN = ("best_inliers", "required_iterations", "required_by")


class Incumbent:
    """The optimised model with the most support.

    Parameters
    ----------
    state : State
        The context, whose best model competes.
    plausible : callable, optional
        The plausibility of a model, a factor of its support; None if all are equal.
    """

    def __init__(self, state: State, plausible: Callable[[Floats], float] | None) -> None:
        self._state = state
        self._plausible = plausible
        self._model = np.empty_like(state.best_model)
        self._known: tuple[float, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Forget the model: a round begins."""
        self._score = self._support = -np.inf

    def compete(self) -> bool:
        """Make the best model of the run the incumbent if it has more support, else bring the incumbent back."""
        state, progress = self._state, self._state.progress
        score = float(progress["best_score"])
        support = score if self._plausible is None else score * self._plausible(state.best_model)
        won = support > self._support
        if won:
            self._model[:] = state.best_model
            self._score, self._support = score, support
            self._known = tuple(progress[name].item() for name in _KNOWN)
        else:
            state.best_model[:] = self._model
            for name, value in zip(_KNOWN, self._known, strict=True):
                progress[name] = value
        progress["best_score"] = self._support
        return won

    def settle(self) -> None:
        """Bring back the score of the incumbent: the last step of a round compares scores."""
        if self._support > -np.inf:
            self._state.progress["best_score"] = self._score
