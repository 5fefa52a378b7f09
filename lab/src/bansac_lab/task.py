"""Settings of a comparison, task of one image pair, and errors of the estimated model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bansac.geometry import normalise_points, recover_pose
from bansac.matches import Matches
from bansac.problems.estimators import Kind
from bansac_lab.metrics import corner_error, rotation_error, translation_error, visible_area_error
from bansac_lab.peers.library import Array, Task
from bansac_lab.sets import PairSet

# Evaluate every fourth row and column of the visible area: the error of a homography varies slowly over an image.
_PIXEL_STEP = 4


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Settings of a comparison."""

    kind: Kind
    threshold: float  # pixels for H and F, normalised units for E
    max_iterations: int
    confidence: float = 0.999
    max_ratio: float  # matches with an SNN ratio below this are used
    min_matches: int = 26  # pairs with fewer matches are skipped
    pairs: int = 43  # maximum number of pairs of a set, evenly spaced over its sorted keys; used by the bench only
    repeats: int  # runs of every pair, with the seeds 0, 1, ...; used by the bench only


DEFAULTS: dict[Kind, Protocol] = {
    "H": Protocol(kind="H", threshold=1.0, max_iterations=1000, max_ratio=0.6, repeats=5),
    "F": Protocol(kind="F", threshold=0.5, max_iterations=10000, max_ratio=0.85, repeats=2),
    "E": Protocol(kind="E", threshold=1e-3, max_iterations=1000, max_ratio=0.85, repeats=2),
}
"""The paper's settings by model. The ratios and the numbers of pairs and repeats are defaults of the bench."""


def usable_pairs(pair_set: PairSet, protocol: Protocol) -> Iterator[Matches]:
    """Yield the pairs of a set with enough matches below the protocol's ratio, filtered to these matches."""
    for pair in pair_set.pairs(protocol.pairs):
        chosen = pair.filtered(protocol.max_ratio)
        if len(chosen) >= protocol.min_matches:
            yield chosen


def make_task(pair: Matches, protocol: Protocol, seed: int) -> Task:
    """Return the task of a pair that has been filtered by the ratio test; for E the points are normalised."""
    assert pair.scores is not None
    calibrated = protocol.kind == "E"
    x1, x2 = _normalised_points(pair) if calibrated else (pair.x1, pair.x2)
    return Task(
        protocol.kind,
        (np.ascontiguousarray(x1, np.float64), np.ascontiguousarray(x2, np.float64)),
        scores=np.clip(pair.scores, 0.0, 1.0),
        threshold=protocol.threshold,
        confidence=protocol.confidence,
        max_iterations=protocol.max_iterations,
        seed=seed,
        size1=None if calibrated else pair.size1,
        size2=None if calibrated else pair.size2,
    )


def judge(model: Array | None, task: Task, pair: Matches) -> dict[str, float]:
    """Return the errors of a 3 x 3 model, in the coordinates of the task, against the ground truth of the pair.

    For F and E: ``rotation_error`` and ``translation_error`` in degrees. For H: ``corner_error`` and
    ``visible_area_error`` in pixels, the latter NaN if the size of image 2 is unknown. A model that is not usable is a
    failure: 180 or inf.
    """
    usable = model if model is not None and model.shape == (3, 3) and np.all(np.isfinite(model)) else None
    truth: Any = pair
    if task.problem == "H":
        visible_area = math.nan
        if pair.size2 is not None:
            visible_area = visible_area_error(usable, truth.H, truth.size1, pair.size2, step=_PIXEL_STEP)
        return {"corner_error": corner_error(usable, truth.H, truth.size1), "visible_area_error": visible_area}
    R = t = None
    if usable is not None:
        E = usable if task.problem == "E" else truth.K2.T @ usable @ truth.K1
        R, t, _ = recover_pose(E, *_normalised_points(pair))
    return {"rotation_error": rotation_error(R, truth.R), "translation_error": translation_error(t, truth.t)}


def squared_distances(model: Array, pair: Matches, kind: Literal["H", "F"]) -> Array:
    """Return the squared distance of every match to H (transfer error) or F (Sampson distance), in squared pixels."""
    from bansac.problems.fundamental import FUNDAMENTAL
    from bansac.problems.homography import HOMOGRAPHY

    problem = HOMOGRAPHY if kind == "H" else FUNDAMENTAL
    data = np.ascontiguousarray(np.column_stack([pair.x1, pair.x2]).T)
    squared = np.empty(len(pair.x1))
    problem.compiled("residuals")(data, np.array(model, dtype=np.float64).ravel(), 0, len(squared), squared)  # writable
    return squared


def distances_to_truth(pair: Matches, problem: str) -> Array:
    """Return the distance of every match to the true H, or F for other problems, in pixels."""
    model: Any = pair.H if problem == "H" else pair.F
    return np.asarray(np.sqrt(squared_distances(model, pair, "H" if problem == "H" else "F")))


def _normalised_points(pair: Any) -> tuple[Array, Array]:
    """Return the points of a pair with camera matrices in normalised coordinates (K^-1 applied)."""
    return normalise_points(pair.K1, pair.x1), normalise_points(pair.K2, pair.x2)
