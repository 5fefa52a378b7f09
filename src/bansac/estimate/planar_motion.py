"""The motion between two calibrated cameras that see a plane, from the homography of the plane.

The matches of a plane agree with a family of essential matrices. A linear fit selects one of them by noise, and its
translation is often off by tens of degrees. The homography is well determined, and so are its motions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bansac.engine.posterior import inlier_probabilities
from bansac.estimate.solve import distances
from bansac.geometry import decompose_homography, essential_from_pose
from bansac.problems.problem import Problem
from bansac.result import RelativePose, Result
from bansac.significance.configuration import matches_of_plane
from bansac.significance.verdict import plane_motion_verdict
from bansac.solvers.homography_dlt import homography_dlt

__all__ = ["motion_of_plane", "prefer_motion_of_plane"]

# The motion of the plane replaces E if it has at least this share of the inliers of E. Some inliers of E are due to
# chance.
_SUPPORT = 0.9

# Share of the points of the plane that must be in front of the camera.
_IN_FRONT = 0.95


def motion_of_plane(rays: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the motion of a camera from matches on a plane.

    A homography has four motions. At most two of them put the points in front of the cameras, and both agree with all
    matches. The motion whose plane is seen less obliquely is chosen, because surfaces at a grazing angle give few
    matches.

    Parameters
    ----------
    rays : (4, N) ndarray
        The matches in normalised units.

    Returns
    -------
    R, t : (3, 3) and (3,) ndarray
        The motion ``X2 = R X1 + t`` with t of unit length. The return value is None if the matches determine no
        homography, or if no motion of the homography has the plane in front of the camera. Rays of a wrong scale, such
        as pixels, can give a homography of rank 2 within rounding. It has no motion.
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


def prefer_motion_of_plane(problem: Problem, rays: NDArray[np.float64], result: Result, unit: float) -> Result:
    """Replace the model of a result by the motion of the plane of its inliers, if that keeps 90 % of the inliers.

    Parameters
    ----------
    problem : Problem
        The problem of the essential matrix.
    rays : (4, N) ndarray
        The matches in normalised units.
    result : Result
        A relative pose whose configuration is "planar".
    unit : float
        Length of one normalised unit in the unit of the result's residuals.

    Returns
    -------
    Result
        ``result``, or a copy with the new model and its inliers, residuals, probabilities and message.
    """
    plane = matches_of_plane(rays, result.residuals / unit, result.threshold / unit)
    motion = motion_of_plane(np.compress(plane, rays, axis=1))
    if motion is None:
        return result
    residuals = distances(problem, rays, essential_from_pose(*motion).ravel(), unit)
    inliers = residuals <= result.threshold
    support = int(np.count_nonzero(inliers))
    if support < _SUPPORT * result.num_inliers:
        return result
    verdict = plane_motion_verdict(support, inliers.size)
    return replace(
        result,
        model=RelativePose(*motion),
        inliers=inliers,
        residuals=residuals,
        probabilities=inlier_probabilities(residuals, result.threshold, problem.codimension),
        success=verdict.success,
        message=verdict.message,
        configuration=verdict.configuration,
    )
