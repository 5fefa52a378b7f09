"""Poses with unknown focal lengths: of two cameras, one or both without a focal length, or the absolute pose of one.

For two cameras the run estimates a fundamental matrix with one focal length, or, if both are unknown and differ, a
fundamental matrix. Then the pose and the focal lengths are refined together, with a weak prior on the focal lengths.
The normal matrix gives their standard deviations, which show whether the data determine them. Matches do not if the
optical axes intersect, for a plane, and for a rotation about the camera's centre (Bougnoux, ICCV 1998; Kocur, Kyselica
and Kukelova, CVPR 2024). 3D points do not if they are in a plane parallel to the image, or nearly at one depth.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bansac.engine.model_selection import Plausibility
from bansac.estimate.cameras import CameraLike, check_size, unproject
from bansac.estimate.damped_least_squares import Linearize, minimize
from bansac.estimate.model_forms import as_pose, form_of
from bansac.estimate.presets import Arguments, Threshold
from bansac.estimate.request import make_request
from bansac.estimate.result import AbsolutePose, RelativePose, Result
from bansac.estimate.solution import Solution
from bansac.estimate.solve import solve
from bansac.estimate.twins import choose_pose
from bansac.geometry import cross_matrix, focal_lengths, recover_pose, rotation_matrix
from bansac.geometry.camera import Camera
from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_camera
from bansac.problems import absolute_pose
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from bansac.problems.problem import Problem
from bansac.problems.relative_focal import ONE_FOCAL, SHARED_FOCAL, TWO_FOCALS

_Motion = tuple[Floats, Floats, Floats]  # R, t and the focal lengths

# Standard deviation of the logarithm of a focal length from which on it counts as not determined: an error of 30 % is
# then two standard deviations.
_UNDETERMINED = 0.15

# The refinement uses the points within this number of thresholds. The Cauchy loss has the scale _SCALE in standard
# deviations of the noise (Holland and Welsch, 1977). The deviation is the median residual of the inliers times a
# factor, and at least a share of the threshold.
_REACH = 2.0
_SCALE, _TO_DEVIATION, _EXACT = 2.385, 1.4826, 1e-3

# Errors of matches are neither independent nor only noise. The variance that weighs the prior is larger by this factor.
_DEPENDENCE = 4.0


class _Noise(NamedTuple):
    squared_scale: float  # of the Cauchy loss
    penalty: float  # weight of the squared deviation of a logarithm of a focal length from the prior
    variance: float


def _noise_of(residuals: Floats, threshold: float) -> _Noise:
    inside = residuals[residuals <= threshold]
    deviation = _TO_DEVIATION * float(np.median(inside)) if inside.size else threshold
    variance = max(deviation, _EXACT * threshold) ** 2
    weight = _DEPENDENCE * variance
    return _Noise(min(_SCALE**2 * variance, threshold**2), weight / focal_lengths.FOCAL_SPREAD**2, weight)


def _robust_cost(
    noise: _Noise, residuals: Floats, jacobian: Callable[[], Floats], deviations: Floats
) -> tuple[float, Linearize]:
    """Return the cost of residuals (c x N), Cauchy loss and prior, and its linearization.

    ``jacobian`` returns the derivatives (parameters x c N); the ``deviations`` are those of the last parameters.
    """
    weights = 1.0 / (1.0 + (residuals * residuals).sum(axis=0) / noise.squared_scale)
    cost = -noise.squared_scale * float(np.log(weights).sum()) + noise.penalty * float(deviations @ deviations)

    def linearize() -> tuple[Floats, Floats]:
        derivatives = jacobian()
        weighted = derivatives * np.tile(weights, len(residuals))
        normal, gradient = weighted @ derivatives.T, weighted @ residuals.ravel()
        logarithms = np.arange(len(gradient) - len(deviations), len(gradient))
        normal[logarithms, logarithms] += noise.penalty
        gradient[logarithms] += noise.penalty * deviations
        return normal, gradient

    return cost, linearize


def _are_determined(normal: Floats, noise: _Noise, count: int) -> bool:
    """Return whether the data alone determine the last ``count`` parameters, the logarithms of the focal lengths."""
    pose = len(normal) - count
    by_pose = np.linalg.lstsq(normal[:pose, :pose], normal[:pose, pose:], rcond=1e-15)[0]
    information = normal[pose:, pose:] - normal[pose:, :pose] @ by_pose - noise.penalty * np.eye(count)
    if not np.linalg.eigvalsh(information)[0] > 0.0:
        return False
    variances = noise.variance * np.diag(np.linalg.inv(information))
    return bool((variances < _UNDETERMINED**2).all())


class _View(NamedTuple):
    name: str
    camera: CameraLike
    is_known: bool  # whether the focal length is
    K: Floats

    def half_diagonal(self, x: Floats) -> float:
        """Return half the diagonal of the image, or the distance of the farthest point (2 x N) from the centre."""
        camera = self.camera
        if isinstance(camera, Camera) and camera.width is not None and camera.height is not None:
            check_size(f"size of {self.name}", (camera.height, camera.width), x)
            return 0.5 * math.hypot(camera.width, camera.height)
        return float(np.linalg.norm(x - self.K[:2, 2:], axis=0).max(initial=0.0)) or 1.0

    def matrix(self, focal: float) -> Floats:
        """Return the camera matrix, with this focal length if it is unknown."""
        return self.K if self.is_known else np.where(np.isnan(self.K), focal, self.K)


def _view(name: str, camera: CameraLike) -> _View:
    """Check a camera."""
    if not isinstance(camera, Camera):
        return _View(name, camera, True, as_camera(name, camera))
    if not camera.has_focal and camera.is_distorted:
        raise ValueError(f"{name} has distortion, which needs a focal length: undistort the points first")
    return _View(name, camera, camera.has_focal, camera.K)


class _Matches(NamedTuple):
    """Matches relative to the principal points in units of ``unit`` pixels, and their cameras.

    If ``is_swapped``, these are in the reverse order of the caller's, so that the second one has no focal length.
    """

    cameras: list[_View]
    is_swapped: bool
    data: Floats
    unit: float
    usual: Floats  # focal lengths: the median of the prior, or the known one, in units
    directions: Floats  # one row for each unknown: 1 for the cameras that have it


def estimate_unknown_focal(
    data: Floats,
    K1: CameraLike | None,
    K2: CameraLike | None,
    threshold: Threshold,
    settings: Arguments,
    default_threshold: float,
) -> Result:
    """Estimate the relative pose and the unknown focal lengths.

    ``data`` (4 x N) are the matches in pixels; they are overwritten. At least one camera has no focal length. The same
    camera twice, or ``K2=None``, has one focal length.
    """
    if K1 is None:
        raise ValueError("K1 must be given if K2 is")
    _refuse_initial_model(settings)
    matches = _relative_to_principal_points(data, [_view("K1", K1), _view("K2", K1 if K2 is None else K2)])
    problem, plausibility = _select(matches)
    request = make_request(
        problem,
        matches.data,
        threshold,
        settings,
        default_threshold=default_threshold,
        unit=matches.unit,
        two_views=True,
        plausibility=plausibility,
        needs_all=True,
    )
    return solve(request, functools.partial(_refine_relative_pose, matches))


def _relative_to_principal_points(data: Floats, cameras: list[_View]) -> _Matches:
    """Return the matches relative to the principal points, or as rays if the focal length is known."""
    is_swapped = cameras[1].is_known
    if is_swapped:
        cameras, data = cameras[::-1], np.vstack([data[2:], data[:2]])
    first, second = cameras
    radii = [camera.half_diagonal(x) for camera, x in zip(cameras, (data[:2], data[2:]), strict=True)]
    unit = 0.5 * (radii[0] + radii[1])
    if first.is_known:
        rays = unproject(first.name, first.camera, data[:2], depth=5)
        unit = 0.5 * (rays.fx + rays.fy)
    for camera, x in zip(cameras, (data[:2], data[2:]), strict=True):
        if not camera.is_known:
            x -= camera.K[:2, 2:]
            x /= unit
    are_known = np.array([camera.is_known for camera in cameras])
    directions = np.ones((1, 2)) if first.camera is second.camera else np.eye(2)[~are_known]
    usual = np.where(are_known, 1.0, 2 * focal_lengths.USUAL_FOCAL * np.array(radii) / unit)
    return _Matches(cameras, is_swapped, data, unit, usual, directions)


def _select(matches: _Matches) -> tuple[Problem, Plausibility]:
    diagonals = matches.usual / focal_lengths.USUAL_FOCAL
    if len(matches.directions) == 2:
        centred = np.array([0.0, 0.0, diagonals[0], 0.0, 0.0, diagonals[1]])
        return TWO_FOCALS, Plausibility(focal_lengths.focal_plausibility, centred)
    problem = SHARED_FOCAL if matches.directions.all() else ONE_FOCAL
    return problem, Plausibility(focal_lengths.model_focal_plausibility, diagonals[1:])


def _refuse_initial_model(settings: Arguments) -> None:
    """Raise a ValueError if there is an initial model."""
    if settings.get("initial_model") is not None:
        raise ValueError("initial_model needs known focal lengths: give cameras with those of the last result")


def _refine_relative_pose(matches: _Matches, solution: Solution) -> Solution:
    """Refine the pose and the focal lengths, and say whether the focal lengths are determined."""
    assert solution.model is not None
    data, unit = matches.data, matches.unit
    problem, model = solution.request.problem, solution.model.copy()
    R, t, focals = _motion_of(model, matches, solution.inliers)
    residuals, threshold = solution.residuals / unit, solution.threshold / unit
    noise, near = _noise_of(residuals, threshold), np.ascontiguousarray(data[:, residuals <= _REACH * threshold])

    def move(motion: _Motion, step: Floats) -> _Motion:
        R, t, focals = motion
        turned = t + step[3:5] @ _complement(t)
        return (
            R @ rotation_matrix(step[:3]),
            turned / np.linalg.norm(turned),
            focals * np.exp(np.clip(step[5:], -1.0, 1.0) @ matches.directions),
        )

    evaluate = functools.partial(_evaluate_relative_pose, problem, near, matches, noise)
    (R, t, focals), normal = minimize((R, t, focals), evaluate, move)
    model[:9] = _fundamental(R, t, focals).ravel()
    pose, rival = _relative_pose(matches, (R, t, focals)), solution.rival
    if rival is not None:
        motion = _motion_of(rival.model.ravel(), matches, rival.inliers)
        rival = rival._replace(model=_relative_pose(matches, motion))
    why = "the matches do not determine the focal length (the optical axes meet, or the motion is small)"
    is_determined = _are_determined(normal, noise, len(matches.directions))
    return solution.moved(model, public=pose, rival=rival, undetermined="" if is_determined else why)


def _motion_of(model: Floats, matches: _Matches, inliers: Bools) -> _Motion:
    """Return the motion of a flat model before its refinement; focal lengths that are NaN or extreme are the usual."""
    if model.size == 10:
        focals = np.where(matches.directions[0] == 1.0, model[9], 1.0)
    else:
        squares = np.array(focal_lengths.squared_focals(model.copy(), 0.0, 0.0, 0.0, 0.0)) / matches.usual**2
        with np.errstate(invalid="ignore"):
            usual = (squares > 0.1) & (squares < 10.0)
        focals = matches.usual * np.sqrt(np.where(usual, squares, 1.0))
    first, second = matches.data[:2].T / focals[0], matches.data[2:].T / focals[1]
    R, t, _ = recover_pose(model[:9].reshape(3, 3) / _focal_factors(focals), first, second, inliers)
    return R, t, focals


def _relative_pose(matches: _Matches, motion: _Motion) -> RelativePose:
    """Return a motion with its camera matrices, in the caller's order of the images."""
    R, t, focals = motion
    K1, K2 = (camera.matrix(focal * matches.unit) for camera, focal in zip(matches.cameras, focals, strict=True))
    return RelativePose(R.T, -R.T @ t, K2, K1) if matches.is_swapped else RelativePose(R, t, K1, K2)


