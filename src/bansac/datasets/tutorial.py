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

The same names serve the tutorial's own sets: PhotoTourism in ``val/<scene>`` and ``train/<scene>``, EVD and HPatches in
``<name>/val`` and the like. E and F are computed from the poses. The matches are one-way nearest neighbours. The paper
keeps ratios < 0.85 for E and F and < 0.6 for H (:data:`MAX_RATIO`, :meth:`Pair.filtered`); its tables leave out pairs
with few matches, which is the caller's business.

Where there is no ``size.h5``, the images tell the sizes. For image 1 of the pair "a-b" that is a file called

1. ``1/a``, in a folder of all first images (EVD: ``1/adam.png`` and ``2/adam.png``), or
2. ``a``, or whose path ends in ``a`` with "/" for "_" or "-" (HPatches: ``v_dogman/1.ppm`` for "v_dogman_1"), or
3. ``a/1``, or ``1/x`` for "x1" and "x_1",

with any usual suffix; for image 2 put 2 and b. Where several files fit, those in the folder of the other image count.
It is looked for below the set, then in the folders imgs, images, img, image, 1, 2 and ``<parent's name>`` beside it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_RATIO",
    "Pair",
    "PairSet",
    "Reader",
    "evenly_spaced",
    "find_sets",
    "lacking_files",
    "looks_like_a_set",
    "read_keys",
    "set_name",
]

MAX_RATIO = {"EF": 0.85, "H": 0.6}
"""SNN ratio below which the paper keeps matches, by kind of set."""

_Array = NDArray[np.float64]
_Which: TypeAlias = Literal[1, 2]

