"""Results of many pairs in one file, written pair by pair, so that not all masks are in memory.

A file contains one value per pair of ``name``, ``success``, ``num_data`` and others, and values per match:
``inliers``, ``probabilities`` and, for images, ``index1`` and ``index2``. In npz and HDF5 files the values per match
are concatenated; those of pair k are at ``offsets[k]`` to ``offsets[k + 1]``. In Parquet files they are lists.
"""

from __future__ import annotations

import importlib.util
import itertools
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.records import COPIED, Record
from bansac.batch.sources import ImagePair
from bansac.matches.hdf5 import create_hdf5, import_h5py

__all__ = ["WRITERS", "Writer", "check_packages"]

# Number of records that are passed to Parquet at a time.
_GROUP = 1000

_SCALARS = ("name", "num_data", *COPIED)
_MATRICES = {"model": (3, 3), "R": (3, 3), "t": (3,)}
_PER_MATCH: dict[str, Any] = {"inliers": np.bool_, "probabilities": np.float32}
_INDICES: dict[str, Any] = {"index1": np.int32, "index2": np.int32}

_PACKAGES = {".parquet": ("pyarrow", "Parquet"), ".h5": ("h5py", "HDF5")}


def check_packages(suffix: str) -> None:
    """Raise an ImportError if the package for a file type is not installed."""
    if suffix not in _PACKAGES:
        return
    package, kind = _PACKAGES[suffix]
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"--out: {kind} needs {package}: pip install {package}; a .npz file needs nothing")


def write_npz(path: Path, records: Iterable[Record]) -> None:
    """Write an npz file; without a posterior the probabilities are NaN."""
    columns, offsets, images = _columns(records)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in {**columns, "offsets": offsets}.items():
            _write_member(archive, name, values.dtype, values.shape, [values])
        for name, dtype in _per_match(images).items():
            parts = (_values(record, name, dtype) for record in records)
            _write_member(archive, name, np.dtype(dtype), (int(offsets[-1]),), parts)


def write_hdf5(path: Path, records: Iterable[Record]) -> None:
    """Write the same arrays as HDF5 datasets, with strings in UTF-8."""
    h5py = import_h5py()
    columns, offsets, images = _columns(records)
    with create_hdf5(path) as file:
        for name, values in {**columns, "offsets": offsets}.items():
            if values.dtype.kind == "U":
                file.create_dataset(name, data=values.tolist(), dtype=h5py.string_dtype())
            else:
                file[name] = values
        dtypes, length = _per_match(images), int(offsets[-1])
        packed = {"compression": "gzip", "shuffle": True} if length else {}
        datasets = {name: file.create_dataset(name, (length,), dtype, **packed) for name, dtype in dtypes.items()}
        for start, record in zip(offsets.tolist(), records, strict=False):
            for name, dtype in dtypes.items() if record.num_data else ():
                datasets[name][start : start + record.num_data] = _values(record, name, dtype)


def _columns(records: Iterable[Record]) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], bool]:
    """Return the columns with one value per pair, the offsets of values per match, and whether pairs are of images."""
    found: dict[str, list[Any]] = {name: [] for name in (*_SCALARS, *_MATRICES)}
    of_images: dict[str, list[str]] = {name: [] for name in ImagePair._fields}
    for record in records:
        for name in _SCALARS:
            found[name].append(getattr(record, name))
        for name, shape in _MATRICES.items():
            value = getattr(record, name)
            found[name].append(np.full(shape, np.nan) if value is None else value.reshape(shape))
        for name, text in {} if record.images is None else record.images._asdict().items():
            of_images[name].append(text)
    found["configuration"] = [name or "" for name in found["configuration"]]
    columns = {name: np.array(values, np.uint64 if name == "seed" else None) for name, values in found.items()}
    if np.isnan(columns["R"]).all():
        del columns["R"], columns["t"]
    images = bool(of_images["image1"])
    if images:
        columns |= {name: np.array(values) for name, values in of_images.items()}
    return columns, np.concatenate([[0], np.cumsum(found["num_data"], dtype=np.int64)]), images


def _per_match(images: bool) -> dict[str, Any]:
    return _PER_MATCH | _INDICES if images else _PER_MATCH


def _values(record: Record, name: str, dtype: Any) -> NDArray[Any]:
    """Return the values per match of a pair."""
    values: NDArray[Any] | None = getattr(record, name)
    return np.full(record.num_data, np.nan, dtype) if values is None else values


def _write_member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> None:
    """Write an array that is given in parts."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())


def write_parquet(path: Path, records: Iterable[Record]) -> None:
    """Write a table with one row per pair; matrices are lists of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(iter(records), None)
    images = first is not None and first.images is not None
    numbers = {"iterations", "models_tested", "restarts", "num_data", "num_inliers"}
    kinds = {name: pa.int64() if name in numbers else pa.float64() for name in _SCALARS}
    kinds |= dict.fromkeys(("name", "message", "stop_reason", "configuration"), pa.string())
    kinds |= {"success": pa.bool_(), "seed": pa.uint64()}
    kinds |= {name: pa.list_(pa.float64()) for name in _MATRICES}
    kinds |= {name: pa.list_(pa.from_numpy_dtype(dtype)) for name, dtype in _per_match(images).items()}
    if images:
        kinds |= dict.fromkeys(ImagePair._fields, pa.string())
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(path, schema) as writer:
        for group in _groups(records):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))


def _groups(records: Iterable[Record]) -> Iterator[list[dict[str, Any]]]:
    """Yield groups of records as dicts of their fields."""
    remaining = iter(records)
    while group := list(itertools.islice(remaining, _GROUP)):
        yield [vars(record) | ({} if record.images is None else record.images._asdict()) for record in group]


Writer = Callable[[Path, Iterable[Record]], None]
"""Function that writes records, which it may iterate over several times, to a file."""

WRITERS: dict[str, Writer] = {
    ".npz": write_npz,
    ".parquet": write_parquet,
    ".h5": write_hdf5,
}
"""Functions that write the results, by file suffix."""
