"""OpenCV: USAC with individual settings (UsacParams), its predefined flags, and ``solvePnPRansac``."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac_lab.peers.library import Array, Library, Method, ModelAndInliers, Task, rename

# OpenCV's names of the limits by problem, and in UsacParams.
_MATRIX = {"threshold": "ransacReprojThreshold", "confidence": "confidence", "max_iterations": "maxIters"}
_ESSENTIAL = {"threshold": "threshold", "confidence": "prob", "max_iterations": "maxIters"}
_POSE = {"threshold": "reprojectionError", "confidence": "confidence", "max_iterations": "iterationsCount"}
_NAMES = {"H": _MATRIX, "F": _MATRIX, "E": _ESSENTIAL, "relative pose": _ESSENTIAL, "pose": _POSE}
_OF_PARAMS = {"threshold": "threshold", "confidence": "confidence", "max_iterations": "maxIterations"}


class OpenCV(Library):
    """``cv2``. ``flag`` is the name of a method, ``usac`` has fields of ``UsacParams`` with names of their values.

    The predefined flags take no seed. Cameras are matrices, without distortion.
    """

    package = "cv2"

    def _call(
        self, task: Task, *, flag: str = "", usac: Mapping[str, str] | None = None, **limits: float
    ) -> Callable[[], Any]:
        import cv2

        cv2.setNumThreads(1)
        cv2.setRNGSeed(task.seed)
        if usac is None:
            settings = rename(limits, **_NAMES[task.problem])
            settings["flags" if task.problem == "pose" else "method"] = getattr(cv2, flag)
        else:
            params = cv2.UsacParams()
            fields = {name: getattr(cv2, value) for name, value in usac.items()} | rename(limits, **_OF_PARAMS)
            for name, value in (fields | {"randomGeneratorState": task.seed}).items():
                setattr(params, name, value)
            settings = {"params": params}
        K = np.asarray(task.cameras[0]) if task.cameras else np.eye(3)
        call = _call_of(task.problem, task.points, K, settings)

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


def _call_of(problem: str, points: tuple[Array, ...], K: Array, settings: Mapping[str, Any]) -> Callable[[], Any]:
    """Return the call with a predefined flag and its limits, or with UsacParams."""
    import cv2

    first, second = points
    if problem in ("H", "F"):
        find = cv2.findHomography if problem == "H" else cv2.findFundamentalMat
        return functools.partial(find, first, second, **settings)
    if problem == "pose":  # with UsacParams it changes the matrix, and needs a distortion
        distortion = np.zeros(4) if "params" in settings else None
        return lambda: cv2.solvePnPRansac(first, second, K.copy(), distortion, **settings)
    cameras = (K, K, None, None) if "params" in settings else (K,)
    essential = functools.partial(cv2.findEssentialMat, first, second, *cameras, **settings)
    if problem == "E":
        return essential

    def relative_pose() -> Any:
        E, inliers = essential()
        if E is None or E.shape != (3, 3):
            return None
        _, R, t, _ = cv2.recoverPose(E, first, second, K, mask=inliers)
        return RelativePose(R, t.ravel()), inliers

    return relative_pose


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
