"""SupeRANSAC with its testers' settings: PROSAC, MAGSAC's score, its default local optimisation. It takes no seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Task


def _estimate(task: Task) -> Any:
    import pysuperansac

    config = pysuperansac.RANSACSettings()
    config.sampler = pysuperansac.SamplerType.PROSAC
    config.scoring = pysuperansac.ScoringType.MAGSAC
    config.min_iterations = config.max_iterations = task.max_iterations
    config.inlier_threshold = task.threshold
    config.confidence = task.confidence
    sizes = [float(1 + points[:, axis].max()) for points in (task.x1, task.x2) for axis in (0, 1)]
    find = pysuperansac.estimateHomography if task.kind == "H" else pysuperansac.estimateFundamentalMatrix
    model, inliers, *_ = find(np.ascontiguousarray(np.hstack([task.x1, task.x2])), sizes, [], config)
    return model if len(inliers) else None


METHODS = (
    Method(
        "superansac",
        {"max_iterations": 1000},
        call=_estimate,
        package="pysuperansac",
        sort=True,
        kinds=("H", "F"),
    ),
)
