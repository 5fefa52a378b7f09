"""LO-RANSAC of pydegensac, for F with DEGENSAC."""

from __future__ import annotations

from typing import Any

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Task


def _estimate(task: Task) -> Any:
    import pydegensac

    find = pydegensac.findHomography if task.kind == "H" else pydegensac.findFundamentalMatrix
    return find(task.x1, task.x2, task.threshold, task.confidence, task.max_iterations, seed=task.seed)[0]


METHODS = (Method("pydegensac", call=_estimate, package="pydegensac", kinds=("H", "F")),)
