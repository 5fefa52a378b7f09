"""Matches with true poses or homographies, as the "RANSAC in 2020" tutorial stores them.

A folder is one set; each file in it is an HDF5 file keyed by pair ("img1-img2") or by image:

==================  =========================================================================
``matches.h5``      (N, 4): x1 y1 x2 y2 in pixels, pixel centres at whole coordinates
``match_conf.h5``   (N,): ratio of the nearest to the second nearest distance (SNN), lower is better
``K1_K2.h5``        EF: camera matrices (1, 2, 3, 3)
``R.h5``, ``T.h5``  EF, by image: rotation (3, 3) and translation (3, 1), ``x_camera = R X + T``
``Hgt.h5``          H: homography (3, 3) from image 1 to image 2
``size.h5``         optional: height and width of image 1
``size2.h5``        optional: height and width of image 2
==================  =========================================================================

The same names serve the tutorial's own PhotoTourism, EVD and HPatches sets. E and F are computed from the poses.
The matches are one-way nearest neighbours. The paper keeps ratios < 0.85 for E and F and < 0.6 for H
(:meth:`Pair.filtered`); its tables leave out pairs with few matches, which is the caller's business.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pair", "PairSet", "find_sets"]

_Array = NDArray[np.float64]

_MATCH_FILES = ("matches.h5", "match_conf.h5")
_TRUTH_FILES = {"EF": ("K1_K2.h5", "R.h5", "T.h5"), "H": ("Hgt.h5",)}


@dataclass(frozen=True, eq=False)
class Pair:
    """Matches of two images and the truth about them.

    Parameters
    ----------
    key : str
        Name of the pair, "img1-img2".
    x1, x2 : (N, 2) ndarray
        Matched points in pixels.
    ratios : (N,) ndarray
        SNN ratio of every match; lower is better.
    K1, K2 : (3, 3) ndarray or None
        Camera matrices (EF).
    R, t : (3, 3) and (3,) ndarray or None
        Motion from camera 1 to camera 2, ``x2 = R x1 + t`` (EF).
    F, E : (3, 3) ndarray or None
        Fundamental and essential matrix, both of unit norm: ``x2^T F x1 = 0`` (EF).
    H : (3, 3) ndarray or None
        Homography from image 1 to image 2 (H).
    size1, size2 : (int, int) or None
        Height and width of the images, where the set tells them.
    """

    key: str
    x1: _Array
    x2: _Array
    ratios: _Array
    K1: _Array | None = None
    K2: _Array | None = None
    R: _Array | None = None
    t: _Array | None = None
    F: _Array | None = None
    E: _Array | None = None
    H: _Array | None = None
    size1: tuple[int, int] | None = None
    size2: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.x1)

    @property
    def scores(self) -> _Array:
        """The paper's scores, 1 - ratio: larger is better."""
        return 1 - self.ratios

    def filtered(self, max_ratio: float) -> Pair:
        """Return the pair with those matches alone whose ratio is below (not at) ``max_ratio``, in the same order.

        Examples
        --------
        >>> pair = Pair("a-b", np.zeros((3, 2)), np.zeros((3, 2)), ratios=np.array([0.5, 0.6, 0.7]))
        >>> len(pair.filtered(0.6))
        1
        """
        keep = self.ratios < max_ratio
        return replace(self, x1=self.x1[keep], x2=self.x2[keep], ratios=self.ratios[keep])


class PairSet:
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
        Its name.
    kind : {"EF", "H"}
        Whether the truth is a pose or a homography.
    keys : tuple of str
        Names of the pairs, sorted.

    Raises
    ------
    OSError
        If a file is missing, damaged, or lacks a pair; the message names it.
    ImportError
        If h5py is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.name = self.folder.resolve().name
        if not self.folder.is_dir():
            raise FileNotFoundError(f"there is no folder {self.folder}")
        self.kind: Literal["EF", "H"] = "H" if (self.folder / "Hgt.h5").exists() else "EF"
        missing = [name for name in _MATCH_FILES + _TRUTH_FILES[self.kind] if not (self.folder / name).exists()]
        if missing:
            raise FileNotFoundError(f"{self.folder} is no complete set of pairs: {', '.join(missing)} is missing")
        with _Reader(self.folder / "matches.h5") as matches:
            self.keys = tuple(matches.keys())
        if not self.keys:
            raise OSError(f"{self.folder / 'matches.h5'} holds no pairs")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def __repr__(self) -> str:
        """Name the set."""
        return f"PairSet({self.name!r}, kind={self.kind!r}, {len(self)} pairs)"

    def pair(self, key: str) -> Pair:
        """Read one pair.

        Parameters
        ----------
        key : str
            Name of the pair, one of ``keys``.

        Returns
        -------
        Pair
            Its matches and truth.

        Raises
        ------
        ValueError
            If the set has no such pair.
        OSError
            If a file is damaged, lacks the pair, or holds data of another shape.
        """
        if key not in self.keys:
            raise ValueError(
                f"the set {self.name} has no pair {key!r}; it has {len(self)}, the first is {self.keys[0]!r}"
            )
        matches = self._read("matches.h5", key, (-1, 4))
        ratios = self._read("match_conf.h5", key, (-1,))
        if len(ratios) != len(matches):
            raise OSError(f"{self.folder}: pair {key!r} has {len(matches)} matches but {len(ratios)} ratios")
        truth = self._homography(key) if self.kind == "H" else self._pose(key)
        return Pair(
            key=key,
            x1=matches[:, :2].copy(),
            x2=matches[:, 2:].copy(),
            ratios=ratios,
            size1=self._size("size.h5", key),
            size2=self._size("size2.h5", key),
            **truth,
        )

    def pairs(self, limit: int | None = 43) -> Iterator[Pair]:
        """Read pairs one after the other, evenly spaced over the sorted keys.

        Parameters
        ----------
        limit : int or None, optional
            Largest number of pairs; None for all.

        Yields
        ------
        Pair
            The next pair.

        Raises
        ------
        ValueError
            If the limit is below 1.
        OSError
            As :meth:`pair` does.
        """
        return map(self.pair, evenly_spaced(self.keys, limit))

    def _homography(self, key: str) -> dict[str, Any]:
        return {"H": self._read("Hgt.h5", key, (3, 3))}

    def _pose(self, key: str) -> dict[str, Any]:
        K1, K2 = self._read("K1_K2.h5", key, (2, 3, 3))
        with _Reader(self.folder / "R.h5") as rotations:
            image1, image2 = _split_key(key, rotations.keys(), self.folder / "R.h5")
        R1, R2 = (self._read("R.h5", image, (3, 3)) for image in (image1, image2))
        T1, T2 = (self._read("T.h5", image, (3,)) for image in (image1, image2))
        R = R2 @ R1.T
        t = T2 - R @ T1
        E = _cross_matrix(t) @ R
        F = np.linalg.inv(K2).T @ E @ np.linalg.inv(K1)
        return {"K1": K1, "K2": K2, "R": R, "t": t, "E": E / np.linalg.norm(E), "F": F / np.linalg.norm(F)}

    def _size(self, name: str, key: str) -> tuple[int, int] | None:
        if not (self.folder / name).exists():
            return None
        height, width = self._read(name, key, (2,))
        return int(height), int(width)

    def _read(self, name: str, key: str, shape: tuple[int, ...]) -> _Array:
        with _Reader(self.folder / name) as file:
            return file.array(key, shape)


