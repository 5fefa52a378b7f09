"""Arrays in npy, npz and h5 files, read only if the file is large enough for what its headers claim.

A header of some bytes can claim more numbers than any memory holds: what is claimed is compared with the size of the
file before anything is allocated. Damage of any kind is an OSError that names the file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from bansac.matches.hdf5 import check_claim, import_h5py, read_dataset
from bansac.matches.text_tables import unreadable

__all__ = ["ARRAY_SUFFIXES", "read_array", "read_arrays"]

ARRAY_SUFFIXES = (".npz", ".h5", ".hdf5")


def read_array(path: Path) -> Any:
    """Read the array of an npy file."""
    try:
        with path.open("rb") as file:
            _check_header(file, path.stat().st_size)
            file.seek(0)
            return np.load(file, allow_pickle=False)
    except Exception as error:  # a damaged header raises errors of NumPy, of ast and others
        raise unreadable(path, error) from None


def read_arrays(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Read those arrays of an npz or h5 file that are among ``names``; return them and the names of all."""
    read = _read_npz if path.suffix.lower() == ".npz" else _read_hdf5
    if read is _read_hdf5:
        import_h5py()
    try:
        return read(path, names)
    except Exception as error:  # a damaged archive raises errors of zipfile, zlib, NumPy, h5py and others
        raise unreadable(path, error) from None


def _read_npz(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    with path.open("rb") as file:  # np.load leaves a damaged file open
        with zipfile.ZipFile(file) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            for name in members.keys() & set(names):
                check_claim(members[name].file_size, members[name].compress_size)
                with archive.open(members[name]) as content:
                    _check_header(content, members[name].file_size)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names if name in members}, sorted(members)


def _read_hdf5(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    h5py = import_h5py()
    with h5py.File(path, "r") as file:
        found = sorted(file.keys())
        wanted = {name: file[name] for name in names if name in found}
        return {name: read_dataset(item) for name, item in wanted.items() if isinstance(item, h5py.Dataset)}, found


def _check_header(file: IO[bytes], size: int) -> None:
    """Raise a ValueError if an npy file of ``size`` bytes claims to hold more."""
    version = npy.read_magic(file)
    shape, _, dtype = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
    claimed = dtype.itemsize
    for length in shape:
        claimed *= length
    held = size - file.tell()
    if claimed > held:
        raise ValueError(f"its header claims an array of shape {shape}, {claimed:.3g} bytes, and {held} are stored")
