"""The twin of a motion (:mod:`bansac.evidence.twins`): both are refined, and the better one is returned.

A narrow view has a twin with reversed depths. The pose of a camera that sees points of a plane has a twin near the pose
with the plane mirrored in depth about its centroid (Schweighofer and Pinz, PAMI 2006). If both explain the data within
two standard deviations, the other one is the rival.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bansac.estimate.result import Rival
from bansac.estimate.solution import Solution
from bansac.estimate.solve import refine
from bansac.evidence.twins import REACH, compare_twins, find_twins
from bansac.maths.arrays import Floats

# Essential matrices that differ by less, an angle in radians, are the same, and poses by the angle of quaternions.
_SAME, _SAME_POSE = math.radians(3.0), math.radians(2.5)
# Parameters of a pose, and components of an error.
_PARAMETERS, _COMPONENTS = 6, 2


def choose_twin(solution: Solution) -> Solution:
    """Return the better one of an essential matrix and its twin, with the other one as rival if it is nearly as good.

    Only a matrix that its inliers determine badly is compared.
    """
    best, request, rival = solution, solution.request, None
    problem = request.problem
    assert best.model is not None
    for end in find_twins(problem, np.compress(best.inliers, request.data, axis=1), best.model):
        twin = refine(solution.moved(end), local_optimization="lm")
        assert best.model is not None
        if twin.model is None or _angle(best.model, twin.model) < _SAME:
            continue
        lengths = best.residuals, twin.residuals
        is_better, is_undecided = compare_twins(
            *lengths, solution.threshold, problem.traits.codimension, problem.parameters or 0
        )
        best, other = (twin, best) if is_better else (best, twin)
        if is_undecided and other.model is not None:
            rival = Rival(request.form.to_public(other.model), other.inliers, other.threshold)
        elif is_better:
            rival = None
    return best if rival is None else replace(best, rival=rival, public=None)


def choose_pose(refine: Callable[..., Solution], refines_all: bool, solution: Solution) -> Solution:
    """Return the better one of a pose and its mirror image, with the other one as rival if it is nearly as good.

    ``refine(solution, model, reach, members)`` refines a flat pose, first with the members, then within ``reach``
    thresholds. Points that are not coplanar have no second pose; their solution is refined only if ``refines_all``.
    """
    if refines_all and solution.model is not None:
        solution = refine(solution, solution.model)
    request, inliers, model = solution.request, solution.inliers, solution.model
    assert model is not None
    twins = find_twins(request.problem, np.compress(inliers, request.data, axis=1), model)
    mirrored = next((twin for twin in twins if not _angle(model[:4], twin[:4]) < _SAME_POSE), None)
    if mirrored is None:
        return solution
    best, other = refine(solution, model, REACH), refine(solution, mirrored, REACH, inliers)
    assert best.model is not None
    assert other.model is not None
    if _angle(best.model[:4], other.model[:4]) < _SAME_POSE:
        return solution
    lengths = best.residuals, other.residuals
    is_mirrored, is_rival = compare_twins(*lengths, solution.threshold, _COMPONENTS, _PARAMETERS)
    if is_rival and request.plausibility is not None:  # the search has compared the focal lengths, too
        is_mirrored = False
    if not is_mirrored and not is_rival:
        return solution
    first, second = solution, refine(solution, other.model)
    if is_mirrored:
        first, second = replace(second, rival=None), first
    if not is_rival:
        return first
    assert second.model is not None
    public = request.form.to_public(second.model) if second.public is None else second.public
    return replace(first, rival=Rival(public, second.inliers, second.threshold))


def _angle(first: Floats, second: Floats) -> float:
    """Return the angle between two arrays of any sign, such as essential matrices or quaternions."""
    cosine = abs(float(first @ second)) / float(np.linalg.norm(first) * np.linalg.norm(second))
    return math.acos(min(cosine, 1.0))
