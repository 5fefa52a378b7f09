"""Matches with true poses or homographies in the file format of the "RANSAC in 2020" tutorial.

A folder is one set. Each file in it is an HDF5 file keyed by pair ("img1-img2") or by image:

==================  =========================================================================
``matches.h5``      (N, 4): x1 y1 x2 y2 in pixels, pixel centres at integer coordinates
``match_conf.h5``   (N,): ratio of the nearest to the second nearest distance (SNN), lower is better
``K1_K2.h5``        EF: camera matrices (1, 2, 3, 3)
``R.h5``, ``T.h5``  EF, by image: rotation (3, 3) and translation (3, 1), ``x_camera = R X + T``
``Hgt.h5``          H: homography (3, 3) from image 1 to image 2
``size.h5``         optional: height and width of image 1
``size2.h5``        optional: height and width of image 2
==================  =========================================================================

The tutorial stores PhotoTourism in ``val/<scene>`` and ``train/<scene>``, and EVD and HPatches in folders such as
``<name>/val``. E and F are computed from the poses. The matches are one-way nearest neighbours. The tutorial's scripts
keep matches with a ratio < 0.85 (:data:`MAX_RATIO`, :meth:`Matches.filtered`). Our experiments use the same limit,
also for homographies. For these the paper uses "all the available pairs".

Without ``size.h5``, the sizes are read from the images (:mod:`bansac_lab.sets.image_finder`).
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import essential_from_pose
from bansac.matches.array_files import Reader
from bansac.matches.matches import Matches
from bansac.matches.pair_folder import SIZE_FILES, PairFolder, Which, folders_with
from bansac_lab.sets.image_finder import ImageFinder, cuts

MAX_RATIO = 0.85
"""The tutorial's scripts keep matches with an SNN ratio below this value."""

_MATCH_FILES = ("matches.h5", "match_conf.h5")
_TRUTH_FILES = {"EF": ("K1_K2.h5", "R.h5", "T.h5"), "H": ("Hgt.h5",)}


