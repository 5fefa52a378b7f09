"""Image pairs in a folder of HDF5 files, whose keys are the names of the pairs.

============================  ==================================================================================
``matches.h5``                (N, 4): x1 y1 x2 y2 in pixels, with pixel centres at integer coordinates
``match_conf.h5``             optional, (N,): ratio of the nearest to the second nearest distance (SNN)
``K1_K2.h5``                  optional, (1, 2, 3, 3): camera matrices
``size.h5``, ``size2.h5``     optional, (2,): height and width of image 1 and image 2
============================  ==================================================================================

This is the layout of the "RANSAC in 2020" tutorial without its ground truth, which :mod:`bansac_lab.sets` reads.
"""

import os
from pathlib import Path
from typing import Literal, TypeAlias

from bansac.matches.array_files import Reader
from bansac.matches.matches import Matches
from bansac.maths.arrays import Floats

Which: TypeAlias = Literal[1, 2]

SIZE_FILES: dict[Which, str] = {1: "size.h5", 2: "size2.h5"}
"""Files with the sizes of image 1 and image 2."""

_SPLITS = ("train", "val", "test")  # folder names of the tutorial that need the parent's name


class PairFolder:
    """Image pairs in the HDF5 files of a folder, which are read on demand; ``keys`` are their sorted names.

    The name of the folder is preceded by the parent's name if it is a split such as ``val``. An OSError is raised if
    ``matches.h5`` is missing or damaged, or holds no pairs.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder: Path = Path(folder)
        path = Path(os.path.realpath(self.folder))
        self.name: str = f"{path.parent.name}-{path.name}" if path.name in _SPLITS else path.name
        with Reader(self.folder / "matches.h5") as matches:
            self.keys: tuple[str, ...] = tuple(matches.keys())
        if not self.keys:
            raise OSError(f"{self.folder / 'matches.h5'} holds no pairs")
        self._known = frozenset(self.keys)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def pair(self, key: str) -> Matches:
        """Read one pair, with the arguments and errors of :meth:`bansac.matches.HlocPairs.pair`.

        The matches have ratios, camera matrices and image sizes if the folder has these files.
        """
        self._check(key)
        matches = self._read("matches.h5", key, (-1, 4))
        ratios = self._per_match(key, "match_conf.h5", "ratios", len(matches)) if self._has("match_conf.h5") else None
        K1, K2 = self._read("K1_K2.h5", key, (2, 3, 3)) if self._has("K1_K2.h5") else (None, None)
        x1, x2 = matches[:, :2].copy(), matches[:, 2:].copy()
        size1, size2 = (self._stored_size(key, which) for which in SIZE_FILES)
        return Matches(x1, x2, key, ratios, K1=K1, K2=K2, size1=size1, size2=size2)

    def _check(self, key: str) -> None:
        if key not in self._known:
            raise ValueError(f"{self.folder} has no pair {key!r}; it has {len(self)}, the first is {self.keys[0]!r}")

    def _has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def _stored_size(self, key: str, which: Which) -> tuple[int, int] | None:
        """Return the height and width of an image, or None if the folder has no file of sizes."""
        if not self._has(SIZE_FILES[which]):
            return None
        height, width = self._read(SIZE_FILES[which], key, (2,))
        return int(height), int(width)

    def _read(self, name: str, key: str, shape: tuple[int, ...]) -> Floats:
        with Reader(self.folder / name) as file:
            return file.array(key, shape)

    def _per_match(self, key: str, name: str, what: str, n: int) -> Floats:
        """Return the values of a pair in another file, one for each of n matches."""
        values = self._read(name, key, (-1,))
        if len(values) != n:
            raise OSError(f"{self.folder}: pair {key!r} has {n} matches but {len(values)} {what}")
        return values


def find_pair_folders(root: str | os.PathLike[str]) -> list[PairFolder]:
    """Return the pairs of a folder and of all folders below it; an OSError if there are none."""
    folders = [PairFolder(folder) for folder in folders_with(root, "matches.h5")]
    if not folders:
        raise FileNotFoundError(f"no matches.h5 in {root} or below")
    return folders


def folders_with(root: str | os.PathLike[str], name: str) -> list[Path]:
    """Return the sorted folders, at ``root`` or below it, that contain a file ``name``."""
    if not Path(root).is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    return sorted(path.parent for path in Path(root).rglob(name))