def _focal_factors(focals: Floats) -> Floats:
    """Return the factors of the entries of E in F = diag(1, 1, f2) E diag(1, 1, f1)."""
    return np.outer([1.0, 1.0, focals[1]], [1.0, 1.0, focals[0]])


def _fundamental(R: Floats, t: Floats, focals: Floats) -> Floats:
    return np.asarray(cross_matrix(t) @ R * _focal_factors(focals))


def _complement(t: Floats) -> Floats:
    """Return two unit vectors orthogonal to t and to each other."""
    first = np.cross(t, np.eye(3)[np.argmin(np.abs(t))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(t, first)])


def _evaluate_relative_pose(
    problem: Problem, data: Floats, matches: _Matches, noise: _Noise, motion: _Motion
) -> tuple[float, Linearize]:
    R, t, focals = motion
    F, model = _fundamental(R, t, focals), np.ones(problem.model_size)
    model[:9] = F.ravel()
    residuals, derivatives = problem.linearized(data, model)

    def jacobian() -> Floats:
        factors, skew, last = _focal_factors(focals), cross_matrix(t), np.outer([0.0, 0.0, 1.0], np.ones(3))
        tangents = [skew @ R @ cross_matrix(axis) * factors for axis in np.eye(3)]
        tangents += [cross_matrix(axis) @ R * factors for axis in _complement(t)]
        tangents += [(a * last.T + b * last) * F for a, b in matches.directions]
        return np.asarray(np.array(tangents).reshape(-1, 9) @ derivatives[0, :9])

    cameras = np.argmax(matches.directions, axis=1)
    return _robust_cost(noise, residuals, jacobian, np.log(focals[cameras] / matches.usual[cameras]))


