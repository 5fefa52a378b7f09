"""OpenCV: USAC with individual settings (UsacParams), its predefined flags, and ``solvePnPRansac``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac.geometry import apply_transform, homogeneous
from bansac.geometry.camera import Camera
from bansac.lab.peers.library import Array, Library, Method, ModelAndInliers, Task


class OpenCV(Library):
    """``cv2``. ``flag`` is the name of a method, ``usac`` has fields of ``UsacParams`` with names of their values.

    The predefined flags take no seed. The points of a :class:`bansac.Camera` are undistorted before the call, those of
    a camera matrix are passed on.
    """

    package = "cv2"

    def _call(
        self,
        task: Task,
        *,
        threshold: float,
        confidence: float,
        max_iterations: int,
        flag: str = "",
        usac: Mapping[str, str] | None = None,
    ) -> Callable[[], Any]:
        import cv2

        cv2.setNumThreads(1)
        cv2.setRNGSeed(task.seed)
        points, K, unit = _pinhole(task)
        threshold /= unit
        if usac is None:
            call = _flag_call(task.problem, points, K, getattr(cv2, flag), (threshold, confidence, max_iterations))
        else:
            params = cv2.UsacParams()
            for name, value in usac.items():
                setattr(params, name, getattr(cv2, value))
            params.threshold, params.confidence, params.maxIterations = threshold, confidence, max_iterations
            params.randomGeneratorState = task.seed
            call = _params_call(task.problem, points, K, params)

        def estimate() -> Any:
            try:
                return call()
            except cv2.error:  # too few inliers for its last step
                return None

        return estimate

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        import cv2

        if task.problem == "pose":
            found, *_, rotation, t, _ = answer
            return (AbsolutePose(cv2.Rodrigues(rotation)[0], t.ravel()) if found else None), None
        model, mask = answer
        return model, None if mask is None else mask.ravel().astype(bool)


def _pinhole(task: Task) -> tuple[tuple[Array, ...], Array, float]:
    """Return the points and the matrix of cameras without distortion, and the pixels of the unit of the points."""
    if not task.cameras:
        return task.points, np.eye(3), 1.0
    first, second = task.cameras[0], task.cameras[-1]
    if not (isinstance(first, Camera) and isinstance(second, Camera)):
        return task.points, np.asarray(first), 1.0
    if task.problem == "pose":
        return (task.x1, apply_transform(first.K, homogeneous(first.unproject(task.x2)))), first.K, 1.0
    focals = [camera.K[[0, 1], [0, 1]] for camera in (first, second)]
    return (first.unproject(task.x1), second.unproject(task.x2)), np.eye(3), float(np.mean(focals))


def _flag_call(
    problem: str, points: tuple[Array, ...], K: Array, flag: int, limits: tuple[float, float, int]
) -> Callable[[], Any]:
    """Return the call with a predefined flag."""
    import cv2

    first, second = points
    threshold, confidence, iterations = limits
    if problem == "H":
        return lambda: cv2.findHomography(first, second, flag, threshold, maxIters=iterations, confidence=confidence)
    if problem == "F":
        return lambda: cv2.findFundamentalMat(first, second, flag, threshold, confidence, iterations)
    if problem == "E":
        return lambda: cv2.findEssentialMat(first, second, K, flag, confidence, threshold, iterations)
    if problem == "pose":
        return lambda: cv2.solvePnPRansac(
            first, second, K, None,
            iterationsCount=iterations, reprojectionError=threshold, confidence=confidence, flags=flag,
        )  # fmt: skip

    def relative_pose() -> Any:
        E, inliers = cv2.findEssentialMat(first, second, K, flag, confidence, threshold, iterations)
        if E is None or E.shape != (3, 3):
            return None
        _, R, t, _ = cv2.recoverPose(E, first, second, K, mask=inliers)
        return RelativePose(R, t.ravel()), inliers

    return relative_pose


def _params_call(problem: str, points: tuple[Array, ...], K: Array, params: Any) -> Callable[[], Any]:
    """Return the call with UsacParams."""
    import cv2

    first, second = points
    if problem == "H":
        return lambda: cv2.findHomography(first, second, params)
    if problem == "F":
        return lambda: cv2.findFundamentalMat(first, second, params)
    if problem == "E":
        return lambda: cv2.findEssentialMat(first, second, K, K, None, None, params)
    return lambda: cv2.solvePnPRansac(first, second, K.copy(), np.zeros(4), params=params)


OPENCV = OpenCV()

_PLAIN = {"score": "SCORE_METHOD_RANSAC", "loMethod": "LOCAL_OPTIM_NULL"}
_LOCAL = {"score": "SCORE_METHOD_MSAC", "loMethod": "LOCAL_OPTIM_INNER_LO"}
_PROSAC = {"sampler": "SAMPLING_PROSAC"}

METHODS = (
    Method("opencv", {"usac": {"sampler": "SAMPLING_UNIFORM", **_PLAIN}}, OPENCV),
    Method("opencv-prosac", {"usac": {**_PROSAC, **_PLAIN}}, OPENCV, sort=True),
    Method("opencv-prosac-lo", {"usac": {**_PROSAC, **_LOCAL}}, OPENCV, sort=True),
    Method("opencv-default", {"flag": "USAC_DEFAULT"}, OPENCV),
    Method("opencv-accurate", {"flag": "USAC_ACCURATE"}, OPENCV),
    Method("opencv-magsac", {"flag": "USAC_MAGSAC"}, OPENCV),
)
