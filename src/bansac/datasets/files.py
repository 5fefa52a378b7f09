"""Matches, points and camera matrices in text, npz, h5 and JSON files.

Text (``.csv``, ``.txt``) has columns x1, y1, x2, y2, or x, y and, if there are scores, score; a header line may name
them in another order. An error is an OSError or a ValueError that names the file and what was found in it.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.datasets.hdf5 import import_h5py
from bansac.datasets.matches import Matches
from bansac.datasets.tutorial import PairSet

__all__ = ["read_calibration", "read_matches", "read_points"]

Array = NDArray[np.float64]
_Line = tuple[int, list[str]]  # number and fields

_MATCH_COLUMNS = ("x1", "y1", "x2", "y2")
_POINT_COLUMNS = ("x", "y")
_SCORE_COLUMN = "score"


def read_matches(path: Path, pair: str | None = None) -> Matches:
    """Read matches, finite and of equal lengths, from a text, npz or h5 file.

    npz and h5 have ``x1`` and ``x2`` (N, 2), or ``matches`` (N, 4); if there are any, ``scores`` (N), and ``K``, or
    ``K1`` and ``K2`` (3, 3). With the key of a ``pair`` the path is a folder in the RANSAC tutorial's format; scores
    are 1 - ratio.
    """
    if pair is not None:
        found = PairSet(path).pair(pair)
        return replace(found, scores=None if found.scores is None else np.clip(found.scores, 0.0, 1.0))
    if _is_table(path):
        table, scores = _read_table(path, _MATCH_COLUMNS)
        return Matches(table[:, :2], table[:, 2:], scores=scores)
    arrays = _read_arrays(path)
    if "matches" in arrays:
        both = _array(path, arrays, "matches", (None, 4))
        x1, x2 = both[:, :2], both[:, 2:]
    else:
        x1 = _array(path, arrays, "x1", (None, 2))
        x2 = _array(path, arrays, "x2", (len(x1), 2))
    K1, K2 = _cameras(path, arrays) if {"K", "K1", "K2"} & arrays.keys() else (None, None)
    return Matches(x1, x2, scores=_scores(path, arrays, len(x1)), K1=K1, K2=K2)


def read_points(path: Path) -> tuple[Array, Array | None]:
    """Read finite ``points`` (N, 2) of the plane, and their ``scores`` (N) or None, from a text, npz or h5 file."""
    if _is_table(path):
        return _read_table(path, _POINT_COLUMNS)
    arrays = _read_arrays(path)
    points = _array(path, arrays, "points", (None, 2))
    return points, _scores(path, arrays, len(points))


def read_calibration(path: Path) -> tuple[Array, Array]:
    """Read one camera matrix for both images, or one for each, and return K1 and K2.

    ``.json`` and ``.npz`` have ``K``, or ``K1`` and ``K2``; any other file is text with the three rows of K, or with
    the three of K1 and the three of K2.
    """
    if path.suffix == ".json":
        try:
            document = json.loads(_read_text(path))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}: not JSON: {error}") from None
        if not isinstance(document, dict):
            raise ValueError(f"{path}: must hold an object with K, or with K1 and K2, got {type(document).__name__}")
        return _cameras(path, document)
    if path.suffix == ".npz":
        return _cameras(path, _read_arrays(path))
    rows = [fields for _, fields in _fields_by_line(path)]
    if len(rows) not in (3, 6) or any(len(row) != 3 for row in rows):
        raise ValueError(f"{path}: must hold 3 rows of 3 numbers (K) or 6 (K1, then K2), got {len(rows)} rows")
    return _cameras(path, {"K1": rows[:3], "K2": rows[-3:]})


def _cameras(path: Path, arrays: dict[str, Any]) -> tuple[Array, Array]:
    if "K1" in arrays and "K2" in arrays:
        return _camera(path, arrays, "K1"), _camera(path, arrays, "K2")
    if "K" in arrays:
        K = _camera(path, arrays, "K")
        return K, K
    raise ValueError(f"{path}: must hold K, or K1 and K2; it has {_names(arrays)}")


def _camera(path: Path, arrays: dict[str, Any], name: str) -> Array:
    K = _array(path, arrays, name, (3, 3))
    if np.any(K[2] != (0, 0, 1)) or K[1, 0] != 0 or K[0, 0] <= 0 or K[1, 1] <= 0:
        raise ValueError(f"{path}: {name} must be a camera matrix [[f, s, u], [0, f, v], [0, 0, 1]], got {K.tolist()}")
    return K


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> OSError:
    reason = getattr(error, "strerror", None) or str(error)
    return OSError(f"{path}: cannot be read: {reason}")


def _is_table(path: Path) -> bool:
    kinds = (".csv", ".txt", ".npz", ".h5", ".hdf5")
    if path.suffix not in kinds:
        raise ValueError(f"{path}: the suffix must be one of {', '.join(kinds)}")
    return path.suffix in (".csv", ".txt")


def _read_table(path: Path, columns: tuple[str, ...]) -> tuple[Array, Array | None]:
    """Read a text table: commas, semicolons or blanks between the fields, comments after ``#``."""
    rows = _fields_by_line(path)
    names = [*columns, _SCORE_COLUMN]
    if rows and not _is_number(rows[0][1][0]):
        names = _header(path, rows.pop(0)[1], columns)
    elif rows:
        number, fields = rows[0]
        if len(fields) not in (len(columns), len(names)):
            raise ValueError(
                f"{path}: line {number} has {len(fields)} columns, expected {len(columns)} or {len(names)}: {names}"
            )
        names = names[: len(fields)]
    if not rows:
        raise ValueError(f"{path}: holds no rows; expected the columns {', '.join(columns)} and maybe {_SCORE_COLUMN}")
    for number, fields in rows:
        if len(fields) != len(names):
            raise ValueError(f"{path}: line {number} has {len(fields)} columns, expected {len(names)}")
    table = np.genfromtxt([" ".join(fields) for _, fields in rows], dtype=np.float64, ndmin=2)  # NaN for other text
    for row, column in np.argwhere(~np.isfinite(table))[:1]:
        number, fields = rows[row]
        raise ValueError(f"{path}: line {number}: {fields[column]!r} is no finite number")
    scores = table[:, names.index(_SCORE_COLUMN)] if _SCORE_COLUMN in names else None
    return table[:, [names.index(name) for name in columns]], scores