def estimate_unknown_focal_pose(
    data: Floats, K: Camera, threshold: Threshold, settings: Arguments, default_threshold: float
) -> Result:
    """Estimate the pose and the focal length from pixels and 3D points (5 x N), which are overwritten."""
    _refuse_initial_model(settings)
    view = _view("K", K)
    unit = view.half_diagonal(data[:2])
    data[:2] = (data[:2] - view.K[:2, 2:]) / unit
    request = make_request(
        UNKNOWN_FOCAL_POSE,
        data,
        threshold,
        settings,
        form=form_of(UNKNOWN_FOCAL_POSE)._replace(to_public=functools.partial(_absolute_pose, view, unit)),
        default_threshold=default_threshold,
        unit=unit,
        plausibility=Plausibility(focal_lengths.model_focal_plausibility, np.array([2.0])),  # the diagonal
        needs_all=True,
    )
    return solve(request, functools.partial(choose_pose, functools.partial(_refine_absolute_pose, view), True))


def _absolute_pose(view: _View, unit: float, model: Floats) -> AbsolutePose:
    return AbsolutePose(*as_pose(model), view.matrix(model[7] * unit))


def _refine_absolute_pose(
    view: _View, solution: Solution, model: Floats, reach: float = _REACH, members: Bools | None = None
) -> Solution:
    """Refine a pose and its focal length, with the members first, then within ``reach`` thresholds."""
    unit, threshold = solution.request.unit, solution.threshold / solution.request.unit
    noise = _noise_of(solution.residuals / unit, threshold)
    normal = np.zeros((7, 7))
    for chosen in (members, None) if members is not None else (None,):
        if chosen is None:
            chosen = solution.moved(model).residuals / unit <= max(reach, _REACH) * threshold
        if not chosen.any():
            break
        model, normal = _minimize_absolute_pose(np.ascontiguousarray(solution.request.data[:, chosen]), noise, model)
    why = "the points do not determine the focal length (a plane parallel to the image, or few depths)"
    undetermined = "" if _are_determined(normal, noise, 1) else why
    return solution.moved(model, public=_absolute_pose(view, unit, model), undetermined=undetermined)


