"""PoseLib, which optimises locally; with and without PROSAC."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.evaluation.method import Method
from bansac.evaluation.task import Task
from bansac.geometry import essential_from_pose

_CAMERA = {"model": "SIMPLE_PINHOLE", "width": 1, "height": 1, "params": [1.0, 0.0, 0.0]}


def _estimate(progressive: bool, task: Task) -> Any:
    import poselib

    options = {
        "max_iterations": task.max_iterations,
        "min_iterations": 10,  # not its default of 1000: it may stop as early as the others
        "success_prob": task.confidence,
        "seed": task.seed,
        "progressive_sampling": progressive,
        "max_reproj_error": task.threshold,
        "max_epipolar_error": task.threshold,
    }
    if task.kind == "H":
        return poselib.estimate_homography(task.x1, task.x2, options)[0]
    if task.kind == "F":
        return poselib.estimate_fundamental(task.x1, task.x2, options)[0]
    return poselib.estimate_relative_pose(task.x1, task.x2, _CAMERA, _CAMERA, options)[0]


def _model(answer: Any) -> NDArray[np.float64]:
    """Return the matrix, for E the essential matrix of the pose."""
    if isinstance(answer, np.ndarray):
        return answer
    return essential_from_pose(answer.R, answer.t)


METHODS = (
    Method("poselib", call=functools.partial(_estimate, False), matrix=_model, package="poselib"),
    Method("poselib-prosac", call=functools.partial(_estimate, True), matrix=_model, package="poselib", sort=True),
)
