"""The relative pose of matches with depths: the order of the searches, whether depths agree, and the last fit.

A short search with samples of three matches with depths comes first. If its depths disagree with the points, a short
search with samples of five matches follows, then long ones of both. So wrong depths cost time, and change no result.
The last fit uses the points and the depths, each with its noise.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.refinement.lm import BIWEIGHT, minimize_near
from bansac.estimate.model_forms import form_of
from bansac.estimate.request import Request
from bansac.estimate.result import RelativePose, Result
from bansac.estimate.sample import refine_on_all
from bansac.estimate.solution import Solution
from bansac.estimate.solve import find_solution, finish, refine, solve
from bansac.estimate.verdict import Verdict
from bansac.evidence.configuration import UNVERIFIED, find_configuration
from bansac.evidence.significance import Reason, judge
from bansac.geometry import recover_pose
from bansac.maths.arrays import Bools, Floats
from bansac.maths.quaternion import matrix_of, model_of
from bansac.problems.relative_depth import RELATIVE_DEPTH, essential_of

# Largest numbers of iterations of the short searches: with depths, and with five matches.
_SHORT, _SHORT_OF_FIVE = 300, 2000

# The error of a reprojection, from two points with noise and of two components, over the Sampson distance.
_REPROJECTION = 2.0

# The noise of log depths that a search assumes. The noise of points is one first threshold.
_NOISE = 0.15

# Depths agree from this number of standard deviations of their rank correlation with those of the pose on. Permuted
# depths have at most 2.6. Those of one image agree from this part of the number of the other image on.
_AGREE, _PART = 3.0, 1 / 3

# Standard deviation of a Gaussian over its median absolute deviation, and the smallest noise of a log depth.
_SIGMA, _LEAST_NOISE = 1.4826, 0.01

# Scale of the biweight loss of the last fit, in standard deviations; number of choices of inliers, and steps for each.
_SCALE, _ROUNDS, _STEPS = 12.0, 3, 25

# Errors of depths are smooth in the image, so that more depths than this number tell no more.
_DISTINCT = 100

# The error of an unknown depth over that of a known one.
_FREE = 1e6

# A shift counts from this number of its standard deviations on, and this share of the median depth.
_SHIFTED, _LARGE = 5.0, 0.2

# Depths agree with one of two motions only if their noise is larger with the other one by this factor.
_WORSE = 1.5

_NAMES = "depth1", "depth2"
_DISAGREE = "the depths do not agree with the matches"


def solve_with_depths(request: Request, depths: Floats, conclude: Callable[[Solution], Solution]) -> Result:
    """Return the result of a request of the relative pose with the depths of both images (2 x N), 0 if unknown.

    ``conclude`` is for solutions that do not use the depths. A rotation determines no depths, so that none can agree
    with it.
    """
    threshold = _REPROJECTION * request.threshold
    data = _with_weights(np.vstack([request.data, depths]), (_NOISE / threshold) ** 2)
    options = request.options.replace(threshold=threshold * request.unit)
    form, problem = form_of(RELATIVE_DEPTH), RELATIVE_DEPTH
    with_depths = replace(
        request, problem=problem, data=data, form=form, options=options, initial_model=None, two_views=False
    )
    with np.errstate(all="ignore"):
        for part, most in ((with_depths, _SHORT), (request, _SHORT_OF_FIVE), (with_depths, None)):
            solution = _search(part, most)
            if solution is None:
                continue
            solution = _as_matrix(solution, request)
            fitted, remark = _use_depths(solution, depths)
            if fitted is not None and fitted.verdict.configuration != "pure_rotation":
                if fitted.verdict.configuration == "planar":
                    fitted = _of_plane(fitted, conclude(solution), depths)
                return finish(fitted, f"; {remark}")
            if part is request:
                return finish(conclude(solution), f"; {remark if fitted is None else _DISAGREE}")
    return solve(replace(request, hint="; ".join(filter(None, (request.hint, _DISAGREE)))), conclude)


def _search(part: Request, most: int | None) -> Solution | None:
    """Return the significant solution of a search, of at most ``most`` iterations if given; None if there is none."""
    limit = part.options.max_iterations
    if most is not None:
        part = replace(part, options=part.options.replace(max_iterations=min(most, limit or most), min_iterations=0))
    solution = find_solution(part)
    if not _is_significant(solution):
        return None
    if part.problem is RELATIVE_DEPTH:
        refined = refine(solution)
        return refined if _is_significant(refined) else solution
    return solution


def _is_significant(solution: Solution) -> bool:
    """Return whether chance does not explain the model, on matches that are exchanged with their depths."""
    problem, measured = solution.request.problem, solution.measured
    if measured is None or problem is not RELATIVE_DEPTH:
        return measured is not None and solution.verdict.success
    return judge(problem, solution.request.data, measured, searches=False).is_significant


def _as_matrix(solution: Solution, request: Request) -> Solution:
    """Return a solution as that of the essential matrix, with the verdict of the search if chance explains the matrix.

    Matches with depths are stronger evidence than matches alone.
    """
    assert solution.model is not None
    if solution.request.problem is not RELATIVE_DEPTH:
        return solution
    matrix = replace(solution, request=request, codimension=1).moved(essential_of(solution.model))
    best, rays = matrix.measured, np.ascontiguousarray(request.data[:4])
    assert best is not None
    if judge(request.problem, rays, best, searches=False).reason is not Reason.CHANCE:
        return matrix
    configuration = find_configuration(request.problem, rays, best.residuals, best.threshold)
    known = None if configuration == UNVERIFIED else configuration
    return replace(matrix, verdict_of_sample=Verdict(known != "collinear", known, ""))


def _use_depths(solution: Solution, depths: Floats) -> tuple[Solution | None, str]:
    """Return the solution with the pose that points and depths give, and a remark; None if the depths do not agree."""
    request, rays = solution.request, np.ascontiguousarray(solution.request.data[:4])
    start, seen, members = _reconstruct(solution)
    agree = _agree(depths[:, members], seen[:, members])
    remark = _describe(agree, np.any(depths > 0.0, axis=1))
    shifts = _find_shifts(_kept(depths, np.zeros(2), agree), refine_on_all(solution, request))
    depths = _kept(depths, shifts, agree)
    model, known, data = None, (depths > 0.0).any(axis=0), np.vstack([rays, depths])
    for _ in range(_ROUNDS):
        if np.count_nonzero(members & known) <= RELATIVE_DEPTH.sample_size:
            return None, remark
        model = _scaled(start, depths[:, members], seen[:, members]) if model is None else model
        model = _fit(model, np.compress(members, data, axis=1), solution.residuals[members] / request.unit)
        solution = solution.moved(essential_of(model), verdict_of_sample=solution.verdict)
        members = solution.inliers & (_triangulate(model, rays) > 0.0).all(axis=0)
    assert model is not None
    used = np.any(depths > 0.0, axis=1)
    if not used.all():  # nothing determines the scale
        model[4:7], model[7] = model[7] * model[4:7], 1.0
    return replace(solution, public=_pose_of(model, shifts, used), rival=None), remark


def _kept(depths: Floats, shifts: Floats, used: Bools) -> Floats:
    """Return the used depths (2 x N) without their shifts, and 0 for others."""
    return np.where((depths > 0.0) & used[:, None], np.maximum(depths - shifts[:, None], 0.0), 0.0)


def _describe(agree: Bools, are_known: Bools) -> str:
    """Return which of the depths of the two images agree with the matches."""
    if not agree.any():
        return _DISAGREE
    if not (are_known & ~agree).any():
        return "the depths agree with the matches"
    k = 1 + int(np.argmax(agree))
    return f"the depths of image {k} agree with the matches, and those of image {3 - k} do not"


def _of_plane(fitted: Solution, plane: Solution, depths: Floats) -> Solution:
    """Return the motion of the plane of the inliers, unless the depths agree much better with that of the last fit.

    The homography of a plane is more accurate than points with depths. Depths decide between its two motions.
    """
    if not plane.is_of_plane:
        return fitted
    rays, (shifts, used) = np.ascontiguousarray(fitted.request.data[:4]), _used_by(fitted.public)
    depths = _kept(depths, shifts, used)
    known = fitted.inliers & plane.inliers & (depths > 0.0).any(axis=0)
    some = np.compress(known, np.vstack([rays, depths]), axis=1)
    own, other = (_model_of(*pose) for pose in (fitted.public, plane.public))
    seen = _triangulate(other, some[:4])
    if not (seen > 0.0).all() or _noise_of_depths(other, some) > _WORSE * _noise_of_depths(own, some):
        return fitted
    return replace(plane, public=_pose_of(_scaled(other, some[4:], seen), shifts, used), rival=None)


def _model_of(R: Floats, t: Floats) -> Floats:
    """Return the flat model of a motion, with a scale of 1."""
    return np.append(model_of(np.column_stack([R, t])), 1.0)


def _pose_of(model: Floats, shifts: Floats, used: Bools) -> RelativePose:
    """Return the pose of a flat model, with the shifts of the depths, 0 if none, and the names of the used ones."""
    shift1, shift2 = (float(shift) or None for shift in shifts)
    names = " and ".join(itertools.compress(_NAMES, used))
    return RelativePose(matrix_of(model)[:, :3], model[4:7], None, None, float(model[7]), shift1, shift2, names)


def _used_by(pose: RelativePose) -> tuple[Floats, Bools]:
    """Return the shifts of the depths of both images, and which of these are used."""
    shifts = np.array([pose.shift1 or 0.0, pose.shift2 or 0.0])
    return shifts, np.array([name in (pose.depth_used or "") for name in _NAMES])


def _reconstruct(solution: Solution) -> tuple[Floats, Floats, Bools]:
    """Return the model of an essential matrix, the depths of the matches, and the inliers in front of both cameras."""
    assert solution.model is not None
    rays = np.ascontiguousarray(solution.request.data[:4])
    model = _model_of(*recover_pose(solution.model.reshape(3, 3), rays[:2].T, rays[2:].T, solution.inliers)[:2])
    seen = _triangulate(model, rays)
    return model, seen, solution.inliers & (seen > 0.0).all(axis=0)


def _triangulate(model: Floats, rays: Floats) -> Floats:
    """Return the depths (2 x N) that solve z2 x2 = z1 R x1 + t in the least-squares sense."""
    matrix, ones = matrix_of(model), np.ones(rays.shape[1])
    first, second = matrix[:, :3] @ np.vstack([rays[:2], ones]), np.vstack([rays[2:], ones])
    aa, bb, ab = (np.sum(x * y, axis=0) for x, y in ((first, first), (second, second), (first, second)))
    at, bt = matrix[:, 3] @ first, matrix[:, 3] @ second
    return np.asarray(np.stack([ab * bt - bb * at, aa * bt - ab * at]) / (aa * bb - ab * ab))


def _agree(depths: Floats, seen: Floats) -> Bools:
    """Return whether the depths of each image (2 x N) grow with those of the pose.

    Fisher's z of Spearman's rank correlation tests it: for both images together, and each by
    its share of the larger one.
    """
    scores = np.zeros(2)
    for k, (own, other) in enumerate(zip(depths, seen, strict=True)):
        known = own > 0.0
        first, second = (_ranks(values[known]) for values in (own, other))
        spread = math.sqrt(float(first @ first) * float(second @ second))
        if first.size > 3 and spread > 0.0:
            correlation = min(float(first @ second) / spread, 1.0 - 1e-9)
            scores[k] = math.atanh(correlation) * math.sqrt(first.size - 3)
    scores, known = np.maximum(scores, 0.0), np.count_nonzero(np.any(depths > 0.0, axis=1))
    if not scores.sum() > _AGREE * math.sqrt(float(known)):
        return np.zeros(2, np.bool_)
    return np.asarray(scores > _PART * scores.max())


def _ranks(values: Floats) -> Floats:
    """Return the ranks of values less their mean; equal values share a rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * counts)[place] - 0.5 * values.size)


