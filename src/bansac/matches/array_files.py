"""Arrays in npy, npz and HDF5 files. A damaged file raises an OSError that names it."""

import contextlib
import functools
import io
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile

from bansac.matches.storage import as_os_error
from bansac.matches.text_tables import unreadable
from bansac.maths.arrays import Floats, as_floats
from bansac.maths.optional import import_optional
from bansac.maths.validate import check_finite

ARRAY_SUFFIXES = (".npz", ".h5", ".hdf5")


def read_array(path: Path) -> Any:
    """Read the array of an npy file."""
    try:
        with path.open("rb") as file:
            return npy.read_array(file, allow_pickle=False)
    except Exception as error:  # damaged headers raise errors of NumPy, ast and other modules
        raise unreadable(path, error) from None


def read_arrays(path: Path, names: Sequence[str], group: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays ``names`` of an npz or h5 file, or of a group in an h5 file, and the names of all arrays."""
    h5py = None if path.suffix.lower() == ".npz" else import_h5py()
    try:
        if h5py is None:
            with path.open("rb") as file, NpzFile(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in names if name in arrays.files}, sorted(arrays.files)
        with h5py.File(path, "r") as file:
            entries = file[group or "/"]
            if not isinstance(entries, h5py.Group):
                raise ValueError(f"{group!r} is no group")
            stored = sorted(entries.keys())
            found = {name: entries[name] for name in names if name in stored}
            return {name: _read_dataset(item) for name, item in found.items() if isinstance(item, h5py.Dataset)}, stored
    except Exception as error:  # damaged archives raise errors of zipfile, zlib, NumPy, h5py and other modules
        raise unreadable(path, error) from None


def import_h5py() -> Any:
    """Return the module h5py."""
    return import_optional("h5py", "reading HDF5 files needs h5py", "h5py")


def _read_dataset(dataset: Any) -> Any:
    """Return the content of an h5py dataset; a ValueError if less is stored than the header claims."""
    claimed, stored = dataset.nbytes, dataset.id.get_storage_size()
    if claimed > 1100 * stored:  # slightly above the largest compression ratio of deflate
        raise ValueError(f"its header claims {claimed:.3g} bytes, and {stored} are stored")
    if dataset.chunks is not None:  # h5py reads a missing chunk as zeros
        chunks = math.prod(-(-n // length) for n, length in zip(dataset.shape, dataset.chunks, strict=True))
        if dataset.id.get_num_chunks() != chunks:
            raise ValueError(f"{dataset.id.get_num_chunks()} of {chunks} chunks are stored")
    return dataset[()]


@contextlib.contextmanager
def create_hdf5(path: Path) -> Iterator[Any]:
    """Create an HDF5 file in memory, and write it at the end: HDF5 crashes the process if a disk is full."""
    content = io.BytesIO()
    with import_h5py().File(content, "w") as file:
        yield file
    path.write_bytes(content.getbuffer())


class Reader(AbstractContextManager["Reader"]):
    """Open HDF5 file whose errors are OSErrors that name it; used in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        h5py = import_h5py()
        self._path = path
        # Damaged files raise errors of many types.
        self._errors = functools.partial(as_os_error, f"cannot read {path}", Exception)
        with self._errors():
            self._file = h5py.File(path, "r")

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self._file.close()

    def keys(self, group: str = "/") -> list[str]:
        """Return the sorted keys of a group; empty for an array."""
        with self._errors():
            entries = self._file[group]
            return sorted(entries.keys()) if hasattr(entries, "keys") else []

    def groups_with(self, name: str) -> list[str]:
        """Return the full names of the groups, at any depth, that contain an entry ``name``."""
        paths: list[str] = []
        with self._errors():
            self._file.visit(paths.append)
        return [path.rpartition("/")[0] for path in paths if path.endswith(f"/{name}")]

    def array(self, key: str, shape: tuple[int, ...]) -> Floats:
        """Return finite float64 numbers of a shape; -1 stands for any length, and axes of length 1 are ignored."""
        try:
            if key not in self._file:
                raise OSError(f"{self._path} lacks {key!r}")
            stored = np.asarray(_read_dataset(self._file[key]))
            values = as_floats(key, stored.astype(np.int8) if stored.dtype == np.bool_ else stored)  # labels
            size = abs(math.prod(shape))
            fits = values.size % size == 0 if -1 in shape else values.size == size
            array = values.reshape(shape) if fits else values.ravel()
            if not fits or np.squeeze(array).shape != np.squeeze(stored).shape:
                wanted = str(shape).replace("-1", "N")
                raise OSError(f"{key!r} of {self._path} must have shape {wanted}, got {stored.shape}")
            check_finite(key, array)
            return array
        except Exception as error:  # damaged files raise errors of many types
            message = str(error) if str(self._path) in str(error) else f"cannot read {key!r} of {self._path}: {error}"
            raise OSError(message) from error
