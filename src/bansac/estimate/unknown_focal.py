"""Relative pose of two cameras, one or both with an unknown focal length.

The run estimates a fundamental matrix with one focal length, or, if both are unknown and differ, a fundamental matrix.
Then the pose and the focal lengths are refined together, with a weak prior on the focal lengths. The Jacobian gives
their standard deviations, which show whether the matches determine them. They do not if the optical axes intersect, for
a plane, and for a rotation about the camera's centre (Bougnoux, ICCV 1998; Kocur, Kyselica and Kukelova, CVPR 2024).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.model_selection import Plausibility
from bansac.estimate.cameras import CameraLike, unproject
from bansac.estimate.model_forms import as_motion, check_model, form_of
from bansac.estimate.solve import Arguments, Solution, make_request, solve
from bansac.geometry import cross_matrix, recover_pose, rotation_matrix
from bansac.geometry.camera import Camera
from bansac.geometry.focal_lengths import (
    FOCAL_SPREAD,
    USUAL_FOCAL,
    focal_plausibility,
    model_focal_plausibility,
    squared_focals,
)
from bansac.maths.validate import as_camera
from bansac.problems.problem import Problem
from bansac.result import RelativePose, Result

__all__ = ["REACH", "UNDETERMINED", "View", "add_prior", "estimate_unknown_focal", "minimize", "noise_of"]

_Array = NDArray[np.float64]
_State = TypeVar("_State")

_DEFAULT_PIXELS = 0.5

# Standard deviation of the logarithm of a focal length from which on it counts as not determined.
UNDETERMINED = 0.2

# The refinement: largest number of steps and the smallest relative decrease of the cost; the points within this number
# of thresholds are used. The Cauchy loss has this scale in standard deviations of the noise (Holland and Welsch, 1977).
# The deviation is the median residual of the inliers times a factor, and at least a share of the threshold.
_STEPS, _CONVERGED, REACH = 20, 1e-6, 2.0
_SCALE, _TO_DEVIATION, _EXACT = 2.385, 1.4826, 1e-3

# Errors of matches are neither independent nor only noise. The variance that weighs the prior is larger by this factor.
_DEPENDENCE = 4.0

_UNDETERMINED_MESSAGE = "the matches do not determine the focal length (the optical axes meet, or the motion is small)"


class View(NamedTuple):
    """A camera and the name of its argument."""

    name: str
    camera: CameraLike

    @property
    def is_known(self) -> bool:
        """Whether the focal length is known."""
        return not isinstance(self.camera, Camera) or self.camera.has_focal

    @property
    def K(self) -> _Array:
        """The camera matrix."""
        return self.camera.K if isinstance(self.camera, Camera) else as_camera(self.name, self.camera)

    def half_diagonal(self, x: _Array) -> float:
        """Return half the diagonal of the image, or the distance of the farthest point (2 x N) from the centre."""
        camera = self.camera
        if isinstance(camera, Camera) and not camera.has_focal and camera.is_distorted:
            raise ValueError(f"{self.name} has distortion, which needs a focal length: undistort the points first")
        if isinstance(camera, Camera) and camera.width is not None and camera.height is not None:
            return 0.5 * math.hypot(camera.width, camera.height)
        return float(np.linalg.norm(x - self.K[:2, 2:], axis=0).max(initial=0.0)) or 1.0

    def matrix(self, focal: float) -> _Array:
        """Return the camera matrix, with this focal length if it is unknown."""
        if isinstance(self.camera, Camera) and not self.camera.has_focal:
            return self.camera.with_focal(focal).K
        return self.K


class _Views(NamedTuple):
    """Matches relative to the principal points in units of ``unit`` pixels, and which focal lengths are unknown."""

    data: _Array
    unit: float
    usual: _Array  # focal lengths: the median of the prior, or the known one, in units
    directions: _Array  # one row for each unknown: 1 for the cameras that have it


def estimate_unknown_focal(data: _Array, K1: CameraLike | None, K2: CameraLike | None, arguments: Arguments) -> Result:
    """Estimate the relative pose and the unknown focal lengths.

    ``data`` (4 x N) are the matches in pixels; they are overwritten. At least one camera has no focal length. The same
    camera twice, or ``K2=None``, has one focal length.
    """
    if K1 is None:
        raise ValueError("K1 must be given if K2 is")
    cameras = [View("K1", K1), View("K2", K1 if K2 is None else K2)]
    swapped = cameras[1].is_known
    if swapped:
        cameras.reverse()
        data = np.vstack([data[2:], data[:2]])
    views = _relative_to_principal_points(data, cameras)
    problem, plausibility = _select(views)
    from_public = functools.partial(_initial_model, problem, views, cameras, swapped)
    request = make_request(
        problem,
        views.data,
        arguments,
        form=form_of(problem)._replace(from_public=from_public),
        default_threshold=_DEFAULT_PIXELS,
        unit=views.unit,
        two_views=True,
        plausibility=plausibility,
        conclude=functools.partial(_recover, views, cameras, swapped),
    )
    return solve(request)


def _relative_to_principal_points(data: _Array, cameras: list[View]) -> _Views:
    """Return the matches relative to the principal points, or as rays if the focal length is known."""
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
    separate = np.eye(2)[[not camera.is_known for camera in cameras]]
    directions = np.ones((1, 2)) if first.camera is second.camera else separate
    usual = 2 * USUAL_FOCAL * np.array(radii) / unit
    return _Views(data, unit, np.where([camera.is_known for camera in cameras], 1.0, usual), directions)


def _select(views: _Views) -> tuple[Problem, Plausibility]:
    """Return the problem and the plausibility of its focal lengths."""
    diagonals = views.usual / USUAL_FOCAL
    from bansac.problems.relative_focal import ONE_FOCAL, SHARED_FOCAL, TWO_FOCALS

    if len(views.directions) == 2:
        centred = np.array([0.0, 0.0, diagonals[0], 0.0, 0.0, diagonals[1]])
        return TWO_FOCALS, Plausibility(focal_plausibility, centred)
    problem = SHARED_FOCAL if views.directions.all() else ONE_FOCAL
    return problem, Plausibility(model_focal_plausibility, diagonals[1:])


def _initial_model(
    problem: Problem, views: _Views, cameras: list[View], swapped: bool, initial_model: ArrayLike
) -> _Array:
    """Return the model of a relative pose of the caller, flat."""
    R, t = as_motion(initial_model)
    matrices = [K for name in ("K1", "K2") if (K := getattr(initial_model, name, None)) is not None]
    if len(matrices) < 2:
        raise ValueError(
            "initial_model must be a bansac.RelativePose with K1 and K2, because focal lengths are unknown"
        )
    focals = np.array([check_model(K, (3, 3))[0, 0] / views.unit for K in matrices])
    if swapped:
        R, t, focals = R.T, -R.T @ t, focals[::-1].copy()
    focals[[camera.is_known for camera in cameras]] = 1.0
    model = np.full(problem.model_size, focals[1])
    model[:9] = _fundamental(R, t, focals).ravel()
    return model


def _recover(views: _Views, cameras: list[View], swapped: bool, solution: Solution) -> Solution:
    """Refine the pose and the focal lengths, and say whether the focal lengths are determined."""
    assert solution.model is not None
    problem, model = solution.request.problem, solution.model.copy()
    F, focals = model[:9].reshape(3, 3), _initial_focals(model, views)
    E = F / np.outer([1.0, 1.0, focals[1]], [1.0, 1.0, focals[0]])
    R, t, _ = recover_pose(E, views.data[:2].T / focals[0], views.data[2:].T / focals[1], solution.inliers)
    residuals, threshold = solution.residuals / views.unit, solution.threshold / views.unit
    R, t, focals, deviations = _refine(problem, views, R, t, focals, residuals, threshold)
    model[:9] = _fundamental(R, t, focals).ravel()
    K1, K2 = (camera.matrix(focal * views.unit) for camera, focal in zip(cameras, focals, strict=True))
    pose = RelativePose(R.T, -R.T @ t, K2, K1) if swapped else RelativePose(R, t, K1, K2)
    undetermined = "" if (deviations < UNDETERMINED).all() else _UNDETERMINED_MESSAGE
    return solution.moved(model, public=pose, undetermined=undetermined)


def _initial_focals(model: _Array, views: _Views) -> _Array:
    """Return the focal lengths of the model, or the usual ones if it implies none or extreme ones."""
    if model.size == 10:
        return np.where(views.directions[0] == 1.0, model[9], 1.0)
    squares = np.array(squared_focals(model.copy(), 0.0, 0.0, 0.0, 0.0)) / views.usual**2
    with np.errstate(invalid="ignore"):
        usual = (squares > 0.1) & (squares < 10.0)
    return np.asarray(views.usual * np.sqrt(np.where(usual, squares, 1.0)))


def _fundamental(R: _Array, t: _Array, focals: _Array) -> _Array:
    """Return diag(1, 1, f2) [t]x R diag(1, 1, f1)."""
    return np.asarray(cross_matrix(t) @ R * np.outer([1.0, 1.0, focals[1]], [1.0, 1.0, focals[0]]))


class Noise(NamedTuple):
    """The noise of the residuals in a refinement."""

    squared_scale: float  # of the Cauchy loss
    penalty: float  # weight of the squared deviation of a logarithm of a focal length from the prior
    variance: float


def noise_of(residuals: _Array, threshold: float) -> Noise:
    """Return the noise of the residuals within the threshold."""
    inside = residuals[residuals <= threshold]
    deviation = _TO_DEVIATION * float(np.median(inside)) if inside.size else threshold
    variance = max(deviation, _EXACT * threshold) ** 2
    return Noise(
        min(_SCALE**2 * variance, threshold**2), _DEPENDENCE * variance / FOCAL_SPREAD**2, _DEPENDENCE * variance
    )


def minimize(
    state: _State, equations: Callable[[_State], tuple[float, _Array, _Array]], move: Callable[[_State, _Array], _State]
) -> tuple[_State, _Array]:
    """Minimise a cost by the method of Levenberg and Marquardt; return the state and its normal matrix.

    ``equations`` returns the cost, the normal matrix and the gradient of a state, ``move`` the state after a step.
    """
    damping = 1e-3
    cost, normal, gradient = equations(state)
    for _ in range(_STEPS):
        step = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal)), -gradient, rcond=1e-12)[0]
        moved = move(state, np.asarray(step, np.float64))
        new_cost, next_normal, next_gradient = equations(moved)
        if new_cost < cost:
            converged = cost - new_cost <= _CONVERGED * cost
            state, cost, normal, gradient, damping = moved, new_cost, next_normal, next_gradient, 0.1 * damping
            if converged:
                break
        else:
            damping *= 10.0
            if damping > 1e6:
                break
    return state, normal


def add_prior(cost: float, normal: _Array, gradient: _Array, deviations: _Array, penalty: float) -> float:
    """Add the prior to the last parameters, logarithms that deviate so much from their means; return the cost."""
    first = len(gradient) - len(deviations)
    for k, deviation in enumerate(deviations, first):
        cost += penalty * deviation * deviation
        normal[k, k] += penalty
        gradient[k] += penalty * deviation
    return cost


def _refine(
    problem: Problem, views: _Views, R: _Array, t: _Array, focals: _Array, residuals: _Array, threshold: float
) -> tuple[_Array, _Array, _Array, _Array]:
    """Refine the pose and the focal lengths by the method of Levenberg and Marquardt, with the prior.

    Returns R, t, the focal lengths, and the standard deviations of their logarithms without the prior.
    """
    near = np.ascontiguousarray(views.data[:, residuals <= REACH * threshold])
    noise = noise_of(residuals, threshold)
    equations = functools.partial(_normal_equations, problem, near, views, noise)
    state, normal = minimize((R, t, focals), equations, functools.partial(_move, views.directions))
    for k in range(len(views.directions)):
        normal[5 + k, 5 + k] -= noise.penalty
    covariance = np.linalg.pinv(normal, rcond=1e-15, hermitian=True)
    deviations = np.sqrt(noise.variance * np.maximum(np.diag(covariance)[5:], 0.0))
    return *state, deviations


def _move(directions: _Array, state: tuple[_Array, _Array, _Array], step: _Array) -> tuple[_Array, _Array, _Array]:
    R, t, focals = state
    turned = t + step[3:5] @ _complement(t)
    return (
        R @ rotation_matrix(step[:3]) if step[:3].any() else R,
        turned / np.linalg.norm(turned),
        focals * np.exp(np.clip(step[5:], -1.0, 1.0) @ directions),
    )


def _complement(t: _Array) -> _Array:
    """Return two unit vectors orthogonal to t and to each other."""
    first = np.cross(t, np.eye(3)[np.argmin(np.abs(t))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(t, first)])


def _normal_equations(
    problem: Problem, data: _Array, views: _Views, noise: Noise, state: tuple[_Array, _Array, _Array]
) -> tuple[float, _Array, _Array]:
    """Return the cost of a state (Cauchy loss and prior), and its normal equations."""
    R, t, focals = state
    n, size = data.shape[1], problem.model_size
    model, residuals, by_entry = np.ones(size), np.empty((1, n)), np.empty((size, n))
    F = _fundamental(R, t, focals)
    model[:9] = F.ravel()
    problem.manifold[0](data, model, 0, n, residuals, by_entry)
    r = residuals[0]
    weights = 1.0 / (1.0 + r * r / noise.squared_scale)
    scale = np.outer([1.0, 1.0, focals[1]], [1.0, 1.0, focals[0]])
    skew = cross_matrix(t)
    tangents = [skew @ R @ cross_matrix(axis) * scale for axis in np.eye(3)]
    tangents += [cross_matrix(axis) @ R * scale for axis in _complement(t)]
    last = np.outer([0.0, 0.0, 1.0], np.ones(3))
    tangents += [(a * last.T + b * last) * F for a, b in views.directions]
    jacobian = np.array(tangents).reshape(-1, 9) @ by_entry[:9]
    weighted = jacobian * weights
    normal, gradient = weighted @ jacobian.T, weighted @ r
    cost = -noise.squared_scale * float(np.log(weights).sum())
    cameras = np.argmax(views.directions, axis=1)
    deviations = np.log(focals[cameras] / views.usual[cameras])
    return add_prior(cost, normal, gradient, deviations, noise.penalty), normal, gradient