_MATCH_FILES = ("matches.h5", "match_conf.h5")
_TRUTH_FILES = {"EF": ("K1_K2.h5", "R.h5", "T.h5"), "H": ("Hgt.h5",)}
_SIZE_FILES: dict[_Which, str] = {1: "size.h5", 2: "size2.h5"}
_SPLITS = ("train", "val", "test")  # folders of the tutorial that do not name what is in them
_IMAGE_FOLDERS = ("imgs", "images", "img", "image", "1", "2")
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp")


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
        Height and width of the images, where the set tells them; :meth:`PairSet.image_size` tells why it does not.
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
        Its name; the tutorial's ``EVD/val`` is "EVD-val".
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
        self.name = set_name(self.folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"there is no folder {self.folder}")
        self.kind: Literal["EF", "H"] = "H" if (self.folder / "Hgt.h5").exists() else "EF"
        if missing := lacking_files(self.folder):
            raise FileNotFoundError(f"{self.folder} is no complete set of pairs: {missing} is missing")
        self.keys = read_keys(self.folder)
        self._known = frozenset(self.keys)
        self._images = _Images(self.folder)

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
        self._check_key(key)
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
            size1=self._size_if_known(key, 1),
            size2=self._size_if_known(key, 2),
            **truth,
        )

    def pairs(self, limit: int | None = 43, *, first: int | None = None) -> Iterator[Pair]:
        """Read pairs one after the other, evenly spaced over the sorted keys.

        Parameters
        ----------
        limit : int or None, optional
            Largest number of pairs; None for all.
        first : int or None, optional
            Choose among this many keys, the first ones; None for all. The paper takes the first 4000 of a scene.

        Yields
        ------
        Pair
            The next pair.

        Raises
        ------
        ValueError
            If the limit or ``first`` is below 1.
        OSError
            As :meth:`pair` does.
        """
        if first is not None and first < 1:
            raise ValueError(f"first must be at least 1, got {first}")
        return map(self.pair, evenly_spaced(self.keys[:first], limit))

    def match_counts(self, max_ratio: float | None = None, limit: int | None = 50) -> NDArray[np.int64]:
        """Count matches below a ratio, for pairs evenly spaced over the sorted keys; only the ratios are read.

        Parameters
        ----------
        max_ratio : float or None, optional
            Matches of a lower SNN ratio count; by default the paper's for this kind, :data:`MAX_RATIO`.
        limit : int or None, optional
            Largest number of pairs; None for all.

        Returns
        -------
        (P,) ndarray of int64
            Number of matches by pair.

        Raises
        ------
        ValueError
            If the limit is below 1.
        OSError
            If the file is damaged or lacks a pair.
        """
        bound = MAX_RATIO[self.kind] if max_ratio is None else max_ratio
        with Reader(self.folder / "match_conf.h5") as file:
            counts = [np.count_nonzero(file.array(key, (-1,)) < bound) for key in evenly_spaced(self.keys, limit)]
        return np.array(counts, dtype=np.int64)

    def image_size(self, key: str, which: _Which = 1) -> tuple[int, int]:
        """Return the size of an image, from the set's file of sizes or else from the image itself.

        Parameters
        ----------
        key : str
            Name of the pair, one of ``keys``.
        which : {1, 2}, optional
            Image 1 or image 2 of the pair.

        Returns
        -------
        (int, int)
            Height and width in pixels.

        Raises
        ------
        ValueError
            If the set has no such pair, or ``which`` is neither 1 nor 2.
        OSError
            If the set has no such file and the image is not there, several fit, or it cannot be read. The message names
            what was looked for.
        ImportError
            If an image has to be read and OpenCV is not installed.
        """
        self._check_key(key)
        _check_which(which)
        name = _SIZE_FILES[which]
        if not (self.folder / name).exists():
            return self._images.size(key, which)
        height, width = self._read(name, key, (2,))
        return int(height), int(width)

    def image_path(self, key: str, which: _Which = 1) -> Path:
        """Return the file of an image; the top of this module tells where it is looked for.

        Parameters
        ----------
        key : str
            Name of the pair, one of ``keys``.
        which : {1, 2}, optional
            Image 1 or image 2 of the pair.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If the set has no such pair, or ``which`` is neither 1 nor 2.
        OSError
            If the image is not there, or several fit. The message names what was looked for.
        """
        self._check_key(key)
        _check_which(which)
        return self._images.find(key, which)

    def files(self) -> list[Path]:
        """Return the files that :meth:`pair` reads: those of the set and, where they tell sizes, images.

        Returns
        -------
        list of Path
            Their absolute paths, each once; images that are not there are left out.
        """
        names = (*_MATCH_FILES, *_TRUTH_FILES[self.kind], *_SIZE_FILES.values())
        paths = [path for name in names if (path := self.folder.resolve() / name).exists()]
        if self.kind == "H":
            for which, name in _SIZE_FILES.items():
                if not (self.folder / name).exists():
                    paths += self._images_there(which)
        return list(dict.fromkeys(paths))

    def size_source(self) -> Literal["files", "images"] | None:
        """Return where the size of image 1 comes from, going by the first pair; no image is read."""
        if (self.folder / _SIZE_FILES[1]).exists():
            return "files"
        try:
            self.image_path(self.keys[0])
        except OSError:
            return None
        return "images"

    def _images_there(self, which: _Which) -> Iterator[Path]:
        for key in self.keys:
            with contextlib.suppress(OSError):
                yield self._images.find(key, which)

    def _check_key(self, key: str) -> None:
        if key not in self._known:
            raise ValueError(
                f"the set {self.name} has no pair {key!r}; it has {len(self)}, the first is {self.keys[0]!r}"
            )

    def _homography(self, key: str) -> dict[str, Any]:
        return {"H": self._read("Hgt.h5", key, (3, 3))}

    def _pose(self, key: str) -> dict[str, Any]:
        K1, K2 = self._read("K1_K2.h5", key, (2, 3, 3))
        with Reader(self.folder / "R.h5") as rotations:
            image1, image2 = _split_key(key, rotations.keys(), self.folder / "R.h5")
        R1, R2 = (self._read("R.h5", image, (3, 3)) for image in (image1, image2))
        T1, T2 = (self._read("T.h5", image, (3,)) for image in (image1, image2))
        R = R2 @ R1.T
        t = T2 - R @ T1
        E = _cross_matrix(t) @ R
        F = np.linalg.inv(K2).T @ E @ np.linalg.inv(K1)
        return {"K1": K1, "K2": K2, "R": R, "t": t, "E": E / np.linalg.norm(E), "F": F / np.linalg.norm(F)}

    def _size_if_known(self, key: str, which: _Which) -> tuple[int, int] | None:
        """Return the size of an image; None where it is not known: not everyone needs it."""
        if (self.folder / _SIZE_FILES[which]).exists():
            return self.image_size(key, which)
        if self.kind == "EF":  # poses are judged without it
            return None
        try:
            return self._images.size(key, which)
        except (OSError, ImportError):
            return None

    def _read(self, name: str, key: str, shape: tuple[int, ...]) -> _Array:
        with Reader(self.folder / name) as file:
            return file.array(key, shape)


