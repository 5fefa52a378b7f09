"""COLMAP's estimators through pycolmap."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac.geometry.camera import Camera
from bansac_lab.peers.library import Array, Library, Method, ModelAndInliers, Task, as_camera, rename

GUESS = 1.2
"""COLMAP's focal length of a camera without a prior, over the larger side of its image."""

HALF_PIXEL = 0.5
"""The centre of the first pixel is (.5, .5) for COLMAP and (0, 0) here."""


class PyCOLMAP(Library):
    """``pycolmap``: H, F, and poses with unknown focal lengths.

    A relative pose comes from COLMAP's verification of two views. Where that prefers F, the pose is the one of guesses
    of the focal lengths.
    """

    package = "pycolmap"

    def _call(self, task: Task, **limits: float) -> Callable[[], Any]:
        names = {"min_iterations": "min_num_trials", "max_iterations": "max_num_trials"}
        settings = rename(limits, threshold="max_error", confidence="confidence", **names)
        import pycolmap

        options = pycolmap.RANSACOptions(random_seed=task.seed, **settings)
        if task.problem in ("H", "F"):
            name = "homography" if task.problem == "H" else "fundamental"
            return functools.partial(getattr(pycolmap, f"estimate_{name}_matrix"), *task.points, options)
        return (_pose_call if task.problem == "pose" else _two_view_call)(task, options)

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        if task.problem in ("H", "F"):
            return answer[task.problem], answer["inlier_mask"]
        if task.problem == "pose":
            pose, camera = answer
            motion = pose["cam_from_world"]
            return AbsolutePose(motion.rotation.matrix(), motion.translation, _matrix(camera)), pose["inlier_mask"]
        motion = answer.cam2_from_cam1
        if motion is None:
            return None, None
        K1, K2 = (_matrix(camera) for camera in (answer.camera1, answer.camera2))
        return RelativePose(motion.rotation.matrix(), motion.translation, K1, K2), None


def _pose_call(task: Task, options: Any) -> Callable[[], Any]:
    """Return the call for a pose and the focal length of its camera."""
    import pycolmap

    settings = pycolmap.AbsolutePoseEstimationOptions(estimate_focal_length=True)
    settings.ransac = options
    (X, x), camera = task.points, pixel_camera(1, task.cameras[0])
    refinement = pycolmap.AbsolutePoseRefinementOptions(refine_focal_length=True)
    call = functools.partial(
        pycolmap.estimate_and_refine_absolute_pose, x + HALF_PIXEL, X, camera, settings, refinement
    )
    return lambda: None if (pose := call()) is None else (pose, camera)


def _two_view_call(task: Task, options: Any) -> Callable[[], Any]:
    """Return the call of the verification with COLMAP's defaults; the focal lengths of one camera are equal."""
    import pycolmap

    first, second = task.cameras
    one = pixel_camera(1, first)
    two = one if second is first else pixel_camera(2, second)
    settings = pycolmap.TwoViewGeometryOptions(compute_relative_pose=True)
    settings.ransac.random_seed = options.random_seed
    matches = np.repeat(np.arange(len(task.x1), dtype=np.uint32)[:, None], 2, axis=1)
    points = task.x1 + HALF_PIXEL, task.x2 + HALF_PIXEL
    return functools.partial(pycolmap.estimate_two_view_geometry, one, points[0], two, points[1], matches, settings)


def pixel_camera(number: int, camera: Camera | Array) -> Any:
    """Return a pinhole camera of COLMAP, with a guess of its focal length where it is unknown."""
    import pycolmap

    camera = as_camera(camera)
    guess = GUESS * max(camera.width or 0, camera.height or 0)
    model = pycolmap.CameraModelId.PINHOLE if camera.has_focal else pycolmap.CameraModelId.SIMPLE_PINHOLE
    made = pycolmap.Camera.create_from_model_id(number, model, guess, camera.width, camera.height)
    K = camera.K
    focals = [K[0, 0], K[1, 1]] if camera.has_focal else [guess]
    made.params, made.has_prior_focal_length = [*focals, K[0, 2] + HALF_PIXEL, K[1, 2] + HALF_PIXEL], camera.has_focal
    return made


def _matrix(camera: Any) -> Array | None:
    """Return the matrix of an estimated camera, None without one."""
    return None if camera is None else np.diag([camera.params[0], camera.params[0], 1.0])


PYCOLMAP = PyCOLMAP()

# It may stop as early as the other methods.
METHODS = (Method("pycolmap", {"min_iterations": 10}, PYCOLMAP, problems=("H", "F")),)
