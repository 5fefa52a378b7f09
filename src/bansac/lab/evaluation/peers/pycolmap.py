"""COLMAP's LO-RANSAC through pycolmap."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Task


def _estimate(task: Task) -> Any:
    """Estimate with at least 10 iterations, as for PoseLib; pycolmap's default is 1000."""
    import pycolmap

    options = pycolmap.RANSACOptions()
    options.max_error = task.threshold
    options.confidence = task.confidence
    options.min_num_trials = min(10, task.max_iterations)
    options.max_num_trials = task.max_iterations
    options.random_seed = task.seed
    if task.kind == "H":
        return pycolmap.estimate_homography_matrix(task.x1, task.x2, options)
    return pycolmap.estimate_fundamental_matrix(task.x1, task.x2, options)


def _model(answer: Any) -> NDArray[Any] | None:
    return None if answer is None else answer["H" if "H" in answer else "F"]


METHODS = (Method("pycolmap", call=_estimate, matrix=_model, package="pycolmap", kinds=("H", "F")),)