class PairSet(PairFolder):
    """Pairs in one folder, read on request; ``kind`` is "EF" (poses) or "H" (homographies), ``keys`` name the pairs.

    The tutorial's ``EVD/val`` has the name "EVD-val". An OSError names a file that is missing, damaged or lacks a pair.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not Path(folder).is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")
        if missing := _missing_files(folder):
            raise FileNotFoundError(f"{Path(folder)} is no complete set of pairs: {missing} is missing")
        super().__init__(folder)
        self.kind: Literal["EF", "H"] = "H" if (self.folder / "Hgt.h5").exists() else "EF"
        self._images = ImageFinder(self.folder)

    def pair(self, key: str) -> Matches:
        """Read one pair with its ground truth; a ValueError if there is none of this name."""
        pair = super().pair(key)
        if self.kind == "EF":
            return replace(pair, **self._pose(key, pair.K1, pair.K2))
        size1, size2 = pair.size1 or self._size_of_file(key, 1), pair.size2 or self._size_of_file(key, 2)
        return replace(pair, H=self._read("Hgt.h5", key, (3, 3)), size1=size1, size2=size2)

    def pairs(self, limit: int | None = 43) -> Iterator[Matches]:
        """Read at most ``limit`` pairs lazily, evenly spaced over the sorted keys; None for all."""
        return map(self.pair, evenly_spaced(self.keys, limit))

    def match_counts(self, max_ratio: float = MAX_RATIO, limit: int | None = 50) -> NDArray[np.int64]:
        """Count the matches of a lower SNN ratio in at most ``limit`` pairs, evenly spaced, from the file of ratios."""
        with Reader(self.folder / "match_conf.h5") as file:
            counts = [np.count_nonzero(file.array(key, (-1,)) < max_ratio) for key in evenly_spaced(self.keys, limit)]
        return np.array(counts, dtype=np.int64)

    def image_size(self, key: str, which: Which = 1) -> tuple[int, int]:
        """Return height and width of an image, from the file of sizes or, without one, from the image itself."""
        self._check(key)
        return self._stored_size(key, which) or self._images.size(key, which)

    def image_path(self, key: str, which: Which = 1) -> Path:
        """Find the file of image 1 or 2 of a pair; :mod:`bansac_lab.sets.image_finder` documents the search.

        If no file or several files match, an OSError lists the searched names and folders, or the files.
        """
        self._check(key)
        return self._images.find(key, which)

    def files(self) -> list[Path]:
        """Return the absolute paths of the files that :meth:`pair` reads, without images."""
        names = dict.fromkeys((*_MATCH_FILES, "K1_K2.h5", *_TRUTH_FILES[self.kind], *SIZE_FILES.values()))
        return [self.folder.resolve() / name for name in names if self._has(name)]

    def _pose(self, key: str, K1: Any, K2: Any) -> dict[str, Any]:
        with Reader(self.folder / "R.h5") as rotations:
            known = frozenset(rotations.keys())
        images = next((names for names in cuts(key) if known.issuperset(names)), None)  # names may contain hyphens
        if images is None:
            raise OSError(f"{self.folder / 'R.h5'} lacks an image of the pair {key!r}")
        R1, R2 = (self._read("R.h5", image, (3, 3)) for image in images)
        T1, T2 = (self._read("T.h5", image, (3,)) for image in images)
        R = R2 @ R1.T
        t = T2 - R @ T1
        E = essential_from_pose(R, t)
        F = np.linalg.inv(K2).T @ E @ np.linalg.inv(K1)
        return {"R": R, "t": t, "E": E / np.linalg.norm(E), "F": F / np.linalg.norm(F)}

    def _size_of_file(self, key: str, which: Which) -> tuple[int, int] | None:
        """Return the size of an image file; None if there is none, because many callers do not need the size."""
        try:
            return self._images.size(key, which)
        except (OSError, ImportError):
            return None


def find_sets(root: str | os.PathLike[str]) -> list[PairSet]:
    """Find the sets of pairs in a folder and its subfolders, sorted by path; an OSError if there is none.

    A folder is a set if it contains ``matches.h5``, ``match_conf.h5`` and ground truth (``Hgt.h5``, ``R.h5`` or
    ``T.h5``). If other files of such a folder are missing, an OSError is raised. All other folders are skipped, for
    example the tutorial's test sets, which have cameras but no poses.
    """

    def looks_like_a_set(folder: Path) -> bool:
        has_truth = any((folder / name).exists() for name in ("Hgt.h5", "R.h5", "T.h5"))
        return has_truth and (folder / "match_conf.h5").exists()

    folders = list(filter(looks_like_a_set, folders_with(root, "matches.h5")))
    if not folders:
        wanted = "matches.h5, match_conf.h5, and Hgt.h5 or K1_K2.h5, R.h5 and T.h5"
        raise FileNotFoundError(f"no set of pairs in {root} or below: a set is a folder with {wanted}")
    return [PairSet(folder) for folder in folders]


def _missing_files(folder: str | os.PathLike[str]) -> str:
    """Name the missing files of a set of pairs; "" if the folder is complete."""
    names = _MATCH_FILES + _TRUTH_FILES["H" if (Path(folder) / "Hgt.h5").exists() else "EF"]
    missing = [name for name in names if not (Path(folder) / name).exists()]
    return ", ".join(missing) + (" (or Hgt.h5)" if set(_TRUTH_FILES["EF"]) <= set(missing) else "")


def evenly_spaced(keys: tuple[str, ...], limit: int | None) -> list[str]:
    """Return at most ``limit`` of the keys, evenly spaced, including the first and the last."""
    if limit is None or limit >= len(keys):
        return list(keys)
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    places = np.unique(np.linspace(0, len(keys) - 1, limit).astype(int))
    return [keys[i] for i in places]
