"""LO-RANSAC of pydegensac, for F with DEGENSAC."""

import functools
from collections.abc import Callable
from typing import Any

from bansac_lab.peers.library import Library, Method, Task


class PyDegensac(Library):
    """``pydegensac``: H and F."""

    package = "pydegensac"

    def _call(self, task: Task, *, threshold: float, confidence: float, max_iterations: int) -> Callable[[], Any]:
        import pydegensac

        find = pydegensac.findHomography if task.problem == "H" else pydegensac.findFundamentalMatrix
        return functools.partial(find, *task.points, threshold, confidence, max_iterations, seed=task.seed)


METHODS = (Method("pydegensac", library=PyDegensac(), problems=("H", "F")),)
