"""Results of many pairs in one file, written pair by pair; HDF5 files are compressed in memory before they are written.

A file contains one value per pair of ``name``, ``success``, ``num_data`` and others, and values per match:
``inliers``, ``probabilities`` and, for images, ``index1`` and ``index2``. In npz and HDF5 files the values per match
are concatenated; those of pair k are at ``offsets[k]`` to ``offsets[k + 1]``. In Parquet files they are lists.
"""

import itertools
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.batch.records import INDICES, MATRICES, PER_MATCH, SCALARS, Record
from bansac.batch.sources import ImagePair
from bansac.matches.array_files import create_hdf5, import_h5py
from bansac.maths.optional import import_optional

_PACKAGES = {".parquet": ("pyarrow", "Parquet"), ".h5": ("h5py", "HDF5")}


def check_packages(suffix: str) -> None:
    """Raise an ImportError if the package for a file type is not installed."""
    if suffix in _PACKAGES:
        package, kind = _PACKAGES[suffix]
        import_optional(package, f"--out: {kind} needs {package}", f"{package}; a .npz file needs nothing")


def write_npz(path: Path, records: Iterable[Record]) -> None:
    """Write an npz file; without a posterior the probabilities are NaN."""
    columns, dtypes = _columns(records)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in columns.items():
            _write_member(archive, name, values.dtype, values.shape, [values])
        for name, dtype in dtypes.items():
            parts = (_values(record, name, dtype) for record in records)
            _write_member(archive, name, np.dtype(dtype), (int(columns["offsets"][-1]),), parts)


def write_hdf5(path: Path, records: Iterable[Record]) -> None:
    """Write the same arrays as HDF5 datasets, with strings in UTF-8."""
    h5py = import_h5py()
    columns, dtypes = _columns(records)
    with create_hdf5(path) as file:
        for name, values in columns.items():
            if values.dtype.kind == "U":
                file.create_dataset(name, data=values.tolist(), dtype=h5py.string_dtype())
            else:
                file[name] = values
        *starts, length = columns["offsets"].tolist()
        packed = {"compression": "gzip", "shuffle": True} if length else {}
        datasets = {name: file.create_dataset(name, (length,), dtype, **packed) for name, dtype in dtypes.items()}
        for start, record in zip(starts, records, strict=True):
            for name, dtype in dtypes.items() if record["num_data"] else ():
                datasets[name][start : start + record["num_data"]] = _values(record, name, dtype)


def _columns(records: Iterable[Record]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the columns with one value per pair and the offsets, and the types of the columns per match."""
    lists: dict[str, list[Any]] = {name: [] for name in ("name", *SCALARS, *MATRICES)}
    for record in records:
        for name in ImagePair._fields if "image1" in record else ():
            lists.setdefault(name, []).append(record[name])
        for name in ("name", *SCALARS):
            lists[name].append(record[name])
        for name, shape in MATRICES.items():
            lists[name].append(np.full(shape, np.nan) if record[name] is None else record[name].reshape(shape))
    lists["configuration"] = [name or "" for name in lists["configuration"]]
    columns = {name: np.array(values, np.uint64 if name == "seed" else None) for name, values in lists.items()}
    if np.isnan(columns["R"]).all():
        del columns["R"], columns["t"], columns["scale"]
    columns["offsets"] = np.concatenate([[0], np.cumsum(lists["num_data"], dtype=np.int64)])
    return columns, PER_MATCH | INDICES if "image1" in lists else PER_MATCH


def _values(record: Record, name: str, dtype: Any) -> NDArray[Any]:
    return np.full(record["num_data"], np.nan, dtype) if record[name] is None else record[name]


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

    kinds: dict[Any, Any] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema = {name: kinds.get(type(missing), pa.string()) for name, missing in {"name": "", **SCALARS}.items()}
    schema |= {"seed": pa.uint64(), **dict.fromkeys(MATRICES, pa.list_(pa.float64()))}
    of_images = "image1" in next(iter(records), {})
    per_match = PER_MATCH | INDICES if of_images else PER_MATCH
    schema |= {name: pa.list_(pa.from_numpy_dtype(dtype)) for name, dtype in per_match.items()}
    schema |= dict.fromkeys(ImagePair._fields if of_images else (), pa.string())
    remaining = iter(records)
    with pq.ParquetWriter(path, pa.schema(list(schema.items()))) as writer:
        while group := list(itertools.islice(remaining, 1000)):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=writer.schema))


Writer = Callable[[Path, Iterable[Record]], None]
"""Function that writes records, which it may iterate over several times, to a file."""

WRITERS: dict[str, Writer] = {".npz": write_npz, ".parquet": write_parquet, ".h5": write_hdf5}
"""Functions that write the results, by file suffix."""
