"""Cameras, the geometry of two views, and cheirality. The functions below are importable without Numba."""

from bansac.geometry.two_views import apply_homography as apply_homography
from bansac.geometry.two_views import apply_transform as apply_transform
from bansac.geometry.two_views import choose_motion as choose_motion
from bansac.geometry.two_views import corner_distance as corner_distance
from bansac.geometry.two_views import cross_matrix as cross_matrix
from bansac.geometry.two_views import decompose_essential as decompose_essential
from bansac.geometry.two_views import decompose_homography as decompose_homography
from bansac.geometry.two_views import essential_from_pose as essential_from_pose
from bansac.geometry.two_views import focals_from_fundamental as focals_from_fundamental
from bansac.geometry.two_views import homogeneous as homogeneous
from bansac.geometry.two_views import normalize_points as normalize_points
from bansac.geometry.two_views import orthogonal_axes as orthogonal_axes
from bansac.geometry.two_views import recover_pose as recover_pose
from bansac.geometry.two_views import rotation_matrix as rotation_matrix