def _find_shifts(depths: Floats, alone: Solution) -> Floats:
    """Return what the depths of each image exceed those by that the matrix of the points alone gives; 0 if unclear.

    Depths d and those of the matrix z are related by d = c z + b. Both have errors, but these are independent of the
    depths of the other image, whose ranks are therefore instrumental variables for c and b.
    """
    _, seen, members = _reconstruct(alone)
    members, shifts = members & (depths > 0.0).all(axis=0), np.zeros(2)
    if np.count_nonzero(members) <= RELATIVE_DEPTH.sample_size:
        return shifts
    for k in range(2):
        d, z, instrument = depths[k, members], seen[k, members], _ranks(depths[1 - k, members])
        kept = z <= 3.0 * np.median(z)  # far points have large errors
        d, z, instrument = d[kept], z[kept], instrument[kept] - instrument[kept].mean()
        c = float(instrument @ d) / float(instrument @ z)
        b = float(d.mean()) - c * float(z.mean())
        slope = math.sqrt(float(instrument @ instrument)) / abs(float(instrument @ z))
        deviation = float(np.std(d - c * z)) * slope * float(z.mean())
        if c > 0.0 and abs(b) > max(_SHIFTED * deviation, _LARGE * float(np.median(d))):
            shifts[k] = b
    return shifts


