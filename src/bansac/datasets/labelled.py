"""Matches whose inliers are labelled one by one, with a true fundamental matrix but no cameras (AdelaideRMF).

A folder is one set; each file in it is an HDF5 file keyed by pair:

==============  =====================================================
``matches.h5``  (N, 4): x1 y1 x2 y2 in pixels
``labels.h5``   (N,): 1 for a true match, 0 for a wrong one
``Fgt.h5``      (3, 3): fundamental matrix, ``x2^T F x1 = 0``
==============  =====================================================
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from bansac.datasets.hdf5 import PairFolder, folders_with
from bansac.datasets.matches import Matches

__all__ = ["LabelledSet", "find_labelled_sets", "missing_files"]

_FILES = ("matches.h5", "labels.h5", "Fgt.h5")


class LabelledSet(PairFolder):
    """The pairs of one folder; files are read when a pair is asked for.

    Parameters
    ----------
    folder : str or path
        Folder with the files of one set.

    Attributes
    ----------
    folder, name, keys
        As of a :class:`~bansac.datasets.PairSet`.

    Raises
    ------
    OSError
        If a file is missing, damaged, or holds no pairs; the message names it.
    ImportError
        If h5py is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if missing := missing_files(folder):
            raise FileNotFoundError(f"{Path(folder)} is no set of labelled matches: {missing} is missing")
        super().__init__(folder)

    def files(self) -> list[Path]:
        """Return the absolute paths of the files that :meth:`pair` reads."""
        return [self.folder.resolve() / name for name in _FILES]

    def pair(self, key: str) -> Matches:
        """Read one pair.

        Parameters
        ----------
        key : str
            Name of the pair, one of ``keys``.

        Returns
        -------
        Matches
            Its matches, ``inliers`` and ``F`` of unit norm.

        Raises
        ------
        OSError
            If a file is damaged, lacks the pair, or holds data of another shape.
        """
        x1, x2, labels = self._matches(key, "labels.h5", "labels")
        F = self._read("Fgt.h5", key, (3, 3))
        norm = np.linalg.norm(F)
        if norm == 0:
            raise OSError(f"{self.folder / 'Fgt.h5'}: the matrix of {key!r} is zero")
        return Matches(x1, x2, key=key, inliers=labels != 0, F=F / norm)


def missing_files(folder: str | os.PathLike[str]) -> str:
    """Return the files that a folder misses to be a set of labelled matches, in words; "" if it is complete."""
    return ", ".join(name for name in _FILES if not (Path(folder) / name).exists())


def find_labelled_sets(root: str | os.PathLike[str]) -> list[LabelledSet]:
    """Find the sets of labelled matches in a folder and below it, sorted by path; there may be none.

    No such folder, or a damaged file, is an OSError.
    """
    folders = folders_with(root, "labels.h5")
    return [LabelledSet(folder) for folder in folders if (folder / "Fgt.h5").exists()]
