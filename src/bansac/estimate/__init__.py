"""The public functions: check the input, choose the options, run the engine, build the result.

This room may import the options, results and checks beside it, and the engine, problems, solvers and numeric rooms.
"""

from __future__ import annotations

from bansac.estimate.curves import fit_circle, fit_line, fit_polynomial
from bansac.estimate.generic import ransac
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.two_views import (
    estimate_essential,
    estimate_fundamental,
    estimate_homography,
    estimate_relative_pose,
)

__all__ = [
    "estimate_affine",
    "estimate_essential",
    "estimate_fundamental",
    "estimate_homography",
    "estimate_relative_pose",
    "estimate_similarity",
    "fit_circle",
    "fit_line",
    "fit_polynomial",
    "ransac",
]
