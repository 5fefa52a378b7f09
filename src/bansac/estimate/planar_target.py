"""Planar targets: the images of points of a plane may have two poses, which mirror each other.

The cost of a pose has two minima if the points are coplanar (Schweighofer and Pinz, PAMI 2006). The second one is near
the first one with the plane mirrored in depth about its centroid. Both are refined, and the better one is returned. If
both explain the points within two standard deviations, the other one is its rival.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bansac.estimate.result import Rival
from bansac.estimate.solution import Solution
from bansac.evidence.twins import REACH, compare_twins, find_twins
from bansac.maths.arrays import Floats

# Poses whose rotations differ by less, in degrees, are the same.
_SAME = 5.0
# Parameters of a pose, and components of an error.
_PARAMETERS, _COMPONENTS = 6, 2


def choose_pose(refine: Callable[..., Solution], refines_all: bool, solution: Solution) -> Solution:
    """Return the better one of a pose and its mirror image, with the other one as rival if it is nearly as good.

    ``refine(solution, model, reach, members)`` refines a flat pose, first with the members, then within ``reach``
    thresholds. Points that are not coplanar have no second pose; their solution is refined only if ``refines_all``.
    """
    if refines_all and solution.model is not None:
        solution = refine(solution, solution.model)
    inliers, model = solution.inliers, solution.model
    assert model is not None
    twins = find_twins(solution.request.problem, np.compress(inliers, solution.request.data, axis=1), model)
    mirrored = next((twin for twin in twins if not _angle(model, twin) < _SAME), None)
    if mirrored is None:
        return solution
    best, other = refine(solution, model, REACH), refine(solution, mirrored, REACH, inliers)
    assert best.model is not None
    assert other.model is not None
    if _angle(best.model, other.model) < _SAME:
        return solution
    lengths = best.residuals, other.residuals
    is_mirrored, is_rival = compare_twins(*lengths, solution.threshold, _COMPONENTS, _PARAMETERS)
    if is_rival and solution.request.plausibility is not None:  # the search has compared the focal lengths, too
        is_mirrored = False
    if not is_mirrored and not is_rival:
        return solution
    first, second = solution, refine(solution, other.model)
    if is_mirrored:
        first, second = replace(second, rival=None), first
    if not is_rival:
        return first
    assert second.model is not None
    public = solution.request.form.to_public(second.model) if second.public is None else second.public
    return replace(first, rival=Rival(public, second.inliers, second.threshold))


def _angle(first: Floats, second: Floats) -> float:
    """Return the angle between the rotations of two models in degrees."""
    return math.degrees(2.0 * math.acos(min(abs(float(first[:4] @ second[:4])), 1.0)))
