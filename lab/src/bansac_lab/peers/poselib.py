"""PoseLib's LO-RANSAC, with and without PROSAC, with the protocol's limits and with its default limits."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac.geometry import essential_from_pose
from bansac.geometry.camera import Camera
from bansac_lab.peers.library import Array, Library, Method, ModelAndInliers, Task, as_camera, has_unknown_focal, rename

_NORMALISED = {"model": "SIMPLE_PINHOLE", "width": 1, "height": 1, "params": [1.0, 0.0, 0.0]}


class PoseLib(Library):
    """``poselib``. It estimates one unknown focal length that both images share."""

    package = "poselib"

    def _call(self, task: Task, *, progressive_sampling: bool = False, **limits: float) -> Callable[[], Any]:
        threshold = "max_reproj_error" if task.problem in ("H", "pose") else "max_epipolar_error"
        names = {name: name for name in ("max_iterations", "min_iterations")}
        options = rename(limits, threshold=threshold, confidence="success_prob", **names)
        import poselib

        options |= {"seed": task.seed, "progressive_sampling": progressive_sampling}
        if task.problem in ("H", "F"):
            function = poselib.estimate_homography if task.problem == "H" else poselib.estimate_fundamental
            return functools.partial(function, *task.points, options)
        if has_unknown_focal(task):
            centre = as_camera(task.cameras[0]).K[:2, 2]
            return functools.partial(poselib.estimate_shared_focal_relative_pose, *task.points, centre, options, {})
        cameras = [_as_dict(camera) for camera in task.cameras] or [_NORMALISED]
        if task.problem == "pose":
            return functools.partial(poselib.estimate_absolute_pose, *task.points[::-1], cameras[0], options, {})
        return functools.partial(poselib.estimate_relative_pose, *task.points, cameras[0], cameras[-1], options)

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        model, counts = answer
        if counts["num_inliers"] == 0:  # the model is the identity or was not written
            return None, None
        inliers = np.array(counts["inliers"])
        if task.problem in ("H", "F"):
            return model, inliers
        if task.problem == "E":
            return essential_from_pose(model.R, model.t), inliers
        if task.problem == "pose":
            return AbsolutePose(model.R, model.t), inliers
        if has_unknown_focal(task):
            K1, K2 = (np.diag([camera.focal(), camera.focal(), 1.0]) for camera in (model.camera1, model.camera2))
            return RelativePose(model.pose.R, model.pose.t, K1, K2), inliers
        return RelativePose(model.R, model.t), inliers


def _as_dict(camera: Camera | Array) -> dict[str, Any]:
    camera = camera if isinstance(camera, Camera) else Camera.from_matrix(camera)
    return {"model": camera.model, "width": camera.width or 0, "height": camera.height or 0, "params": camera.params}


POSELIB = PoseLib()

# With the protocol's limits PoseLib may stop as early as the other methods.
_EARLY = {"min_iterations": 10}
# PoseLib's default limits.
_OWN = {"max_iterations": 100_000, "confidence": 0.9999, "min_iterations": 1000}
_PROSAC = {"progressive_sampling": True}

METHODS = (
    Method("poselib", _EARLY, POSELIB),
    Method("poselib-prosac", {**_EARLY, **_PROSAC}, POSELIB, sort=True),
    Method("poselib-own", _OWN, POSELIB),
    Method("poselib-prosac-own", {**_OWN, **_PROSAC}, POSELIB, sort=True),
)
