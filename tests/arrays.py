"""Arrays in files of several formats."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np


def write_arrays(path: Path, **arrays: Any) -> Path:
    """Write an npz or an h5 file."""
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
        return path
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


def read_arrays(path: Path) -> dict[str, Any]:
    """Read an npz file."""
    with np.load(path) as archive:
        return dict(archive)
