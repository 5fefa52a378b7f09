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

import numpy as np

from bansac.geometry.camera import Camera
from bansac.matches.hdf5 import Reader, create_hdf5
from bansac.matches.storage import as_os_error
from bansac.maths.arrays import Floats
from bansac.maths.validate import check_same_length

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


class _Reader(Reader):
    def camera(self, group: str) -> Camera:
        """Return the camera of a group."""
        width, height = (int(self.array(f"{group}/{side}", (1,))[0]) for side in ("width", "height"))
        with self._errors():
            model = self._file[f"{group}/model"].asstr()[0]
        return Camera(model, tuple(self.array(f"{group}/params", (-1,)).tolist()), width, height)


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
        with Reader(self._path) as file:
            return file.keys()

    def read(self, key: str) -> Instance:
        """Read an instance; an OSError names the file if it lacks the instance or is damaged."""
        names, file = _POINTS[self.problem], _Reader(self._path)
        with file, as_os_error(f"cannot read {self._path}", ValueError):
            first, second = (file.array(f"{key}/{name}", (-1, 3 if name == "p3d" else 2)) for name in names)
            check_same_length(f"{key}/{names[0]}", first, names[1], second)
            cameras = tuple(file.camera(f"{key}/{name}") for name in _CAMERAS[self.problem])
            R, t = file.array(f"{key}/R", (3, 3)), file.array(f"{key}/t", (3,))
            if not (np.allclose(R @ R.T, np.eye(3), atol=_ROUNDED) and np.linalg.det(R) > 0.0):
                raise ValueError(f"{key}/R must be a rotation, got {R.tolist()}")
            if self.problem != "absolute" and not t.any():
                raise ValueError(f"{key}/t must not be zero between two images")
        return Instance((first, second), cameras, R, t)


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
            group, points = file.create_group(key), zip(_POINTS[problem], instance.points, strict=True)
            group.update({"R": instance.R, "t": instance.t, **dict(points)})
            for name, camera in zip(_CAMERAS[problem], instance.cameras, strict=True):
                size = {"width": [camera.width or 0], "height": [camera.height or 0]}
                group.create_group(name).update({"model": [camera.model], "params": camera.params, **size})
