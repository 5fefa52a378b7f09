"""Results of many pairs in one file, NumPy's npz or Parquet, written pair by pair: memory does not hold all masks."""

from __future__ import annotations

import importlib.util
import itertools
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["COPIED", "WRITERS", "Record", "check_packages"]

# Records that Parquet gets at a time.
_GROUP = 1000


@dataclass(frozen=True)
class Record:
    """One pair: its name and the fields of its result; the defaults are those of a pair that could not be read."""

    name: str
    success: bool = False
    message: str = ""
    num_data: int = 0
    num_inliers: int = 0
    threshold: float = np.nan
    score: float = np.nan
    iterations: int = 0
    models_tested: int = 0
    rounds: int = 0
    stop_reason: str = ""
    seed: int = 0
    seconds: float = np.nan
    model: NDArray[np.float64] | None = None  # 9 numbers, row by row
    R: NDArray[np.float64] | None = None  # of E
    t: NDArray[np.float64] | None = None
    inliers: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    probabilities: NDArray[np.float32] | None = None


# Fields that have the names of those of a result, and all fields that are no arrays.
COPIED = (
    "success",
    "message",
    "num_inliers",
    "threshold",
    "score",
    "iterations",
    "models_tested",
    "rounds",
    "stop_reason",
    "seed",
    "seconds",
)
_SCALARS = ("name", "num_data", *COPIED)
_MATRICES = {"model": (3, 3), "R": (3, 3), "t": (3,)}


def check_packages(suffix: str) -> None:
    """Raise an ImportError that names the extra if the package for a kind of file is not installed."""
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("--out: Parquet needs pyarrow: pip install 'bansac[parquet]'; a .npz file needs nothing")


def write_npz(path: Path, records: Iterable[Record]) -> None:
    """Write arrays with one row a pair, and ``inliers`` and ``probabilities`` of all pairs one after the other.

    Those of pair k are ``inliers[offsets[k]:offsets[k + 1]]``; without a posterior the probabilities are NaN.
    """
    columns: dict[str, list[Any]] = {name: [] for name in (*_SCALARS, *_MATRICES)}
    for record in records:
        for name in _SCALARS:
            columns[name].append(getattr(record, name))
        for name, shape in _MATRICES.items():
            value = getattr(record, name)
            columns[name].append(np.full(shape, np.nan) if value is None else value.reshape(shape))
    offsets = np.concatenate([[0], np.cumsum(columns["num_data"], dtype=np.int64)])
    columns["seed"] = np.array(columns["seed"], np.uint64)  # type: ignore[assignment]
    if all(np.isnan(R).all() for R in columns["R"]):
        del columns["R"], columns["t"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in {**columns, "offsets": offsets}.items():
            _write_member(archive, name, np.asarray(values).dtype, np.asarray(values).shape, [np.asarray(values)])
        length = (int(offsets[-1]),)
        _write_member(archive, "inliers", np.dtype(np.bool_), length, (record.inliers for record in records))
        _write_member(archive, "probabilities", np.dtype(np.float32), length, map(_probabilities, records))


def _probabilities(record: Record) -> NDArray[np.float32]:
    if record.probabilities is None:
        return np.full(record.num_data, np.nan, np.float32)
    return record.probabilities


def _write_member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> None:
    """Write an array that comes in parts."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())


def write_parquet(path: Path, records: Iterable[Record]) -> None:
    """Write a table with one row a pair; ``inliers`` and ``probabilities`` are lists, matrices lists of their rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = {"iterations", "models_tested", "rounds", "num_data", "num_inliers"}
    kinds = {name: pa.int64() if name in numbers else pa.float64() for name in _SCALARS}
    kinds |= {"name": pa.string(), "message": pa.string(), "stop_reason": pa.string()}
    kinds |= {"success": pa.bool_(), "seed": pa.uint64()}
    kinds |= {name: pa.list_(pa.float64()) for name in _MATRICES}
    kinds |= {"inliers": pa.list_(pa.bool_()), "probabilities": pa.list_(pa.float32())}
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(path, schema) as writer:
        for group in _groups(records):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))


def _groups(records: Iterable[Record]) -> Iterator[list[dict[str, Any]]]:
    """Yield some records at a time as plain values."""
    remaining = iter(records)
    while group := list(itertools.islice(remaining, _GROUP)):
        yield [{name: _plain(value) for name, value in vars(record).items()} for record in group]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


WRITERS: dict[str, Callable[[Path, Iterable[Record]], None]] = {".npz": write_npz, ".parquet": write_parquet}
"""Functions that write the results, by the suffix of the file."""
