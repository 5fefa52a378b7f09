"""The settings of a comparison, one pair of images as a method gets it, and the errors of what it answers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import normalize_points, recover_pose
from bansac.lab.metrics import corner_error, rotation_error, translation_error, visible_area_error
from bansac.lab.sets import PairSet
from bansac.matches import Matches
from bansac.problems.table import Kind

Array = NDArray[np.float64]

# Of the visible area every fourth row and column is looked at, which saves time: the error of a homography varies
# slowly over an image.
_PIXEL_STEP = 4


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Settings of a comparison; a value out of its range is a ValueError here, and not one of each method."""

    kind: Kind
    threshold: float  # pixels for H and F, normalised units for E
    max_iterations: int
    confidence: float = 0.999
    max_ratio: float  # matches with an SNN ratio below this are used
    min_matches: int = 26  # pairs with fewer are left out
    pairs: int = 43  # maximum number of pairs of a set, evenly spaced over its sorted keys; the bench's
    repeats: int  # runs of every pair, with the seeds 0, 1, ...; the bench's

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("threshold", "max_ratio"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must be in (0, 1), got {self.confidence}")
        for name in ("max_iterations", "min_matches", "pairs", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


DEFAULTS: dict[Kind, Protocol] = {
    "H": Protocol(kind="H", threshold=1.0, max_iterations=1000, max_ratio=0.6, repeats=5),
    "F": Protocol(kind="F", threshold=0.5, max_iterations=10000, max_ratio=0.85, repeats=2),
    "E": Protocol(kind="E", threshold=1e-3, max_iterations=1000, max_ratio=0.85, repeats=2),
}
"""The paper's settings; ratios, numbers of pairs and repeats are the bench's."""


def usable_pairs(pair_set: PairSet, protocol: Protocol) -> Iterator[Matches]:
    """Yield the pairs of a set that a protocol takes: their matches below its ratio, where there are enough."""
    for pair in pair_set.pairs(protocol.pairs):
        chosen = pair.filtered(protocol.max_ratio)
        if len(chosen) >= protocol.min_matches:
            yield chosen


@dataclass(frozen=True)
class Task:
    """What a method gets: the matches of one pair, and the settings."""

    kind: Kind
    x1: Array  # (N, 2) float64, in pixels; for E in normalised units (K^-1 applied)
    x2: Array
    scores: Array  # (N,): 1 - SNN ratio
    threshold: float  # largest residual of an inlier, in the unit of the points
    confidence: float  # desired probability of having seen the best model
    max_iterations: int  # maximum number of minimal samples
    seed: int
    size1: tuple[int, int] | None = None  # height and width of the images, where they are known; not for E
    size2: tuple[int, int] | None = None


def make_task(pair: Matches, protocol: Protocol, seed: int) -> Task:
    """Return the task of a pair whose matches have passed the ratio test, for E on the normalised image planes."""
    if pair.scores is None:
        raise ValueError(f"the pair {pair.key} has no scores")
    calibrated = protocol.kind == "E"
    x1, x2 = _normalised_points(pair) if calibrated else (pair.x1, pair.x2)
    return Task(
        kind=protocol.kind,
        x1=np.ascontiguousarray(x1, np.float64),
        x2=np.ascontiguousarray(x2, np.float64),
        scores=np.clip(pair.scores, 0.0, 1.0),
        threshold=protocol.threshold,
        confidence=protocol.confidence,
        max_iterations=protocol.max_iterations,
        seed=seed,
        size1=None if calibrated else pair.size1,
        size2=None if calibrated else pair.size2,
    )


def best_first(task: Task) -> Task:
    """Return the task with the matches of the highest scores first."""
    order = np.argsort(-task.scores, kind="stable")
    return dataclasses.replace(task, x1=task.x1[order], x2=task.x2[order], scores=task.scores[order])


def judge(model: Array | None, task: Task, pair: Matches) -> dict[str, float]:
    """Return the errors of a 3 x 3 model, in the coordinates of the task, against the truth of the pair.

    For F and E ``rotation_error`` and ``translation_error`` in degrees. For H in pixels ``corner_error``, the mean over
    the corners of image 1, and ``visible_area_error``, the tutorial's: the mean over the pixels of image 1 that image 2
    sees, NaN if the size of image 2 is not known. None, another shape or NaN is a failure: 180 degrees or inf. A pair
    without the truth or the size of image 1 is a ValueError.
    """
    usable = model if model is not None and model.shape == (3, 3) and np.all(np.isfinite(model)) else None
    if task.kind == "H":
        return _homography_errors(usable, pair)
    if pair.R is None or pair.t is None or pair.K1 is None or pair.K2 is None:
        raise ValueError(f"the pair {pair.key} has no pose to be judged by")
    R = t = None
    if usable is not None:
        E = usable if task.kind == "E" else pair.K2.T @ usable @ pair.K1
        R, t, _ = recover_pose(E, *_normalised_points(pair))
    return {"rotation_error": rotation_error(R, pair.R), "translation_error": translation_error(t, pair.t)}


def squared_distances(model: Array, pair: Matches, kind: Literal["H", "F"]) -> Array:
    """Return the squared distance of every match to H (transfer error) or F (Sampson distance), in pixels."""
    from bansac.problems.fundamental import FUNDAMENTAL
    from bansac.problems.homography import HOMOGRAPHY

    problem = HOMOGRAPHY if kind == "H" else FUNDAMENTAL
    data = np.ascontiguousarray(np.column_stack([pair.x1, pair.x2]).T)
    squared = np.empty(len(pair.x1))
    problem.float64_residuals(data, np.array(model, dtype=np.float64).ravel(), 0, len(squared), squared)  # writable
    return squared


def _homography_errors(H: Array | None, pair: Matches) -> dict[str, float]:
    if pair.H is None or pair.size1 is None:
        raise ValueError(f"the pair {pair.key} has no homography or no size of image 1 to be judged by")
    visible_area = math.nan
    if pair.size2 is not None:
        visible_area = visible_area_error(H, pair.H, pair.size1, pair.size2, step=_PIXEL_STEP)
    return {"corner_error": corner_error(H, pair.H, pair.size1), "visible_area_error": visible_area}


def _normalised_points(pair: Matches) -> tuple[Array, Array]:
    """Return the points with K^-1 applied."""
    if pair.K1 is None or pair.K2 is None:
        raise ValueError(f"the pair {pair.key} has no camera matrices")
    return normalize_points(pair.K1, pair.x1), normalize_points(pair.K2, pair.x2)