def _fields_by_line(path: Path) -> list[_Line]:
    """Return number and fields of every line of a text that is neither blank nor a comment."""
    lines = enumerate(_read_text(path).splitlines(), start=1)
    rows = [(number, line.split("#")[0].replace(",", " ").replace(";", " ").split()) for number, line in lines]
    return [(number, fields) for number, fields in rows if fields]


def _header(path: Path, fields: list[str], columns: tuple[str, ...]) -> list[str]:
    names = [field.strip('"').lower() for field in fields]
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(f"{path}: the header has no column {', '.join(missing)}; it has {', '.join(names)}")
    return names


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_arrays(path: Path) -> dict[str, Any]:
    """Read all arrays of an npz or h5 file."""
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as archive:
                return dict(archive)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise _unreadable(path, error) from None
    h5py = import_h5py()
    try:
        with h5py.File(path, "r") as file:
            return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}
    except OSError as error:
        raise _unreadable(path, error) from None


def _scores(path: Path, arrays: dict[str, Any], n: int) -> Array | None:
    return _array(path, arrays, "scores", (n,)) if "scores" in arrays else None


def _array(path: Path, arrays: dict[str, Any], name: str, shape: tuple[int | None, ...]) -> Array:
    """Return an array of the file as finite float64 of the given shape, None being any length."""
    if name not in arrays:
        raise ValueError(f"{path}: has no array {name!r}; it has {_names(arrays)}")
    try:
        array = np.asarray(arrays[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{path}: {name} must hold numbers") from None
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("N" if length is None else str(length) for length in shape)
        raise ValueError(f"{path}: {name} must have the shape ({wanted}), got {array.shape}")
    if not np.all(np.isfinite(array)):
        first = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{path}: {name} must be finite, got {array[tuple(first)]} at {first}")
    return array


def _names(arrays: dict[str, Any]) -> str:
    return ", ".join(sorted(arrays)) or "nothing"
