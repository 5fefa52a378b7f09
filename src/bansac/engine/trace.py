"""The trace of a run: a record of each iteration, the beliefs at the paper's iterations, and frames for a replay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.maths.arrays import Bools, Floats, Ints

# The iterations after which the paper draws the probabilities (fig:prob_update, fig:curve_example).
SNAPSHOTS = (0, 2, 4, 9, 10, 11, 14, 100, 1000, 10000)

# Largest number of frames at equal distances, and of frames at the ends of restarts. Snapshots have additional frames.
_FRAMES = 64


@dataclass(frozen=True, eq=False)
class Trace:
    """The trace of a run: arrays of length K have one entry per iteration.

    Parameters
    ----------
    inlier_ratio : (K,) ndarray of float
        Inlier ratio of the iteration's best model; NaN if no model passed the checks and the verification.
    gamma : (K,) ndarray of float
        P(c = inlier | x = inlier) of the update; NaN without an update.
    best_score : (K,) ndarray of float
        Score of the best model so far.
    best_inliers : (K,) ndarray of int
        Inliers of the best model so far.
    low_probability : (K,) ndarray of int
        Number of points with a probability below tau (the paper's O-tilde).
    outliers : (K,) ndarray of int
        Outliers of the best model so far (the paper's O*).
    required_iterations : (K,) ndarray of float
        Smallest number of iterations that a stopping criterion requires; inf if there is none.
    snapshots : mapping of int to (N,) ndarray of float
        Beliefs (P^k of the sampler) after 0, 2, 4, 9, 10, 11, 14, 100, 1000, 10000 iterations and after the last one.
    restart : (K,) ndarray of int
        Restart of each iteration, from 1.
    frames : (F,) ndarray of int
        Iterations after which a frame was kept, some dozens: 0, those of the snapshots, others at equal distances, and
        the last iteration of each of the first 64 restarts.
    frame_beliefs : (F, N) ndarray of uint8
        Beliefs at the frames, in units of 1 / 255.
    frame_inliers : (F, N) ndarray of bool
        Inliers of the best model so far in the frame's restart.
    ends : (R,) ndarray of str
        Reason for the end of each restart: the name of a stopping criterion, "restart_iterations" or "max_seconds".
        It is "duplicate" if the best model was found again, and "challenge" for a search for a better model than the
        best one, which counts as a restart here only.
    criteria : (C,) ndarray of str
        Names of the stopping criteria of a restart.
    """

    inlier_ratio: Floats
    gamma: Floats
    best_score: Floats
    best_inliers: Ints
    low_probability: Ints
    outliers: Ints
    required_iterations: Floats
    snapshots: Mapping[int, Floats] = field(default_factory=dict)
    restart: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    frames: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    frame_beliefs: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 0), np.uint8))
    frame_inliers: Bools = field(default_factory=lambda: np.empty((0, 0), np.bool_))
    ends: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    criteria: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))

    def __len__(self) -> int:
        """Return the number of recorded iterations."""
        return len(self.inlier_ratio)

    def __repr__(self) -> str:
        """Summarise the trace in a line."""
        return f"Trace({len(self)} iterations, {len(self.ends)} restarts, {len(self.frames)} frames)"


# The fields that the loop records in each iteration.
TRACE_COLUMNS = tuple(Trace.__dataclass_fields__)[:7]


class Recorder:
    """A recorder of the rows of the trace, the beliefs at the paper's iterations, and the frames."""

    def __init__(self, order: Ints) -> None:
        self._order = order  # the caller's index of every point
        self._members = order  # those of the data of the restart
        self._parts: list[Floats] = []
        self._lengths: list[int] = []  # iterations of each restart
        self._snapshots: dict[int, Floats] = {}
        self._frames: dict[int, tuple[NDArray[np.uint8], Bools]] = {}
        self._distance = 1  # between the frames at equal distances
        self._ends: set[int] = set()  # last iterations of the restarts
        self._start = 0
        self.reasons: list[str] = []  # for the end of each restart
        self.rows = np.empty((0, len(TRACE_COLUMNS)))

    def begin_restart(self, members: Bools | None = None) -> None:
        """Begin a restart on the data of a mask, and mark the last frame as the end of the previous restart."""
        self._members = self._order if members is None else self._order[members]
        if self._frames and len(self._ends) < _FRAMES:
            self._ends.add(max(self._frames))
        self._lengths.append(0)

    def begin(self, iterations: int, length: int, beliefs: Floats) -> int:
        """Allocate the rows of the next slice; return its length, which ends at the next snapshot or frame."""
        if iterations == 0:
            self._snapshots[0] = self._unshuffle(beliefs)
            self._add_frame(0, beliefs, np.zeros(beliefs.size, np.bool_))
        length = min(length, self._distance - iterations % self._distance)
        length = min([length] + [at - iterations for at in SNAPSHOTS if at > iterations])
        self._start = iterations
        self.rows = np.empty((length, len(TRACE_COLUMNS)))
        return length

    def end(self, iterations: int, beliefs: Floats, inliers: Bools) -> None:
        """Store the rows of the slice, and the beliefs and the best model's inliers after it."""
        self._parts.append(self.rows[: iterations - self._start])
        self._lengths[-1] += iterations - self._start
        self._snapshots = {at: p for at, p in self._snapshots.items() if at in SNAPSHOTS}
        self._snapshots[iterations] = self._unshuffle(beliefs)
        self._add_frame(iterations, beliefs, inliers)

    def trace(self, criteria: Sequence[str]) -> Trace:
        """Return the trace of the whole run, with the names of the stopping criteria of a restart."""
        columns = dict(zip(TRACE_COLUMNS, np.concatenate(self._parts).T, strict=True))
        for name in ("best_inliers", "low_probability", "outliers"):
            columns[name] = columns[name].astype(np.int64)
        beliefs, inliers = zip(*self._frames.values(), strict=True)
        return Trace(
            **columns,
            snapshots=self._snapshots,
            restart=np.repeat(np.arange(1, len(self._lengths) + 1), self._lengths),
            frames=np.array(list(self._frames)),
            frame_beliefs=np.array(beliefs),
            frame_inliers=np.array(inliers),
            ends=np.array(self.reasons, np.str_),
            criteria=np.array(criteria, np.str_),
        )

    def _add_frame(self, iterations: int, beliefs: Floats, inliers: Bools) -> None:
        """Add a frame, and remove frames between those at the present distance."""
        while iterations > _FRAMES * self._distance:
            self._distance *= 2
        self._frames = {
            at: frame
            for at, frame in self._frames.items()
            if at in SNAPSHOTS or at in self._ends or at % self._distance == 0
        }
        self._frames[iterations] = self._unshuffle(np.rint(255 * beliefs).astype(np.uint8)), self._unshuffle(inliers)

    def _unshuffle(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the points in the caller's order; 0 for those that are not data of the restart."""
        unshuffled = np.zeros(self._order.size, values.dtype)
        unshuffled[self._members] = values
        return unshuffled
