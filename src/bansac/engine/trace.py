"""The course of a run: what every iteration did, and the probabilities at the paper's iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bansac.numeric.arrays import Floats, Ints

__all__ = ["SNAPSHOTS", "TRACE_COLUMNS", "Recorder", "Trace"]

# The iterations after which the paper draws the probabilities (fig:prob_update, fig:curve_example).
SNAPSHOTS = (0, 2, 4, 9, 10, 11, 14, 100, 1000, 10000)

# What the loop records of an iteration.
TRACE_COLUMNS = (
    "inlier_ratio",
    "gamma",
    "best_score",
    "best_inliers",
    "low_probability",
    "outliers",
    "required_iterations",
)


@dataclass(frozen=True, eq=False)
class Trace:
    """The course of a run: one entry an iteration in every array.

    Parameters
    ----------
    inlier_ratio : (K,) ndarray of float
        Inlier ratio of the iteration's best model; NaN where no model passed the checks and the verification.
    gamma : (K,) ndarray of float
        P(c = inlier | x = inlier) in the update; NaN where there was none.
    best_score : (K,) ndarray of float
        Score of the best model so far.
    best_inliers : (K,) ndarray of int
        Inliers of the best model so far.
    low_probability : (K,) ndarray of int
        Data with a probability below tau (the paper's O-tilde).
    outliers : (K,) ndarray of int
        Outliers of the best model so far (the paper's O*).
    required_iterations : (K,) ndarray of float
        Iterations that the counting criteria ask for; inf where there is none.
    snapshots : mapping of int to (N,) ndarray of float
        Beliefs (P^k of the sampler) after 0, 2, 4, 9, 10, 11, 14, 100, 1000, 10000 iterations and after the last one.
    """

    inlier_ratio: Floats
    gamma: Floats
    best_score: Floats
    best_inliers: Ints
    low_probability: Ints
    outliers: Ints
    required_iterations: Floats
    snapshots: Mapping[int, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of recorded iterations."""
        return len(self.inlier_ratio)


class Recorder:
    """Collects the rows of the trace and the probabilities at the paper's iterations.

    Parameters
    ----------
    order : (N,) ndarray of int64
        The caller's index of every datum.
    """

    def __init__(self, order: Ints) -> None:
        self._order = order
        self._parts: list[Floats] = []
        self._snapshots: dict[int, Floats] = {}
        self._start = 0
        self.rows = np.empty((0, len(TRACE_COLUMNS)))

    def begin(self, iterations: int, length: int, probabilities: Floats) -> int:
        """Make room for the next slice and end it at the next snapshot."""
        if iterations == 0:
            self._snapshots[0] = self._unshuffle(probabilities)
        length = min([length] + [at - iterations for at in SNAPSHOTS if at > iterations])
        self._start = iterations
        self.rows = np.empty((length, len(TRACE_COLUMNS)))
        return length

    def end(self, iterations: int, probabilities: Floats) -> None:
        """Keep what the slice has recorded."""
        self._parts.append(self.rows[: iterations - self._start])
        self._snapshots = {at: p for at, p in self._snapshots.items() if at in SNAPSHOTS}
        self._snapshots[iterations] = self._unshuffle(probabilities)

    def trace(self) -> Trace:
        """Return the record of the whole run."""
        columns = dict(zip(TRACE_COLUMNS, np.concatenate(self._parts).T, strict=True))
        for name in ("best_inliers", "low_probability", "outliers"):
            columns[name] = columns[name].astype(np.int64)
        return Trace(**columns, snapshots=self._snapshots)

    def _unshuffle(self, probabilities: Floats) -> Floats:
        """Return the probabilities in the caller's order."""
        unshuffled = np.empty_like(probabilities)
        unshuffled[self._order] = probabilities
        return unshuffled