def find_sets(root: str | os.PathLike[str]) -> list[PairSet]:
    """Find the sets in a folder and below it.

    A folder is a set where it holds ``matches.h5``, ``match_conf.h5`` and truth (``Hgt.h5``, or any of ``K1_K2.h5``,
    ``R.h5``, ``T.h5``); one of them whose other files are missing is an error, other folders are passed over.

    Parameters
    ----------
    root : str or path
        A set, or a folder with sets somewhere below.

    Returns
    -------
    list of PairSet
        The sets, sorted by path.

    Raises
    ------
    OSError
        If there is no such folder, no set in it, or a set is incomplete or damaged.
    ImportError
        If h5py is not installed.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}")
    folders = sorted(path.parent for path in root.rglob("matches.h5") if _looks_like_a_set(path.parent))
    if not folders:
        wanted = "matches.h5, match_conf.h5, and Hgt.h5 or K1_K2.h5, R.h5 and T.h5"
        raise FileNotFoundError(f"no set of pairs in {root} or below: a set is a folder with {wanted}")
    return [PairSet(folder) for folder in folders]


def evenly_spaced(keys: tuple[str, ...], limit: int | None) -> list[str]:
    """Return at most ``limit`` of the keys, evenly spaced, first and last among them.

    Examples
    --------
    >>> evenly_spaced(("a", "b", "c", "d", "e"), 3)
    ['a', 'c', 'e']
    """
    if limit is None or limit >= len(keys):
        return list(keys)
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    chosen = np.unique(np.linspace(0, len(keys) - 1, limit).astype(int))
    return [keys[i] for i in chosen]


def _looks_like_a_set(folder: Path) -> bool:
    has_truth = any((folder / name).exists() for names in _TRUTH_FILES.values() for name in names)
    return has_truth and (folder / "match_conf.h5").exists()


def _split_key(key: str, images: list[str], path: Path) -> tuple[str, str]:
    """Split "img1-img2" into two known images; the names may contain hyphens themselves."""
    known = set(images)
    parts = key.split("-")
    for cut in range(1, len(parts)):
        image1, image2 = "-".join(parts[:cut]), "-".join(parts[cut:])
        if image1 in known and image2 in known:
            return image1, image2
    raise OSError(f"{path} lacks an image of the pair {key!r}")


def _cross_matrix(t: _Array) -> _Array:
    return np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]])


class _Reader:
    """An open HDF5 file whose every failure is an OSError that names it."""

    def __init__(self, path: Path) -> None:
        try:
            import h5py
        except ImportError as error:
            raise ImportError("reading HDF5 files needs h5py: pip install 'bansac[data]'") from error
        self._path = path
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise OSError(f"cannot read {path}: {error}") from error

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """Return the keys, sorted."""
        try:
            return sorted(self._file.keys())
        except (OSError, RuntimeError) as error:
            raise OSError(f"cannot read {self._path}: {error}") from error

    def array(self, key: str, shape: tuple[int, ...]) -> _Array:
        """Return finite float64 numbers of a shape; -1 stands for any length, axes of length 1 do not count."""
        try:
            if key not in self._file:
                raise OSError(f"{self._path} lacks {key!r}")
            values = np.asarray(self._file[key][()], dtype=np.float64)
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
            message = str(error) if str(self._path) in str(error) else f"cannot read {key!r} of {self._path}: {error}"
            raise OSError(message) from error
        try:
            reshaped = values.reshape(shape)
        except ValueError:
            reshaped = None
        if reshaped is None or _without_ones(reshaped.shape) != _without_ones(values.shape):
            wanted = str(shape).replace("-1", "N")
            raise OSError(f"{key!r} of {self._path} must have shape {wanted}, got {values.shape}")
        if not np.isfinite(reshaped).all():
            raise OSError(f"{key!r} of {self._path} holds NaN or infinite values")
        return reshaped


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
