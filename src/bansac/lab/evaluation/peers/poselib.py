"""PoseLib's LO-RANSAC, with and without PROSAC, with the protocol's limits and with its default limits."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import essential_from_pose
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Task

_CAMERA = {"model": "SIMPLE_PINHOLE", "width": 1, "height": 1, "params": [1.0, 0.0, 0.0]}


# PoseLib's default limits, besides its minimum of 1000 iterations.
_OWN = {"max_iterations": 100_000, "confidence": 0.9999}


def _estimate(progressive: bool, fewest: int, task: Task) -> Any:
    """Estimate with at least ``fewest`` iterations; PoseLib's default is 1000."""
    import poselib

    options = {
        "max_iterations": task.max_iterations,
        "min_iterations": min(fewest, task.max_iterations),
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
    """Return the matrix; a pose is converted to its essential matrix."""
    if isinstance(answer, np.ndarray):
        return answer
    return essential_from_pose(answer.R, answer.t)


def _method(name: str, settings: Mapping[str, Any], *, fewest: int, progressive: bool = False) -> Method:
    call = functools.partial(_estimate, progressive, fewest)
    return Method(name, settings, call=call, matrix=_model, package="poselib", sort=progressive)


METHODS = (
    # With the protocol's limits PoseLib may stop as early as the other methods.
    _method("poselib", {}, fewest=10),
    _method("poselib-prosac", {}, fewest=10, progressive=True),
    _method("poselib-own", _OWN, fewest=1000),
    _method("poselib-prosac-own", _OWN, fewest=1000, progressive=True),
)
