"""The geometry of two images of a scene with a plane, from the homography of the plane.

The matches of a plane agree with a family of essential matrices. A linear fit selects one of them by noise, and its
translation is often off by tens of degrees. The homography is well determined, and so are its motions.

At most two of them have the plane in front of the cameras, and a search that has drawn matches of the plane only may
end at either. Matches off the plane agree with one of them. So if the other motion has more of these, it competes with
the model that was found. Of a fundamental matrix, the plane leaves the epipole free, and the one that most matches off
the plane agree with competes (plane and parallax, :mod:`bansac.problems.degensac`). So does that of an essential matrix
if its inliers follow a rotation, because most points may be far away.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.frame import Frame
from bansac.engine.search import Search
from bansac.estimate.presets import Arguments, resolve_options
from bansac.estimate.result import RelativePose, Rival
from bansac.estimate.solution import Solution
from bansac.estimate.solve import refine
from bansac.evidence.ambiguity import mark_off_plane
from bansac.evidence.configuration import fit_rotation, matches_of_plane
from bansac.evidence.rivals import RIVAL, is_same
from bansac.evidence.significance import is_significant
from bansac.geometry import decompose_homography, essential_from_pose
from bansac.maths.arrays import Bools, Floats
from bansac.maths.rng import seed_rng
from bansac.problems.degensac import search_epipole
from bansac.solvers.homography_dlt import homography_dlt

# The motion of the plane replaces E if it has at least this share of the inliers of E. Some inliers of E are due to
# chance. One of its motions must give the matches of the plane at least this share of their score.
_SUPPORT, _EXPLAINED = 0.9, 0.93

# Share of the points of the plane that must be in front of the camera.
_IN_FRONT = 0.95

# Matches off the plane agree with a motion of the plane within this number of thresholds, because it is less exact
# there. The other motion competes if it has more of them by this number of standard deviations. The motion with the
# more oblique view needs a score that is higher by as many, with the variance of the sum of its differences by match.
_REACH, _DEVIATIONS = 3.0, 2.0

# A rival is searched among the matches off the plane within this number of thresholds of the model. Few of them are
# wrong, so few iterations are enough. It needs more of the matches off the plane by a share of those of the model, and
# by a number of standard deviations of the difference (McNemar, 1947).
_NEAR, _MORE, _DEVIATIONS_OF_RIVAL = 8.0, 0.1, 3.0
_SEARCH: Arguments = {"max_iterations": 20, "restarts": 1, "seed": 0}

_search_epipole = kernel(search_epipole)


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


def choose_motion(solution: Solution) -> Solution:
    """Return the solution of a planar essential matrix with the motion of the plane of its inliers.

    If more matches off the plane agree with the other motion, that is refined. Else a motion of the plane replaces the
    matrix if it keeps 90 % of the inliers, unless both motions fit the matches of the plane worse: these are then only
    near a plane. It is the motion with the less oblique view, unless the other one has a score that is higher by two
    standard deviations: matches near the plane, but not on it, agree with the right motion only.
    """
    rays, plane = solution.request.data[:4], _plane_of(solution)
    motions = motions_of_plane(np.compress(plane, rays, axis=1))
    if not motions:
        return solution
    others = [solution.moved(essential_from_pose(*motion).ravel()) for motion in motions]
    better = _refine_better(solution, others, plane)
    scores = [_scores(other) for other in others]
    is_explained = max(score[plane].sum() for score in scores) >= _EXPLAINED * _scores(solution)[plane].sum()
    gains = scores[-1] - scores[0]
    which = -1 if gains.sum() > _DEVIATIONS * np.linalg.norm(gains) else 0
    if better is not solution or not is_explained or others[which].count < _SUPPORT * solution.count:
        return better
    return replace(others[which], public=RelativePose(*motions[which]), is_of_plane=True)


def choose_epipole(solution: Solution) -> Solution:
    """Return the solution of a planar fundamental matrix with the epipole of most matches off the plane.

    If the matches follow a rotation, the solution is an essential matrix, and far points are the plane at infinity. It
    remains if chance explains the matches off the rotation that agree with the epipole.
    """
    data, plane = np.ascontiguousarray(solution.request.data[:4]), _plane_of(solution)
    turns = solution.verdict.configuration == "pure_rotation"
    on_plane = np.compress(plane, data, axis=1)
    H = fit_rotation(on_plane) if turns else homography_dlt(on_plane[:2].T, on_plane[2:].T)
    assert solution.model is not None
    if H is None:
        return solution
    F, off_plane = solution.model.copy(), np.empty(np.count_nonzero(~plane))
    reach = (_REACH * solution.threshold / solution.request.unit) ** 2
    if not _search_epipole(data, plane.astype(float), off_plane, H.ravel(), F, np.empty(9), reach, seed_rng(0)):
        return solution
    # Few samples of the inliers have a near match, so that the refinement of a distant scene must not sample.
    changes = {"local_optimization": "lm"} if turns else {}
    better = _refine_better(solution, [solution.moved(F)], plane, **changes)
    return solution if better.verdict.configuration == "pure_rotation" else better


def compare_off_plane(solution: Solution) -> Solution:
    """Return the solution with the geometry that more matches off the plane of most inliers agree with as its rival.

    Matches that are shifted along a repeated pattern lie on a plane, too. A wrong geometry holds this plane and, as a
    compromise, some of the right matches off it. A search among these and those near the model leads to the right one.
    If it has more inliers in all, the solution is its rival, unless both have nearly the same inliers.
    """
    request, best = solution.request, solution.measured
    assert best is not None
    problem, is_off = request.problem, np.empty(best.residuals.size, np.bool_)
    mark_off_plane(request.data[:4], best.residuals, best.threshold, is_off)
    data, residuals = np.compress(is_off, request.data, axis=1), best.residuals[is_off]
    own, near = residuals <= best.threshold, residuals <= _NEAR * best.threshold
    count = np.count_nonzero(own)
    if np.count_nonzero(near) < max((1.0 + RIVAL) * count, problem.sample_size):  # most of these are its inliers
        return solution
    options, _ = resolve_options(problem, None, _SEARCH)
    frame = Frame(problem, np.compress(near, data, axis=1), options, best.threshold)
    run = Search(frame, lambda: False)
    run.run()
    if run.history.best is None:
        return solution
    model = frame.to_data(run.history.best.model)
    others = problem.distances(data, model) <= best.threshold
    gained, lost = np.count_nonzero(others & ~own), np.count_nonzero(own & ~others)
    few = gained - lost <= max(_DEVIATIONS_OF_RIVAL * math.sqrt(gained + lost), _MORE * count)
    if few or not is_significant(problem, data, model, best.threshold, noise=best.noise):
        return solution
    other = solution.moved(model)
    if other.count > solution.count:
        refined = refine(other, local_optimization="lm")
        if refined.model is not None and solution.moved(refined.model).count > solution.count:
            solution, other = refined, solution
            if is_same(solution.inliers, other.inliers):
                return solution
    assert other.model is not None
    rival = Rival(request.form.to_public(other.model), other.inliers, other.threshold)
    return replace(solution, rival=rival, public=None)


def _plane_of(solution: Solution) -> Bools:
    """Mark the matches of the plane of most inliers."""
    request, best = solution.request, solution.measured
    assert best is not None
    return matches_of_plane(request.problem, request.data[:4], best.residuals, best.threshold)


def _scores(solution: Solution) -> Floats:
    """Return the MSAC score of each match."""
    return np.maximum(1.0 - (solution.residuals / solution.threshold) ** 2, 0.0)


def _refine_better(solution: Solution, others: list[Solution], plane: Bools, **changes: Any) -> Solution:
    """Return the refined other geometry of a plane if more matches off the plane agree with it, and more in all.

    The scores do not decide: a model of the plane alone fits the noise of its many matches better.
    """
    reach = _REACH * solution.threshold
    own, *counts = (np.count_nonzero(each.residuals[~plane] <= reach) for each in (solution, *others))
    for other, count in zip(others, counts, strict=True):
        if count - own > _DEVIATIONS * math.sqrt(count + own):
            refined = refine(other, **changes)
            if refined.model is not None and solution.moved(refined.model).count > solution.count:
                return refined
    return solution
