"""Matches with hand-marked ground truth: labels of the matches (AdelaideRMF) or check points (kusvod2).

A folder is one set. Each file in it is an HDF5 file keyed by pair. A set of labelled matches has a true fundamental
matrix but no cameras:

=========================  ===========================================
``matches.h5``             (N, 4): x1 y1 x2 y2 in pixels
``labels.h5``              (N,): 1 for a true match, 0 for a wrong one
``Fgt.h5``                 (3, 3): fundamental matrix, ``x2^T F x1 = 0``
``size.h5``, ``size2.h5``  optional: height and width of the images
=========================  ===========================================

A set with check points has corresponding points of both images, marked by hand, that measure the error of a
fundamental matrix:

=========================  ===========================================================
``matches.h5``             (N, 4): x1 y1 x2 y2 in pixels
``match_conf.h5``          (N,): ratio of the nearest to the second nearest distance (SNN)
``vpts.h5``                (M, 4): x1 y1 x2 y2 of the check points in pixels
``size.h5``, ``size2.h5``  optional: height and width of the images
=========================  ===========================================================
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bansac.matches.matches import Matches
from bansac.matches.pair_folder import SIZE_FILES, PairFolder, folders_with


class _MarkedSet(PairFolder):
    """Base class of both kinds of sets."""

    _KIND: str
    _FILES: tuple[str, ...]

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if missing := [name for name in self._FILES if not (Path(folder) / name).exists()]:
            raise FileNotFoundError(f"{Path(folder)} is no set {self._KIND}: {', '.join(missing)} is missing")
        super().__init__(folder)

    def files(self) -> list[Path]:
        """Return the absolute paths of the files with the pairs."""
        names = dict.fromkeys((*self._FILES, "match_conf.h5", "K1_K2.h5", *SIZE_FILES.values()))
        return [self.folder.resolve() / name for name in names if self._has(name)]


class LabelledSet(_MarkedSet):
    """Pairs with labelled matches in one folder, read on request; an OSError names a missing or damaged file."""

    _KIND = "of labelled matches"
    _FILES = ("matches.h5", "labels.h5", "Fgt.h5")

    def pair(self, key: str) -> Matches:
        """Read one pair with ``inliers``, ``F`` of unit norm, and what the set has of the files of a PairFolder."""
        pair = super().pair(key)
        labels = self._per_match(key, "labels.h5", "labels", len(pair))
        F = self._read("Fgt.h5", key, (3, 3))
        norm = np.linalg.norm(F)
        if norm == 0:
            raise OSError(f"{self.folder / 'Fgt.h5'}: the matrix of {key!r} is zero")
        return replace(pair, inliers=labels != 0, F=F / norm)


class CheckPointSet(_MarkedSet):
    """Pairs with check points and SNN ratios in one folder; parameters and errors as for :class:`LabelledSet`."""

    _KIND = "with check points"
    _FILES = ("matches.h5", "match_conf.h5", "vpts.h5")

    def check_points(self, key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Read the check points of a pair: two (M, 2) arrays of the same scene points in pixels."""
        points = self._read("vpts.h5", key, (-1, 4))
        return points[:, :2].copy(), points[:, 2:].copy()


def find_labelled_sets(root: str | os.PathLike[str]) -> list[LabelledSet]:
    """Find the sets of labelled matches in a folder and its subfolders, sorted by path; there may be none."""
    folders = folders_with(root, "labels.h5")
    return [LabelledSet(folder) for folder in folders if (folder / "Fgt.h5").exists()]