def _minimize_absolute_pose(near: Floats, noise: _Noise, model: Floats) -> tuple[Floats, Floats]:
    """Return the flat model with the least cost for points (5 x N), and the normal matrix."""
    problem = UNKNOWN_FOCAL_POSE
    model, transform = np.array(model, dtype=np.float64), np.empty(1 + 2 * len(near))
    absolute_pose.normalise(near, transform)
    absolute_pose.normalise_model(model, transform)

    def evaluate(model: Floats) -> tuple[float, Linearize]:
        residuals, derivatives = problem.linearized(near, model)

        def jacobian() -> Floats:
            return np.hstack([problem.tangent_basis(model) @ part for part in derivatives])

        return _robust_cost(noise, residuals, jacobian, np.log(model[7:] / (2.0 * focal_lengths.USUAL_FOCAL)))

    def move(model: Floats, step: Floats) -> Floats:
        # The last tangent is that of the logarithm of the focal length.
        moved = np.asarray(model + step[:6] @ problem.tangent_basis(model)[:6])
        moved[:4] /= np.linalg.norm(moved[:4])
        moved[6:] *= np.exp(np.clip(step[6], -1.0, 1.0))
        return moved

    model, normal = minimize(model, evaluate, move)
    absolute_pose.denormalise(model, transform)
    return model, normal
