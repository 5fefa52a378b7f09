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

from bansac.datasets.hdf5 import Reader, read_keys, set_name
from bansac.datasets.matches import Matches

__all__ = ["LabelledSet", "find_labelled_sets", "missing_files"]

_FILES = ("matches.h5", "labels.h5", "Fgt.h5")


class LabelledSet:
    """The pairs of one folder; files are read when a pair is asked for.

    Parameters
    ----------
    folder : str or path
        Folder with the files of one set.

    Attributes
    ----------
    folder : Path
        The folder.
    name : str
        Its name; that of a split as of a :class:`~bansac.datasets.PairSet`.
    keys : tuple of str
        Names of the pairs, sorted.

    Raises
    ------
    OSError
        If a file is missing, damaged, or holds no pairs; the message names it.
    ImportError
        If h5py is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.name = set_name(self.folder)
        if missing := missing_files(self.folder):
            raise FileNotFoundError(f"{self.folder} is no set of labelled matches: {missing} is missing")
        self.keys = read_keys(self.folder)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def files(self) -> list[Path]:
        """Return the files of the set.

        Returns
        -------
        list of Path
            The absolute paths of what :meth:`pair` reads.
        """
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
        shapes: tuple[tuple[int, ...], ...] = ((-1, 4), (-1,), (3, 3))
        values = []
        for name, shape in zip(_FILES, shapes, strict=True):
            with Reader(self.folder / name) as file:
                values.append(file.array(key, shape))
        matches, labels, F = values
        if len(labels) != len(matches):
            raise OSError(f"{self.folder}: pair {key!r} has {len(matches)} matches but {len(labels)} labels")
        norm = np.linalg.norm(F)
        if norm == 0:
            raise OSError(f"{self.folder / 'Fgt.h5'}: the matrix of {key!r} is zero")
        return Matches(matches[:, :2].copy(), matches[:, 2:].copy(), key=key, inliers=labels != 0, F=F / norm)


def missing_files(folder: str | os.PathLike[str]) -> str:
    """Return the files that a folder misses to be a set of labelled matches, in words; "" if it is complete.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    str
        Names of files.
    """
    return ", ".join(name for name in _FILES if not (Path(folder) / name).exists())


def find_labelled_sets(root: str | os.PathLike[str]) -> list[LabelledSet]:
    """Find the sets of labelled matches in a folder and below it.

    Parameters
    ----------
    root : str or path
        A set, or a folder with sets somewhere below.

    Returns
    -------
    list of LabelledSet
        The sets, sorted by path; empty if there are none.

    Raises
    ------
    OSError
        If there is no such folder, or a file is damaged.
    ImportError
        If h5py is not installed.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    folders = sorted(path.parent for path in root.rglob("labels.h5") if (path.parent / "Fgt.h5").exists())
    return [LabelledSet(folder) for folder in folders]