def _scaled(model: Floats, depths: Floats, seen: Floats) -> Floats:
    """Return a model in the unit of the first depths, or of the second ones if these are unknown."""
    ratios = [own[own > 0.0] / other[own > 0.0] for own, other in zip(depths, seen, strict=True)]
    known = [float(np.median(ratio)) for ratio in ratios if ratio.size]
    first, second = known[0], known[-1]
    return np.concatenate([model[:4], first * model[4:7], [second / first]])


def _fit(model: Floats, data: Floats, residuals: Floats) -> Floats:
    """Return the model that inliers give, weighted by the noise of their points and of their depths."""
    problem, (data, scale) = RELATIVE_DEPTH, _weigh(model, data, residuals, np.full(residuals.size, True))
    manifold, work, scratch = select_manifold(problem), make_work(problem), np.empty(problem.scratch_size)
    fitted = model.copy()
    minimize_near(manifold, work, data, scale**2, BIWEIGHT, _STEPS, 1e-4 / data.shape[1], fitted, scratch)
    return fitted if np.isfinite(fitted).all() else model


def _weigh(model: Floats, data: Floats, residuals: Floats, members: Bools) -> tuple[Floats, float]:
    """Return data with the weight of the depths of ``members``, and the scale of the loss.

    A depth that no image has is that of the model, with no weight.
    """
    noise, known = max(_SIGMA * float(np.median(residuals[members])), 1e-12), (data[4:] > 0.0).any(axis=0)
    some = np.compress(members & known, data, axis=1)
    weight = (_noise_of_depths(model, some) / noise) ** 2 * max(1.0, some.shape[1] / _DISTINCT)
    data = _with_weights(data, weight)
    data[4:6, ~known] = _triangulate(model, data[:4])[:, ~known] * [[1.0], [model[7]]]
    data[6, ~known] = _FREE * weight
    return data, _SCALE * noise


