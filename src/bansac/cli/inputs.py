"""Files that a command reads: matches, points and camera matrices.

Every error names the file and says what was found in it.
"""

from __future__ import annotations

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matches", "Points", "read_calibration", "read_matches", "read_points"]

Array = NDArray[np.float64]

_MATCH_COLUMNS = ("x1", "y1", "x2", "y2")
_POINT_COLUMNS = ("x", "y")
_SCORE_COLUMN = "score"


@dataclass(frozen=True)
class Matches:
    """Matched points (N, 2), their scores where there are any, and the camera matrices where the file has them."""

    x1: Array
    x2: Array
    scores: Array | None
    K1: Array | None = None
    K2: Array | None = None


@dataclass(frozen=True)
class Points:
    """Points (N, 2) and their scores where there are any."""

    points: Array
    scores: Array | None


def read_matches(path: Path, pair: str | None = None) -> Matches:
    """Read matches from a csv, npz or h5 file.

    Parameters
    ----------
    path : Path
        * ``.csv`` or ``.txt``: columns x1, y1, x2, y2 and, if there are scores, score; a header line may name them in
          another order.
        * ``.npz`` or ``.h5``: ``x1`` and ``x2`` (N, 2), or ``matches`` (N, 4); if there are any, ``scores`` (N), and
          ``K``, or ``K1`` and ``K2`` (3, 3).
        * with ``pair``: a folder in the RANSAC tutorial's format.
    pair : str, optional
        Key of the pair in such a folder; its scores are 1 - SNN ratio.

    Returns
    -------
    Matches
        What the file holds, finite and of equal lengths.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read or holds something else.
    """
    if pair is not None:
        return _read_pair(path, pair)
    if _is_table(path):
        table, scores = _read_table(path, _MATCH_COLUMNS)
        return Matches(table[:, :2], table[:, 2:], scores)
    arrays = _read_arrays(path)
    if "matches" in arrays:
        both = _array(path, arrays, "matches", (None, 4))
        x1, x2 = both[:, :2], both[:, 2:]
    else:
        x1 = _array(path, arrays, "x1", (None, 2))
        x2 = _array(path, arrays, "x2", (len(x1), 2))
    K1, K2 = _cameras(path, arrays) if {"K", "K1", "K2"} & arrays.keys() else (None, None)
    return Matches(x1, x2, _scores(path, arrays, len(x1)), K1, K2)


def read_points(path: Path) -> Points:
    """Read points of the plane from a csv, npz or h5 file.

    Parameters
    ----------
    path : Path
        * ``.csv`` or ``.txt``: columns x, y and, if there are scores, score; a header line may name them in another
          order.
        * ``.npz`` or ``.h5``: ``points`` (N, 2) and, if there are any, ``scores`` (N).

    Returns
    -------
    Points
        What the file holds, finite and of equal lengths.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read or holds something else.
    """
    if _is_table(path):
        return Points(*_read_table(path, _POINT_COLUMNS))
    arrays = _read_arrays(path)
    points = _array(path, arrays, "points", (None, 2))
    return Points(points, _scores(path, arrays, len(points)))


def read_calibration(path: Path) -> tuple[Array, Array]:
    """Read one camera matrix for both images, or one for each.

    Parameters
    ----------
    path : Path
        ``.json`` or ``.npz`` with ``K``, or with ``K1`` and ``K2``; any other suffix: text with the three rows of K, or
        with the three of K1 and the three of K2.

    Returns
    -------
    K1, K2 : (3, 3) ndarray
        The camera matrices.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read or holds something else.
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
    return _cameras_from_text(path)


def _cameras_from_text(path: Path) -> tuple[Array, Array]:
    lines = [line.split("#")[0].replace(",", " ") for line in _read_text(path).splitlines()]
    rows = [line.split() for line in lines if line.strip()]
    if len(rows) not in (3, 6) or any(len(row) != 3 for row in rows):
        raise ValueError(f"{path}: must hold 3 rows of 3 numbers (K) or 6 (K1, then K2), got {len(rows)} rows")
    halves = {"K1": rows[:3], "K2": rows[-3:]}
    return _cameras(path, halves)


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
    """Read a text table: commas or blanks between the fields, ``#`` before remarks."""
    rows: list[list[float]] = []
    order: list[str] = []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        fields = line.split("#")[0].replace(",", " ").replace(";", " ").split()
        if not fields:
            continue
        if not rows and not order and not _is_number(fields[0]):
            order = _header(path, fields, columns)
            continue
        if not order:
            order = _default_header(path, number, len(fields), columns)
        if len(fields) != len(order):
            raise ValueError(f"{path}: line {number} has {len(fields)} columns, expected {len(order)}")
        rows.append([_number(path, number, field) for field in fields])
    if not rows:
        raise ValueError(f"{path}: holds no rows; expected the columns {', '.join(columns)} and maybe {_SCORE_COLUMN}")
    table = np.array(rows)
    scores = table[:, order.index(_SCORE_COLUMN)] if _SCORE_COLUMN in order else None
    return table[:, [order.index(name) for name in columns]], scores


def _header(path: Path, fields: list[str], columns: tuple[str, ...]) -> list[str]:
    names = [field.strip('"').lower() for field in fields]
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(f"{path}: the header has no column {', '.join(missing)}; it has {', '.join(names)}")
    return names


def _default_header(path: Path, number: int, found: int, columns: tuple[str, ...]) -> list[str]:
    order = [*columns, _SCORE_COLUMN]
    if found not in (len(columns), len(order)):
        raise ValueError(f"{path}: line {number} has {found} columns, expected {len(columns)} or {len(order)}: {order}")
    return order[:found]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _number(path: Path, line: int, field: str) -> float:
    if not _is_number(field) or not math.isfinite(float(field)):
        raise ValueError(f"{path}: line {line}: {field!r} is no finite number")
    return float(field)


def _read_arrays(path: Path) -> dict[str, Any]:
    """Read all arrays of an npz or h5 file."""
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as archive:
                return dict(archive)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise _unreadable(path, error) from None
    try:
        import h5py
    except ModuleNotFoundError:
        raise ModuleNotFoundError("h5 files need h5py: pip install 'bansac[data]'", name="h5py") from None
    try:
        with h5py.File(path, "r") as file:
            return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}
    except OSError as error:
        raise _unreadable(path, error) from None


def _read_pair(folder: Path, key: str) -> Matches:
    from bansac.datasets import PairSet

    pair = PairSet(folder).pair(key)
    return Matches(pair.x1, pair.x2, np.clip(pair.scores, 0.0, 1.0), pair.K1, pair.K2)


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
