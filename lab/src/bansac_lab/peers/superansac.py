"""SupeRANSAC with its testers' settings: PROSAC, MAGSAC's score, its default local optimisation. It takes no seed."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bansac_lab.peers.library import Library, Method, ModelAndInliers, Task, rename


class SupeRANSAC(Library):
    """``pysuperansac``. Without image sizes, the images end at the largest coordinates of the points."""

    package = "pysuperansac"

    def _call(self, task: Task, *, sampler: str, scoring: str | None = None, **limits: float) -> Callable[[], Any]:
        names = {name: name for name in ("confidence", "max_iterations", "min_iterations")}
        settings = rename(limits, threshold="inlier_threshold", **names)
        import pysuperansac

        config = pysuperansac.RANSACSettings()
        config.sampler = getattr(pysuperansac.SamplerType, sampler)
        if scoring is not None:
            config.scoring = getattr(pysuperansac.ScoringType, scoring)
        for name, value in settings.items():
            setattr(config, name, value)
        if task.problem == "pose":
            X, x = task.points
            K: Any = task.cameras[0]
            box = [*_sizes(task)[2:], *np.ptp(X, axis=0)]
            camera = pysuperansac.CameraType.SimplePinhole, [K[0, 0], K[0, 2], K[1, 2]]
            points = np.ascontiguousarray(np.hstack([x, X]))
            return functools.partial(pysuperansac.estimateAbsolutePose, points, *camera, box, [], config)
        matches = np.ascontiguousarray(np.hstack(task.points))
        names = {"H": "estimateHomography", "F": "estimateFundamentalMatrix", "E": "estimateEssentialMatrix"}
        cameras = (task.cameras[0], task.cameras[-1]) if task.problem == "E" else ()
        function = getattr(pysuperansac, names[task.problem])
        return functools.partial(function, matches, *cameras, _sizes(task), [], config)

    def _read(self, task: Task, answer: Any) -> ModelAndInliers:
        if task.problem == "pose":
            return answer[:2], None
        model, inliers, *_ = answer
        return (model if len(inliers) else None), None


def _sizes(task: Task) -> list[float]:
    """Return width and height of both images."""
    if task.size1 is None or task.size2 is None:
        return [float(1 + points[:, axis].max()) for points in task.points for axis in (0, 1)]
    return [float(side) for size in (task.size1, task.size2) for side in size[::-1]]


# It runs all iterations: the least number is the largest one, whatever that is.
_SETTINGS = {"sampler": "PROSAC", "scoring": "MAGSAC", "min_iterations": sys.maxsize, "max_iterations": 1000}

METHODS = (Method("superansac", _SETTINGS, SupeRANSAC(), sort=True, problems=("H", "F")),)
