"""The columns of the results, a pair as a row of the journal, and the records that are written to the results."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Journal, Row, Stream
from bansac.batch.sources import ImagePair, Source, Sources
from bansac.estimate.result import RelativePose, Result
from bansac.geometry import essential_from_pose
from bansac.maths.arrays import Ints

Record = dict[str, Any]
"""Values of a pair by column: ``name``, those of the tables below and, for images, those of :class:`ImagePair`."""

SCALARS: dict[str, Any] = {
    "num_data": 0,
    "success": False,
    "message": "",
    "num_inliers": 0,
    "threshold": np.nan,
    "score": np.nan,
    "iterations": 0,
    "models_tested": 0,
    "restarts": 0,
    "stop_reason": "",
    "configuration": None,
    "model_confidence": np.nan,
    "scale": np.nan,
    "seed": 0,
    "seconds": np.nan,
}
"""Columns with a value per pair, and the value of a pair that could not be read. All except ``num_data`` and ``scale``,
which is that of a motion with depths, are fields of a result."""

MATRICES = {"model": (3, 3), "R": (3, 3), "t": (3,)}
"""Columns with a matrix per pair, and its shape; R and t are the motion of E."""

PER_MATCH: dict[str, Any] = {"inliers": np.bool_, "probabilities": np.float32}
"""Columns with a value per match, and its type."""

INDICES: dict[str, Any] = {"index1": np.int32, "index2": np.int32}
"""Columns with the indices of the features of each match of images."""

_STORED: dict[str, Any] = dict.fromkeys(MATRICES, np.float64) | PER_MATCH | INDICES | {"inliers": np.uint8}


def as_row(result: Result, indices: Ints | None) -> Row:
    """Return a result as plain values, with arrays as base64 of their bytes."""
    pose = result.model if isinstance(result.model, RelativePose) else None
    R, t = (None, None) if pose is None else pose
    index1, index2 = (None, None) if indices is None else indices.T
    values = {name: getattr(result, name, None) for name in (*SCALARS, *PER_MATCH)}
    values |= {"num_data": len(result.inliers), "inliers": np.packbits(result.inliers)}
    values["scale"] = getattr(result.model, "scale", None)
    values |= {"model": result.model if pose is None else essential_from_pose(*pose), "R": R, "t": t}
    values |= {"index1": index1, "index2": index2}
    values |= {name: np.nan for name in ("model_confidence", "scale") if values[name] is None}
    return values | {name: _encode(values[name], dtype) for name, dtype in _STORED.items()}


def as_record(name: str, images: ImagePair | None, row: Mapping[str, Any]) -> Record:
    """Return the record of a pair from its row; columns that the row lacks are those of a pair that was not read."""
    record = {"name": name, **SCALARS, **row}
    record |= {column: _decode(row.get(column), dtype) for column, dtype in _STORED.items()}
    mask = np.empty(0, np.uint8) if record["inliers"] is None else record["inliers"]
    record["inliers"] = np.unpackbits(mask, count=record["num_data"]).astype(np.bool_)
    return record if images is None else record | images._asdict()


def read_records(sources: Sources, journal: Journal, failed: Mapping[str, str]) -> Stream[Record]:
    """Return the records of all pairs in their order, read from the journal at each iteration."""

    def read(source: Source) -> Record:
        rows = journal.rows(source.unit)
        return as_record(source.name, source.images, rows[0] if rows else {"message": failed[source.name]})

    return Stream(len(sources), lambda: map(read, sources))


def _encode(array: NDArray[Any] | None, dtype: Any) -> str | None:
    return None if array is None else base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()


def _decode(text: str | None, dtype: Any) -> Any:
    return None if text is None else np.frombuffer(base64.b64decode(text), dtype)
