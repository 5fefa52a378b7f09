"""Matches, points and camera matrices in text, npy, npz, h5 and JSON files.

Text files (``.csv``, ``.tsv``, ``.txt``) and ``.npy`` files have the columns x1, y1, x2, y2 or x, y, and optionally
score. A header line of a text file may list them in any order and with other columns, such as depth1 and depth2
(``text_tables``). Errors are OSErrors or ValueErrors that name the file and its invalid content.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bansac.geometry.camera import Camera
from bansac.matches.array_files import ARRAY_SUFFIXES, Reader, read_array, read_arrays
from bansac.matches.matches import Matches, as_indices
from bansac.matches.pair_folder import PairFolder
from bansac.matches.text_tables import PER_MATCH, read_rows, read_table, read_text
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_camera, as_numbers

CameraLike = Floats | Camera
"""A camera matrix (3, 3), or a camera with lens distortion."""

_MATCH_COLUMNS = ("x1", "y1", "x2", "y2")

HDF5 = (".h5", ".hdf5")

_CAMERAS = ("K", "K1", "K2")
# Lens distortion of each camera matrix, only in files of cameras.
_DISTORTIONS = {"K": "distortion", "K1": "distortion1", "K2": "distortion2"}
# Names of keypoint arrays; LightGlue numbers images from 0.
_KEYPOINTS = (("keypoints1", "keypoints2"), ("keypoints0", "keypoints1"))
_MATCH_ARRAYS = ("x1", "x2", "matches", "keypoints0", "keypoints1", "keypoints2", *PER_MATCH.values(), *_CAMERAS)


class _Arrays:
    """Arrays of a file by name; every error names the file and the array."""

    def __init__(
        self, path: Path, wanted: tuple[str, ...], arrays: dict[str, Any] | None = None, group: str | None = None
    ) -> None:
        self.path = path
        self.arrays, names = read_arrays(path, wanted, group) if arrays is None else (arrays, sorted(arrays))
        if not names:
            raise ValueError(f"{path}: is empty: it has no arrays")
        self.names = ", ".join(names)

    def get(self, name: str, shape: tuple[int | None, ...], *, finite: bool = True) -> Floats:
        """Return an array as float64 numbers of the given shape, where None is any length."""
        if name not in self.arrays:
            raise ValueError(f"{self.path}: has no array {name!r}; it has {self.names}")
        return as_numbers(f"{self.path}: {name}", self.arrays[name], shape, finite=finite)

    def per_match(self, n: int) -> dict[str, Any]:
        """Return the scores and the depths (n) that the file has; unknown depths are not finite."""
        names = (name for name in PER_MATCH.values() if name in self.arrays)
        return {name: self.get(name, (n,), finite=name == "scores") for name in names}


def read_matches(path: str | os.PathLike[str], pair: str | None = None) -> Matches:
    """Read finite matches, and their scores and depths, from a text, npy, npz or h5 file.

    npz and h5 files contain the points as ``x1`` and ``x2`` (N, 2), or as ``matches`` (N, 4), or as indices ``matches``
    (N, 2) into ``keypoints1`` and ``keypoints2`` (LightGlue: ``keypoints0`` and ``keypoints1``). Optional arrays are
    ``scores``, ``depth1`` and ``depth2`` (N), and ``K``, or ``K1`` and ``K2`` (3, 3). If ``pair`` is given, it is the
    name of a group with these arrays in an h5 file; or the path is a folder in the format of the RANSAC tutorial, and
    the scores are those of the ratios.
    """
    path = Path(path)
    if pair is not None and (path.is_dir() or path.suffix.lower() not in HDF5):
        return PairFolder(path).pair(pair)
    if _is_table(path):
        table, per_match = _read_columns(path, _MATCH_COLUMNS)
        return Matches(table[:, :2], table[:, 2:], **per_match)
    arrays = _Arrays(path, _MATCH_ARRAYS, group=pair)
    if not arrays.arrays and pair is None and path.suffix.lower() in HDF5 and (groups := find_groups(path)):
        raise ValueError(
            f"{path}: has {len(groups)} pairs, the first is {groups[0]!r}: --pair chooses one, --out *.npz, *.h5 or "
            "*.parquet estimates all"
        )
    cameras: Any = _cameras(arrays) if arrays.arrays.keys() & {*_CAMERAS} else (None, None)
    keypoints = next((names for names in _KEYPOINTS if arrays.arrays.keys() >= set(names)), None)
    if keypoints is not None:
        points = {name: arrays.get(name, (None, 2)) for name in keypoints}
        if "matches" not in arrays.arrays:
            raise ValueError(f"{path}: has no array 'matches'; it has {arrays.names}")
        pairs = as_indices(f"{path}: matches", arrays.arrays["matches"], points)
        points1, points2 = points.values()
        matches = Matches.from_indices(points1, points2, pairs)
    elif "matches" in arrays.arrays:
        both = arrays.get("matches", (None, 4))
        matches = Matches(both[:, :2], both[:, 2:])
    else:
        x1 = arrays.get("x1", (None, 2))
        matches = Matches(x1, arrays.get("x2", (len(x1), 2)))
    return replace(matches, K1=cameras[0], K2=cameras[1], **arrays.per_match(len(matches)))


def find_groups(path: Path) -> list[str]:
    """Return the names of the groups of an h5 file, at any depth, that are pairs for :func:`read_matches`."""
    with Reader(path) as file:
        return sorted({group for name in ("x1", "matches") for group in file.groups_with(name)})


def read_data(path: Path, columns: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, Floats], Floats | None]:
    """Read finite arrays of equal lengths, and their ``scores`` (N) or None, from a text, npy, npz or h5 file.

    ``columns`` has the names of each array's columns in a text, for example ``{"points": ("x", "y")}``.
    """
    if _is_table(path):
        table, per_match = _read_columns(path, sum(columns.values(), ()))
        ends = np.cumsum([len(names) for names in columns.values()])
        return dict(zip(columns, np.split(table, ends[:-1], axis=1), strict=True)), per_match.get("scores")
    arrays = _Arrays(path, (*columns, "scores"))
    data: dict[str, Floats] = {}
    n = None
    for name, names in columns.items():
        data[name] = arrays.get(name, (n, len(names)))
        n = len(data[name])
    return data, arrays.per_match(n or 0).get("scores")


def read_own_camera(path: Path) -> CameraLike | None:
    """Return the camera matrix ``K`` of an npz or h5 file of points; None if it has none."""
    arrays = None if _is_table(path) else _Arrays(path, ("K",))
    return _camera(arrays, "K") if arrays is not None and "K" in arrays.arrays else None


def read_single_camera(path: Path) -> CameraLike:
    """Read the camera of one image; a ValueError if the file has two."""
    camera, other = read_calibration(path)
    if not (camera == other if isinstance(camera, Camera) else np.array_equal(camera, np.asarray(other))):
        raise ValueError(f"{path}: must hold one camera matrix for all images, got two")
    return camera


def read_calibration(path: str | os.PathLike[str]) -> tuple[CameraLike, CameraLike]:
    """Read one camera for both images, or one for each.

    ``.json`` and ``.npz`` files contain ``K``, or ``K1`` and ``K2``, and optionally ``distortion``, or ``distortion1``
    and ``distortion2``: OpenCV's coefficients. ``.json`` files may instead contain ``model`` and ``params`` of a
    :class:`Camera`, or two such objects as ``camera1`` and ``camera2``. Any other file is text with the three rows of
    K, or the three rows of K1 followed by those of K2, or one or two rows of COLMAP's ``cameras.txt``: identifier,
    model, width, height and parameters.
    """
    path = Path(path)
    if path.suffix == ".json":
        try:
            document = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:  # a ValueError also for numbers of more than 4300 digits
            raise ValueError(f"{path}: not JSON: {error}") from None
        if not isinstance(document, dict):
            raise ValueError(f"{path}: must hold an object with K, or with K1 and K2, got {type(document).__name__}")
        if "model" in document:
            return (_named_model(path, document),) * 2
        if "camera1" in document and "camera2" in document:
            return _named_model(path, document["camera1"]), _named_model(path, document["camera2"])
        return _cameras(_Arrays(path, (), document))
    if path.suffix == ".npz":
        return _cameras(_Arrays(path, (*_CAMERAS, *_DISTORTIONS.values())))
    rows = read_rows(path)
    if len(rows) in (1, 2) and min(map(len, rows)) > 4:  # of COLMAP: identifier, model, width, height, parameters
        keys = ("model", "width", "height", "params")
        cameras = [_named_model(path, dict(zip(keys, (*row[1:4], row[4:]), strict=True))) for row in rows]
        return cameras[0], cameras[-1]
    if len(rows) not in (3, 6) or any(len(row) != 3 for row in rows):
        raise ValueError(
            f"{path}: must hold 3 rows of 3 numbers (K) or 6 (K1, then K2), or 1 or 2 rows of COLMAP's cameras.txt, "
            f"got {len(rows)} rows"
        )
    return _cameras(_Arrays(path, (), {"K1": _numbers(rows[:3]), "K2": _numbers(rows[-3:])}))


def _named_model(path: Path, camera: Any) -> Camera:
    """Return a camera from its ``model``, ``params`` and optional size, as PoseLib and COLMAP have them."""
    if not isinstance(camera, dict) or "params" not in camera:
        raise ValueError(f"{path}: a camera must have model and params, got {camera!r:.80}")
    try:
        known = Camera.from_poselib(camera | {"params": [float(value) for value in camera["params"]]})
    except (ValueError, TypeError, OverflowError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not known.has_focal:
        raise ValueError(f"{path}: the focal length must be known")
    return known


def _cameras(arrays: _Arrays) -> tuple[CameraLike, CameraLike]:
    """Return both cameras: as a matrix, or with distortion if the arrays have any, as only files of cameras do."""
    names = ("K1", "K2") if "K1" in arrays.arrays and "K2" in arrays.arrays else ("K", "K")
    if names[0] not in arrays.arrays:
        raise ValueError(f"{arrays.path}: must hold K, or K1 and K2; it has {arrays.names}")
    cameras = [_camera(arrays, name) for name in names]
    unused = [name for K, name in _DISTORTIONS.items() if K not in names and name in arrays.arrays]
    if unused:
        raise ValueError(f"{arrays.path}: {unused[0]} has no camera matrix of its own")
    return cameras[0], cameras[1]


def _camera(arrays: _Arrays, name: str) -> CameraLike:
    K, distortion = as_camera(f"{arrays.path}: {name}", arrays.get(name, (3, 3))), _DISTORTIONS[name]
    if distortion not in arrays.arrays:
        return K
    try:
        return Camera.from_matrix(K, arrays.get(distortion, (None,)))
    except ValueError as error:
        raise ValueError(f"{arrays.path}: {distortion}: {error}") from None


def _is_table(path: Path) -> bool:
    kinds = (".csv", ".tsv", ".txt", ".npy", *ARRAY_SUFFIXES)
    if path.suffix.lower() not in kinds:
        raise ValueError(f"{path}: the suffix must be one of {', '.join(kinds)}")
    return path.suffix.lower() not in ARRAY_SUFFIXES


def _read_columns(path: Path, columns: tuple[str, ...]) -> tuple[Floats, dict[str, Any]]:
    if path.suffix.lower() != ".npy":
        return read_table(path, columns)
    arrays = _Arrays(path, (), {"the array": read_array(path)})
    width = len(columns)
    scored = np.shape(arrays.arrays["the array"])[1:] == (width + 1,)
    table = arrays.get("the array", (None, width + scored))
    return table[:, :width], {"scores": table[:, width]} if scored else {}


def _numbers(rows: list[list[str]]) -> Any:
    """Convert texts to numbers; return them unchanged if they are not numbers."""
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        return rows
