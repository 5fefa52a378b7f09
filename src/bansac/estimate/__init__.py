"""The public functions: check the input, choose the options, run the engine, build the result.

This package may import the modules for options, results and validation, and the packages ``engine``, ``problems``,
``solvers`` and ``numeric``.
"""

from __future__ import annotations

from bansac.estimate.absolute_pose import estimate_absolute_pose
from bansac.estimate.curves import fit_circle, fit_ellipse, fit_line, fit_plane, fit_polynomial
from bansac.estimate.generic import ransac
from bansac.estimate.transforms import estimate_affine, estimate_similarity
from bansac.estimate.transforms_3d import estimate_rigid_3d, estimate_similarity_3d
from bansac.estimate.two_views import (
    estimate_essential,
    estimate_fundamental,
    estimate_homography,
    estimate_relative_pose,
)

__all__ = [
    "estimate_absolute_pose",
    "estimate_affine",
    "estimate_essential",
    "estimate_fundamental",
    "estimate_homography",
    "estimate_relative_pose",
    "estimate_rigid_3d",
    "estimate_similarity",
    "estimate_similarity_3d",
    "fit_circle",
    "fit_ellipse",
    "fit_line",
    "fit_plane",
    "fit_polynomial",
    "ransac",
]
