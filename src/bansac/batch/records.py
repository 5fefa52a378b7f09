"""A pair as stored in the journal, and as written to the file of results."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Journal, Row
from bansac.batch.sources import ImagePair, Source
from bansac.geometry import essential_from_pose
from bansac.result import RelativePose, Result


@dataclass(frozen=True)
class Record:
    """Name of a pair and the fields of its result; the defaults are for a pair that could not be read."""

    name: str
    images: ImagePair | None = None
    success: bool = False
    message: str = ""
    num_data: int = 0
    num_inliers: int = 0
    threshold: float = np.nan
    score: float = np.nan
    iterations: int = 0
    models_tested: int = 0
    restarts: int = 0
    stop_reason: str = ""
    configuration: str | None = None
    seed: int = 0
    seconds: float = np.nan
    model: NDArray[np.float64] | None = None  # 9 numbers, row by row
    R: NDArray[np.float64] | None = None  # motion of E
    t: NDArray[np.float64] | None = None
    inliers: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    probabilities: NDArray[np.float32] | None = None
    index1: NDArray[np.int32] | None = None  # for images: indices of the matched features
    index2: NDArray[np.int32] | None = None


COPIED = (
    "success",
    "message",
    "num_inliers",
    "threshold",
    "score",
    "iterations",
    "models_tested",
    "restarts",
    "stop_reason",
    "configuration",
    "seed",
    "seconds",
)
"""Scalar fields with the same names as those of a result."""

_DTYPES = {
    "model": np.float64,
    "R": np.float64,
    "t": np.float64,
    "inliers": np.uint8,
    "probabilities": np.float32,
    "index1": np.int32,
    "index2": np.int32,
}


def as_row(result: Result, indices: NDArray[np.int64] | None) -> Row:
    """Return a result as plain values, with arrays as base64 of their bytes."""
    pose = result.model if isinstance(result.model, RelativePose) else None
    arrays: dict[str, Any] = {
        "model": result.model if pose is None else essential_from_pose(pose.R, pose.t),
        "R": None if pose is None else pose.R,
        "t": None if pose is None else pose.t,
        "inliers": np.packbits(result.inliers),
        "probabilities": result.probabilities,
        "index1": None if indices is None else indices[:, 0],
        "index2": None if indices is None else indices[:, 1],
    }
    encoded = {name: None if array is None else _encode(array, _DTYPES[name]) for name, array in arrays.items()}
    return {name: getattr(result, name) for name in COPIED} | {"num_data": len(result.inliers)} | encoded


class Records:
    """Results of all pairs in their order, read from the journal at each iteration."""

    def __init__(self, sources: Iterable[Source], journal: Journal, failed: Mapping[str, str]) -> None:
        self._sources = sources
        self._journal = journal
        self._failed = failed

    def __iter__(self) -> Iterator[Record]:
        """Read the records one by one."""
        for source in self._sources:
            rows = self._journal.rows(source.unit)
            if rows:
                yield _as_record(source, rows[0])
            else:
                yield Record(source.name, source.images, message=self._failed[source.name])


def _as_record(source: Source, row: Mapping[str, Any]) -> Record:
    arrays = {name: _decode(row[name], dtype) for name, dtype in _DTYPES.items()}
    arrays["inliers"] = np.unpackbits(arrays["inliers"], count=row["num_data"]).astype(np.bool_)
    plain = {name: row[name] for name in COPIED}
    return Record(source.name, source.images, num_data=row["num_data"], **plain, **arrays)


def _encode(array: NDArray[Any], dtype: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()


def _decode(text: str | None, dtype: Any) -> Any:
    return None if text is None else np.frombuffer(base64.b64decode(text), dtype)