def last_fit(pose: RelativePose, data: Floats, inliers: Bools, residuals: Floats) -> tuple[Any, ...]:
    """Return the model of a pose, the matches of its last fit, the depths that it used, and those of the model.

    The last items are what ``_weigh`` returns. ``data`` are matches with depths (6 x N).
    """
    model = _model_of(*pose)
    model[7] = pose.scale or 1.0
    seen = _triangulate(model, data[:4])
    members = inliers & (seen > 0.0).all(axis=0)
    depths = _kept(data[4:], *_used_by(pose))
    if not _agree(depths[:, members], seen[:, members]).any():
        raise ValueError("the depths do not fit the pose: they are those of other data")
    return model, members, depths, seen, *_weigh(model, np.vstack([data[:4], depths]), residuals, members)


def _with_weights(data: Floats, weight: float) -> Floats:
    """Return matches with depths (6 x N) with one weight of the depths."""
    return np.vstack([data, np.full(data.shape[1], weight)])


def _noise_of_depths(model: Floats, data: Floats) -> float:
    """Return the standard deviation of log depths, from the half of the points that the pose determines best."""
    seen = _triangulate(model, data[:4])
    near = seen[1] <= np.median(seen[1])
    deviations = []
    for own, other in zip(data[4:], seen, strict=True):
        ratio = own[near & (own > 0.0)] / other[near & (own > 0.0)]
        if ratio.size:
            deviations.append(np.log(ratio / np.median(ratio)))
    return max(_SIGMA * float(np.median(np.abs(np.concatenate(deviations)))), _LEAST_NOISE)
