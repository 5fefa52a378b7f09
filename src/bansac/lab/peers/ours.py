"""Public functions of this package, as one of the libraries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.peers.library import Library, Task, given
from bansac.problems.estimators import ESTIMATORS

_FUNCTIONS = {
    "H": "estimate_homography",
    "F": "estimate_fundamental",
    "E": "estimate_essential",
    "relative pose": "estimate_relative_pose",
    "pose": "estimate_absolute_pose",
    "circle": "fit_circle",
    "line": "fit_line",
}
_ESTIMATORS = {estimator.function: estimator for estimator in ESTIMATORS}


class Ours(Library):
    """``bansac``; the settings are keyword arguments of its functions."""

    package = "bansac"

    def _call(self, task: Task, **settings: Any) -> Callable[[], Any]:
        function = _ESTIMATORS[_FUNCTIONS[task.problem]].load_function()
        known = given(scores=task.scores)
        if task.problem == "F" and task.size1 is not None and task.size2 is not None:
            known |= {"image_size1": task.size1, "image_size2": task.size2}
        return functools.partial(function, *task.points, *task.cameras, **{"seed": task.seed, **known, **settings})

    def _read(self, task: Task, answer: Any) -> tuple[Any, NDArray[np.bool_] | None]:
        return answer.model, answer.inliers


OURS = Ours()
