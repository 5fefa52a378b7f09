"""Arrays in npy, npz and h5 files. A damaged file raises an OSError that names it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile

from bansac.matches.hdf5 import import_h5py, read_dataset
from bansac.matches.text_tables import unreadable

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
            return {name: read_dataset(item) for name, item in found.items() if isinstance(item, h5py.Dataset)}, stored
    except Exception as error:  # damaged archives raise errors of zipfile, zlib, NumPy, h5py and other modules
        raise unreadable(path, error) from None
