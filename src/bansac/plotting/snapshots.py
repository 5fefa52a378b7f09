"""The snapshots of a run that the panels of a figure show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.validate import as_probabilities

_Array = NDArray[np.float64]


def snapshot_panels(snapshots: Mapping[int, ArrayLike], iterations: Sequence[int], n: int) -> list[tuple[str, _Array]]:
    """Return title and probabilities of the panel of every iteration."""
    if not len(iterations):
        raise ValueError("iterations must not be empty")
    return [_snapshot_at(snapshots, iteration, n) for iteration in iterations]


def _snapshot_at(snapshots: Mapping[int, ArrayLike], iteration: int, n: int) -> tuple[str, _Array]:
    """Return title and probabilities of a panel."""
    before = [k for k in snapshots if k <= iteration]
    if not before:
        raise ValueError(f"snapshots must have one at or before iteration {iteration}, got {sorted(snapshots)}")
    used = max(before)
    title = "Start" if iteration == 0 else f"Iteration {iteration}"
    if used != iteration:
        title += f" (last record: {used})"
    return title, as_probabilities(f"snapshots[{used}]", snapshots[used], n, "")
