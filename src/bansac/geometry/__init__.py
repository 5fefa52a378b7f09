"""Cameras, the geometry of two views, and cheirality. The functions below are importable without Numba."""

from bansac.geometry.two_views import (
    apply_homography,
    apply_transform,
    choose_motion,
    corner_distance,
    cross_matrix,
    decompose_essential,
    decompose_homography,
    essential_from_pose,
    focals_from_fundamental,
    homogeneous,
    normalize_points,
    recover_pose,
    rotation_matrix,
)

__all__ = [
    "apply_homography",
    "apply_transform",
    "choose_motion",
    "corner_distance",
    "cross_matrix",
    "decompose_essential",
    "decompose_homography",
    "essential_from_pose",
    "focals_from_fundamental",
    "homogeneous",
    "normalize_points",
    "recover_pose",
    "rotation_matrix",
]
