"""Robust estimation whose sampling learns: BANSAC (Piedade and Miraldo, ICCV 2023) in Python.

The names below load on first use, so that ``import bansac`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bansac.batch.many import Failure, estimate_many, iter_estimates
    from bansac.estimate import (
        estimate_absolute_pose,
        estimate_affine,
        estimate_essential,
        estimate_fundamental,
        estimate_homography,
        estimate_relative_pose,
        estimate_rigid_3d,
        estimate_similarity,
        estimate_similarity_3d,
        fit_circle,
        fit_ellipse,
        fit_line,
        fit_plane,
        fit_polynomial,
        ransac,
    )
    from bansac.geometry import focals_from_fundamental
    from bansac.options import Options
    from bansac.problems.problem import Problem
    from bansac.result import AbsolutePose, RelativePose, Result, Trace

__version__ = "0.1.0"

__all__ = [
    "AbsolutePose",
    "Failure",
    "Options",
    "Problem",
    "RelativePose",
    "Result",
    "Trace",
    "__version__",
    "estimate_absolute_pose",
    "estimate_affine",
    "estimate_essential",
    "estimate_fundamental",
    "estimate_homography",
    "estimate_many",
    "estimate_relative_pose",
    "estimate_rigid_3d",
    "estimate_similarity",
    "estimate_similarity_3d",
    "fit_circle",
    "fit_ellipse",
    "fit_line",
    "fit_plane",
    "fit_polynomial",
    "focals_from_fundamental",
    "iter_estimates",
    "ransac",
]

_MODULES = {
    "AbsolutePose": "bansac.result",
    "Failure": "bansac.batch.many",
    "Options": "bansac.options",
    "Problem": "bansac.problems.problem",
    "RelativePose": "bansac.result",
    "Result": "bansac.result",
    "Trace": "bansac.result",
    "estimate_absolute_pose": "bansac.estimate",
    "estimate_affine": "bansac.estimate",
    "estimate_essential": "bansac.estimate",
    "estimate_fundamental": "bansac.estimate",
    "estimate_homography": "bansac.estimate",
    "estimate_many": "bansac.batch.many",
    "estimate_relative_pose": "bansac.estimate",
    "estimate_rigid_3d": "bansac.estimate",
    "estimate_similarity": "bansac.estimate",
    "estimate_similarity_3d": "bansac.estimate",
    "fit_circle": "bansac.estimate",
    "fit_ellipse": "bansac.estimate",
    "fit_line": "bansac.estimate",
    "fit_plane": "bansac.estimate",
    "fit_polynomial": "bansac.estimate",
    "focals_from_fundamental": "bansac.geometry",
    "iter_estimates": "bansac.batch.many",
    "ransac": "bansac.estimate",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
        return found
    raise AttributeError(f"module 'bansac' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