def find_sets(root: str | os.PathLike[str]) -> list[PairSet]:
    """Find the sets in a folder and below it.

    A folder is a set where it holds ``matches.h5``, ``match_conf.h5`` and truth (``Hgt.h5``, ``R.h5`` or ``T.h5``); one
    of them whose other files are missing is an error. Other folders are passed over, as the tutorial's test sets are,
    which have cameras but no poses.

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
    folders = sorted(path.parent for path in root.rglob("matches.h5") if looks_like_a_set(path.parent))
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


def lacking_files(folder: str | os.PathLike[str]) -> str:
    """Return what a folder lacks to be a set of pairs, in words; "" for one that lacks nothing.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    str
        Names of files.
    """
    names = _MATCH_FILES + _TRUTH_FILES["H" if (Path(folder) / "Hgt.h5").exists() else "EF"]
    missing = [name for name in names if not (Path(folder) / name).exists()]
    alternative = " (or Hgt.h5)" if set(_TRUTH_FILES["EF"]) <= set(missing) else ""
    return ", ".join(missing) + alternative


def looks_like_a_set(folder: Path) -> bool:
    """Tell whether a folder with matches is to be taken for a set of pairs, a complete one or not.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    bool
        Whether there are ratios and some truth.
    """
    has_truth = any((folder / name).exists() for name in ("Hgt.h5", "R.h5", "T.h5"))
    return has_truth and (folder / "match_conf.h5").exists()


def set_name(folder: str | os.PathLike[str]) -> str:
    """Return the name of the set in a folder: that of the folder, with its parent's where it is a split.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> set_name("/data/EVD/val"), set_name("/data/val/sacre_coeur")
    ('EVD-val', 'sacre_coeur')
    """
    resolved = Path(folder).resolve()
    return f"{resolved.parent.name}-{resolved.name}" if resolved.name in _SPLITS else resolved.name


def read_keys(folder: Path) -> tuple[str, ...]:
    """Return the names of the pairs of the set in a folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    tuple of str
        The keys of its ``matches.h5``, sorted.

    Raises
    ------
    OSError
        If the file is missing, damaged, or holds no pairs; the message names it.
    ImportError
        If h5py is not installed.
    """
    with Reader(folder / "matches.h5") as matches:
        keys = tuple(matches.keys())
    if not keys:
        raise OSError(f"{folder / 'matches.h5'} holds no pairs")
    return keys


def _check_which(which: int) -> None:
    if which not in _SIZE_FILES:
        raise ValueError(f"which must be 1 or 2, got {which!r}")


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


class _Images:
    """The images of a set, found by the names that its keys are made of; see the top of this module.

    Parameters
    ----------
    folder : Path
        Folder of the set.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._sizes: dict[Path, tuple[int, int]] = {}

    def size(self, key: str, which: _Which) -> tuple[int, int]:
        """Return height and width of an image."""
        path = self.find(key, which)
        if path not in self._sizes:
            from bansac.datasets.matching import read_image

            height, width = read_image(path).shape
            self._sizes[path] = height, width
        return self._sizes[path]

    def find(self, key: str, which: _Which) -> Path:
        """Return the file of image 1 or 2 of a pair."""
        found = [self._fitting(name1, name2) for name1, name2 in _cuts(key)]
        # The key may be cut at several hyphens: best where that gives both images.
        found.sort(key=lambda both: (not all(both), len(both[which - 1]) != 1))
        wanted = next((both[which - 1] for both in found if both[which - 1]), [])
        if len(wanted) == 1:
            return wanted[0]
        if wanted:
            raise OSError(f"several files fit image {which} of the pair {key!r}: {', '.join(map(str, wanted[:5]))}")
        names = " or ".join(dict.fromkeys(repr(names[which - 1]) for names in _cuts(key)))
        raise FileNotFoundError(
            f"no size of image {which} of the pair {key!r}: {self._folder} has no {_SIZE_FILES[which]}, and no image "
            f"called {names} ({', '.join(_IMAGE_SUFFIXES)}) is in {', '.join(map(str, self._roots()))} or below"
        )

    def _fitting(self, name1: str, name2: str) -> tuple[list[Path], list[Path]]:
        """Return the files that fit the names of both images, best one each."""
        fit1, fit2 = self._candidates(name1, 1), self._candidates(name2, 2)
        folders1, folders2 = {path.parent for path in fit1}, {path.parent for path in fit2}
        near1, near2 = [p for p in fit1 if p.parent in folders2], [p for p in fit2 if p.parent in folders1]
        return (near1 or fit1) if len(fit1) > 1 else fit1, (near2 or fit2) if len(fit2) > 1 else fit2

    def _candidates(self, name: str, which: _Which) -> list[Path]:
        """Return the files that fit a name best."""
        for files in self._files:
            for wanted in (f"{which}_{name}", name, f"{name}_{which}"):
                if found := files.get(_plain(wanted)):
                    exact = [path for path in found if path.stem == name]
                    return exact or found
        return []

    @cached_property
    def _files(self) -> list[dict[str, list[Path]]]:
        """Files by every name that they may go by: those below the set, then those beside it."""
        own, *beside = ([path for path in root.rglob("*") if _is_image(path)] for root in self._roots())
        return [_by_name(self._folder, own), _by_name(self._folder.parent, [p for paths in beside for p in paths])]

    def _roots(self) -> list[Path]:
        parent = self._folder.parent
        beside = dict.fromkeys(parent / name for name in (*_IMAGE_FOLDERS, parent.name))
        return [self._folder, *(path for path in beside if path.is_dir())]


