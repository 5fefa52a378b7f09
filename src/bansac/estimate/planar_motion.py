"""The motion between two calibrated cameras that see a plane, from the homography of the plane.

The matches of a plane agree with a family of essential matrices. A linear fit selects one of them by noise, and its
translation is often off by tens of degrees. The homography is well determined, and so are its motions.
"""

import numpy as np

from bansac.estimate.result import RelativePose
from bansac.estimate.solve import Solution
from bansac.geometry import decompose_homography, essential_from_pose
from bansac.maths.arrays import Floats
from bansac.significance.configuration import matches_of_plane
from bansac.solvers.homography_dlt import homography_dlt

# The motion of the plane replaces E if it has at least this share of the inliers of E. Some inliers of E are due to
# chance.
_SUPPORT = 0.9

# Share of the points of the plane that must be in front of the camera.
_IN_FRONT = 0.95


def motion_of_plane(rays: Floats) -> tuple[Floats, Floats] | None:
    """Return the motion of a camera from matches on a plane.

    ``rays`` (4 x N) are the matches in normalised units; the motion is X2 = R X1 + t with t of unit length. A
    homography has four motions. At most two of them put the points in front of the cameras, and both agree with all
    matches. The motion whose plane is seen less obliquely is chosen, because surfaces at a grazing angle give few
    matches. The return value is None if the matches determine no homography, or if no motion has the plane in front of
    the camera. Rays of a wrong scale, such as pixels, can give a homography of rank 2, which has no motion.
    """
    H = homography_dlt(rays[:2].T, rays[2:].T)
    if H is None or not np.linalg.det(H) > 0.0:
        return None
    try:
        motions = decompose_homography(H)
    except ValueError:  # rank 2
        return None
    best, motion = 0.0, None
    for R, t, n in motions:
        depth = n[0] * rays[0] + n[1] * rays[1] + n[2]  # the inverse of the depth in camera 1
        facing, length = float(depth.mean()), float(np.linalg.norm(t))
        if length > 0.0 and facing > best and np.mean(depth > 0.0) >= _IN_FRONT:
            best, motion = facing, (R, t / length)
    return motion


def prefer_motion_of_plane(rays: Floats, solution: Solution) -> Solution:
    """Replace a planar pose by the motion of the plane of its rays (4 x N), if that keeps 90 % of the inliers."""
    unit = solution.request.unit
    plane = matches_of_plane(rays, solution.residuals / unit, solution.threshold / unit)
    motion = motion_of_plane(np.compress(plane, rays, axis=1))
    if motion is None:
        return solution
    pose = RelativePose(*motion)
    of_plane = solution.moved(essential_from_pose(*motion).ravel(), public=pose, is_of_plane=True)
    return solution if of_plane.count < _SUPPORT * solution.count else of_plane
