"""Methods with posebench's settings: 100 to 1000 iterations, success probability .9999, the threshold of the set.

PoseLib and COLMAP are called as posebench calls them. It has no other libraries. This package has two methods: one with
the same settings, and one with its default threshold and limits. OpenCV's USAC_MAGSAC has no minimum of iterations. It
gets points without lens distortion for poses.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.geometry import apply_transform, homogeneous
from bansac.geometry.camera import Camera
from bansac.lab.sets.posebench import Instance

Array = NDArray[np.float64]

_MIN_ITERATIONS, _MAX_ITERATIONS, _CONFIDENCE = 100, 1000, 0.9999

MODELS: Mapping[str, tuple[str, ...]] = {"relative": ("E", "F"), "absolute": ("PnP",), "homography": ("H",)}
"""Models of every problem: relative pose (E), fundamental matrix (F), absolute pose (PnP), homography (H)."""


class Pose(NamedTuple):
    """Rotation and translation."""

    R: Array
    t: Array


@dataclass(frozen=True)
class Estimator:
    """Method for all models.

    Parameters
    ----------
    name : str
        Name of the library in the tables.
    call : callable
        ``call(model, instance, threshold, seed)`` returns a :class:`Pose` (E, PnP), a 3 x 3 matrix (F, H), or None.
    package : str
        Module that must be installed.
    """

    name: str
    call: Callable[[str, Instance, float, int], Pose | Array | None]
    package: str = "bansac"

    @property
    def installed(self) -> bool:
        """Whether the package is installed."""
        return importlib.util.find_spec(self.package) is not None


_FUNCTIONS = {
    "E": "estimate_relative_pose",
    "F": "estimate_fundamental",
    "PnP": "estimate_absolute_pose",
    "H": "estimate_homography",
}


def _ours(own_settings: bool, model: str, instance: Instance, threshold: float, seed: int) -> Any:
    settings: dict[str, Any] = {"seed": seed}
    if not own_settings:
        settings |= {"threshold": threshold, "confidence": _CONFIDENCE}
        settings |= {"min_iterations": _MIN_ITERATIONS, "max_iterations": _MAX_ITERATIONS}
    points = instance.points[::-1] if model == "PnP" else instance.points
    cameras = instance.cameras if model in ("E", "PnP") else ()
    found = getattr(bansac, _FUNCTIONS[model])(*points, *cameras, **settings).model
    return Pose(*found) if isinstance(found, tuple) else found


def _poselib(model: str, instance: Instance, threshold: float, seed: int) -> Any:
    library = importlib.import_module("poselib")
    options = {
        "max_reproj_error": threshold,
        "max_epipolar_error": threshold,
        "min_iterations": _MIN_ITERATIONS,
        "max_iterations": _MAX_ITERATIONS,
        "success_prob": _CONFIDENCE,
        "seed": seed,
    }
    if model in ("F", "H"):
        function = library.estimate_fundamental if model == "F" else library.estimate_homography
        found, counts = function(*instance.points, options)
    else:
        function = library.estimate_relative_pose if model == "E" else library.estimate_absolute_pose
        found, counts = function(*instance.points, *map(_as_dict, instance.cameras), options)
    if counts["num_inliers"] == 0:  # the model is the identity or was not written
        return None
    return found if model in ("F", "H") else Pose(found.R, found.t)


def _colmap(model: str, instance: Instance, threshold: float, seed: int) -> Any:
    library = importlib.import_module("pycolmap")
    options = library.RANSACOptions()
    options.max_error, options.confidence, options.random_seed = threshold, _CONFIDENCE, seed
    options.min_num_trials, options.max_num_trials = _MIN_ITERATIONS, _MAX_ITERATIONS
    if model in ("F", "H"):
        name = "fundamental" if model == "F" else "homography"
        found = getattr(library, f"estimate_{name}_matrix")(*instance.points, options)
        return None if found is None else found[model]
    cameras = [library.Camera(_as_dict(camera)) for camera in instance.cameras]
    if model == "E":
        found = library.estimate_essential_matrix(*instance.points, *cameras, options)
    else:
        settings = library.AbsolutePoseEstimationOptions()
        settings.ransac = options
        found = library.estimate_and_refine_absolute_pose(*instance.points, *cameras, settings)
    if found is None:
        return None
    motion = found["cam2_from_cam1" if model == "E" else "cam_from_world"]
    return Pose(motion.rotation.matrix(), motion.translation)


def _opencv(model: str, instance: Instance, threshold: float, seed: int) -> Any:
    """Estimate with USAC_MAGSAC, which takes no seed."""
    library = importlib.import_module("cv2")
    library.setNumThreads(1)
    flag, limits = library.USAC_MAGSAC, (_CONFIDENCE, _MAX_ITERATIONS)
    first, second = instance.points
    try:
        if model == "H":
            return library.findHomography(first, second, flag, threshold, None, limits[1], limits[0])[0]
        if model == "F":
            return library.findFundamentalMat(first, second, flag, threshold, *limits)[0]
        first = instance.cameras[0].unproject(first)
        if model == "PnP":
            K = instance.cameras[0].K
            found, rotation, t, _ = library.solvePnPRansac(
                second, apply_transform(K, homogeneous(first)), K, None,
                iterationsCount=limits[1], reprojectionError=threshold, confidence=limits[0], flags=flag,
            )  # fmt: skip
            return Pose(library.Rodrigues(rotation)[0], t.ravel()) if found else None
        second = instance.cameras[1].unproject(second)
        normalised = threshold / np.mean([camera.K[[0, 1], [0, 1]] for camera in instance.cameras])
        E, inliers = library.findEssentialMat(first, second, np.eye(3), flag, limits[0], normalised, limits[1])
        _, R, t, _ = library.recoverPose(E, first, second, np.eye(3), mask=inliers)
        return Pose(R, t.ravel())
    except library.error:  # too few inliers for its last step
        return None


def _as_dict(camera: Camera) -> dict[str, Any]:
    return {"model": camera.model, "width": camera.width, "height": camera.height, "params": list(camera.params)}


OURS = (Estimator("bansac", partial(_ours, False)), Estimator("bansac, its own settings", partial(_ours, True)))
PEERS = (
    Estimator("poselib", _poselib, "poselib"),
    Estimator("COLMAP", _colmap, "pycolmap"),
    Estimator("OpenCV", _opencv, "cv2"),
)