def _cuts(key: str) -> list[tuple[str, str]]:
    """Return all ways to cut a key into two names at a hyphen; one without hyphens names both images."""
    parts = key.split("-")
    return [("-".join(parts[:cut]), "-".join(parts[cut:])) for cut in range(1, len(parts))] or [(key, key)]


def _plain(name: str) -> str:
    return name.replace("-", "_").replace("/", "_")


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in _IMAGE_SUFFIXES


def _by_name(root: Path, paths: list[Path]) -> dict[str, list[Path]]:
    """Return files by name: "b", "a_b" and so on for ``a/b.png``, and "x1" and "x_1" for ``1/x.png``."""
    files: dict[str, list[Path]] = {}
    for path in sorted(paths):
        parts = path.relative_to(root).with_suffix("").parts
        names = ["_".join(parts[start:]) for start in range(len(parts))]
        if path.parent.name in ("1", "2"):
            names += [path.stem + path.parent.name, f"{path.stem}_{path.parent.name}"]
        for name in dict.fromkeys(map(_plain, names)):
            files.setdefault(name, []).append(path)
    return files


class Reader:
    """An open HDF5 file whose every failure is an OSError that names it; to be used in a ``with`` statement.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If it is missing or damaged.
    ImportError
        If h5py is not installed.
    """

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

    def __enter__(self) -> Reader:
        """Return the open file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
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
