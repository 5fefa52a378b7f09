"""Files of posebench: estimation problems with ground truth.

posebench (https://github.com/PoseLib/posebench) has the folders ``relative``, ``absolute`` and ``homography`` with one
HDF5 file for each set. A file has one group for each instance:

========================  =========================================================================================
``x1``, ``x2``            (N, 2): matches in pixels (relative, homography)
``p2d``, ``p3d``          (N, 2), (N, 3): image points in pixels and 3D points (absolute)
``camera1``, ``camera2``  cameras of the images (relative, homography); ``camera`` (absolute)
``R``, ``t``              (3, 3), (3,): motion from camera 1 to camera 2, or from the world to the camera
========================  =========================================================================================

A camera is a group with ``model`` (COLMAP's name), ``width``, ``height`` (one entry each) and ``params``.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bansac.geometry.camera import Camera
from bansac.matches.hdf5 import create_hdf5, import_h5py, read_dataset
from bansac.matches.text_tables import unreadable
from bansac.maths.arrays import Floats, as_floats
from bansac.maths.validate import as_points, check_same_length

POSEBENCH_PROBLEMS = ("relative", "absolute", "homography")
"""Names of posebench's folders."""

_POINTS = {"relative": ("x1", "x2"), "absolute": ("p2d", "p3d"), "homography": ("x1", "x2")}
_CAMERAS = {"relative": ("camera1", "camera2"), "absolute": ("camera",), "homography": ("camera1", "camera2")}

# Largest error of an entry of R R^T, for rotations that were rounded to single precision.
_ROUNDED = 1e-3


@dataclass(frozen=True)
class Instance:
    """Points with their cameras and the true motion."""

    points: tuple[Floats, Floats]  # (N, 2) of both images in pixels; of an absolute pose (N, 2), and (N, 3) in space
    cameras: tuple[Camera, ...]  # of each image
    R: Floats  # true motion
    t: Floats


class PosebenchFile:
    """File of posebench, named by its stem, of the problem that its folder names; an instance is read on request."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.folder, self.name = self._path.parent, self._path.stem
        self.problem = self.folder.resolve().name

    def files(self) -> list[Path]:
        """Return the absolute path of the file."""
        return [self._path.resolve()]

    def keys(self) -> list[str]:
        """Return the names of all instances, in posebench's order; a damaged file raises an OSError."""
        h5py = import_h5py()
        try:
            with h5py.File(self._path, "r") as file:
                return list(file.keys())
        except OSError as error:
            raise unreadable(self._path, error) from None

    def read(self, key: str) -> Instance:
        """Read an instance; an OSError names the file if it lacks the instance or is damaged."""
        h5py = import_h5py()
        try:
            with h5py.File(self._path, "r") as file:
                group = file[key]
                first, second = (
                    as_points(f"{key}/{name}", read_dataset(group[name]), 3 if name == "p3d" else 2)
                    for name in _POINTS[self.problem]
                )
                check_same_length(f"{key}/{_POINTS[self.problem][0]}", first, _POINTS[self.problem][1], second)
                cameras = tuple(_read_camera(group[name]) for name in _CAMERAS[self.problem])
                R, t = (as_floats(name, read_dataset(group[name])) for name in ("R", "t"))
                instance = Instance((first, second), cameras, R.reshape(3, 3), t.reshape(3))
                _check_motion(key, instance, self.problem)
                return instance
        except Exception as error:  # damaged files raise errors of h5py and NumPy
            raise unreadable(self._path, error) from None


def _check_motion(key: str, instance: Instance, problem: str) -> None:
    R, t = instance.R, instance.t
    if not (np.allclose(R @ R.T, np.eye(3), atol=_ROUNDED) and np.linalg.det(R) > 0.0):
        raise ValueError(f"{key}/R must be a rotation, got {R.tolist()}")
    if not np.isfinite(t).all() or (problem != "absolute" and not t.any()):
        raise ValueError(f"{key}/t must be finite, and not zero between two images, got {t.tolist()}")


def _read_camera(group: Any) -> Camera:
    width, height = (int(read_dataset(group[name])[0]) for name in ("width", "height"))
    return Camera(group["model"].asstr()[0], read_dataset(group["params"]), width, height)


def find_posebench_files(root: str | os.PathLike[str]) -> list[PosebenchFile]:
    """Return the files of all problems, sorted by problem and name; if there is none, a FileNotFoundError is raised."""
    found = [PosebenchFile(path) for name in POSEBENCH_PROBLEMS for path in sorted((Path(root) / name).glob("*.h5"))]
    if not found:
        folders = ", ".join(f"{name}/*.h5" for name in POSEBENCH_PROBLEMS)
        raise FileNotFoundError(f"no file of posebench in {root}: there is none of {folders}")
    return found


def write_instances(path: Path, instances: Iterable[tuple[str, Instance]]) -> None:
    """Write a file of posebench from names and instances; the name of its folder is the problem."""
    problem = path.resolve().parent.name
    with create_hdf5(path) as file:
        for key, instance in instances:
            group = file.create_group(key)
            group["R"], group["t"] = instance.R, instance.t
            for name, points in zip(_POINTS[problem], instance.points, strict=True):
                group[name] = points
            for name, camera in zip(_CAMERAS[problem], instance.cameras, strict=True):
                of_camera = group.create_group(name)
                of_camera["model"], of_camera["params"] = [camera.model], camera.params
                of_camera["width"], of_camera["height"] = [camera.width or 0], [camera.height or 0]
