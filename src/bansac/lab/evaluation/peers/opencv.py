"""OpenCV's USAC, with individual settings (UsacParams) and with its predefined flags."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Task


def _estimate(sampler: str, local: bool, task: Task) -> Any:
    """Estimate with UsacParams; the score is MSAC with local optimisation, otherwise the inlier count."""
    import cv2

    params = cv2.UsacParams()
    params.sampler = getattr(cv2, sampler)
    params.score = cv2.SCORE_METHOD_MSAC if local else cv2.SCORE_METHOD_RANSAC
    params.loMethod = cv2.LOCAL_OPTIM_INNER_LO if local else cv2.LOCAL_OPTIM_NULL
    params.threshold = task.threshold
    params.confidence = task.confidence
    params.maxIterations = task.max_iterations
    params.randomGeneratorState = task.seed
    if task.kind == "H":
        return cv2.findHomography(task.x1, task.x2, params)
    if task.kind == "F":
        return cv2.findFundamentalMat(task.x1, task.x2, params)
    return cv2.findEssentialMat(task.x1, task.x2, np.eye(3), np.eye(3), None, None, params)


def _estimate_by_flag(flag: str, task: Task) -> Any:
    """Estimate with a predefined flag; these methods have no seed."""
    import cv2

    method = getattr(cv2, flag)
    if task.kind == "H":
        return cv2.findHomography(
            task.x1, task.x2, method, task.threshold, maxIters=task.max_iterations, confidence=task.confidence
        )
    if task.kind == "F":
        return cv2.findFundamentalMat(task.x1, task.x2, method, task.threshold, task.confidence, task.max_iterations)
    return cv2.findEssentialMat(
        task.x1, task.x2, np.eye(3), method, task.confidence, task.threshold, task.max_iterations
    )


def _use_one_thread() -> None:
    import cv2

    cv2.setNumThreads(1)


def _model(answer: tuple[NDArray[np.float64] | None, Any]) -> NDArray[np.float64] | None:
    return answer[0]


def _method(name: str, call: Callable[[Task], Any], *, sort: bool = False) -> Method:
    return Method(name, call=call, matrix=_model, prepare=_use_one_thread, package="cv2", sort=sort)


METHODS = (
    _method("opencv", functools.partial(_estimate, "SAMPLING_UNIFORM", False)),
    _method("opencv-prosac", functools.partial(_estimate, "SAMPLING_PROSAC", False), sort=True),
    _method("opencv-prosac-lo", functools.partial(_estimate, "SAMPLING_PROSAC", True), sort=True),
    _method("opencv-default", functools.partial(_estimate_by_flag, "USAC_DEFAULT")),
    _method("opencv-accurate", functools.partial(_estimate_by_flag, "USAC_ACCURATE")),
    _method("opencv-magsac", functools.partial(_estimate_by_flag, "USAC_MAGSAC")),
)
