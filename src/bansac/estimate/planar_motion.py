"""The motion between two calibrated cameras that see a plane, from the homography of the plane.

The matches of a plane agree with a family of essential matrices. A linear fit selects one of them by noise, and its
translation is often off by tens of degrees. The homography is well determined, and so are its motions.

At most two of them have the plane in front of the cameras, and a search that has drawn matches of the plane only may
end at either. Matches off the plane agree with one of them. So if the other motion has more of these, it competes with
the model that was found.
"""

import math

import numpy as np

from bansac.estimate.result import RelativePose
from bansac.estimate.solve import Solution, search
from bansac.geometry import decompose_homography, essential_from_pose
from bansac.maths.arrays import Floats
from bansac.significance.configuration import matches_of_plane
from bansac.solvers.homography_dlt import homography_dlt

# The motion of the plane replaces E if it has at least this share of the inliers of E. Some inliers of E are due to
# chance.
_SUPPORT = 0.9

# Share of the points of the plane that must be in front of the camera.
_IN_FRONT = 0.95

# Matches off the plane agree with a motion of the plane within this number of thresholds, because it is less exact
# there. The other motion competes if it has more of them by this number of standard deviations.
_REACH, _DEVIATIONS = 3.0, 2.0


def motions_of_plane(rays: Floats) -> list[tuple[Floats, Floats]]:
    """Return the motions of a camera from matches on a plane, the one that sees the plane least obliquely first.

    ``rays`` (4 x N) are the matches in normalised units; the motion is X2 = R X1 + t with t of unit length. A
    homography has four motions. At most two of them put the points in front of the cameras, and both agree with all
    matches. Surfaces at a grazing angle give few matches. The list is empty if the matches determine no homography, or
    if no motion has the plane in front of the camera. Rays of a wrong scale, such as pixels, can give a homography of
    rank 2, which has no motion.
    """
    H = homography_dlt(rays[:2].T, rays[2:].T)
    if H is None or not np.linalg.det(H) > 0.0:
        return []
    try:
        motions = decompose_homography(H)
    except ValueError:  # rank 2
        return []
    found = []
    for R, t, n in motions:
        depth = n[0] * rays[0] + n[1] * rays[1] + n[2]  # the inverse of the depth in camera 1
        length = float(np.linalg.norm(t))
        if length > 0.0 and depth.mean() > 0.0 and np.mean(depth > 0.0) >= _IN_FRONT:
            found.append((-float(depth.mean()), R, t / length))
    return [(R, t) for _, R, t in sorted(found, key=lambda motion: motion[0])]


def search_from_other_motion(solution: Solution) -> Solution:
    """Search again from a motion of the plane of a planar solution if more matches off the plane agree with it."""
    request, rays, unit = solution.request, solution.request.data[:4], solution.request.unit
    plane = matches_of_plane(rays, solution.residuals / unit, solution.threshold / unit)
    reach = _REACH * solution.threshold
    own = np.count_nonzero(solution.residuals[~plane] <= reach)
    for motion in motions_of_plane(np.compress(plane, rays, axis=1)):
        other = solution.moved(essential_from_pose(*motion).ravel())
        count = np.count_nonzero(other.residuals[~plane] <= reach)
        if count - own > _DEVIATIONS * math.sqrt(count + own):
            found = search(request.replace(initial_model=other.model))
            if found.model is not None and solution.moved(found.model).count > solution.count:
                return found
    return solution


def prefer_motion_of_plane(solution: Solution) -> Solution:
    """Replace a planar pose by the motion of its plane, if that keeps 90 % of the inliers."""
    rays, unit = solution.request.data[:4], solution.request.unit
    plane = matches_of_plane(rays, solution.residuals / unit, solution.threshold / unit)
    motions = motions_of_plane(np.compress(plane, rays, axis=1))
    if not motions:
        return solution
    motion = motions[0]
    pose = RelativePose(*motion)
    of_plane = solution.moved(essential_from_pose(*motion).ravel(), public=pose, is_of_plane=True)
    return solution if of_plane.count < _SUPPORT * solution.count else of_plane
