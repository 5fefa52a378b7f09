"""The absolute pose of a camera with an unknown focal length.

After the search, the pose and the focal length are refined together, with the weak prior on the focal length that
relative poses have, too. The normal matrix gives its standard deviation, which shows whether the points determine it.
They do not if they are in a plane parallel to the image, or nearly at one depth.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.model_selection import Plausibility
from bansac.estimate.model_forms import as_motion, as_pose, check_model, form_of
from bansac.estimate.solve import Arguments, Solution, make_request, solve
from bansac.estimate.unknown_focal import REACH, UNDETERMINED, Noise, View, add_prior, minimize, noise_of
from bansac.geometry.camera import Camera
from bansac.geometry.focal_lengths import USUAL_FOCAL, model_focal_plausibility
from bansac.maths.quaternion import model_of
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from bansac.result import AbsolutePose, Result

__all__ = ["estimate_unknown_focal_pose"]

_Array = NDArray[np.float64]

_UNDETERMINED_MESSAGE = "the points do not determine the focal length (a plane parallel to the image, or few depths)"


def estimate_unknown_focal_pose(data: _Array, K: Camera, arguments: Arguments, default_threshold: float) -> Result:
    """Estimate the absolute pose and the focal length of a camera without one.

    ``data`` (5 x N) are the image points in pixels and the 3D points; they are overwritten. ``default_threshold`` is in
    pixels.
    """
    view = View("K", K)
    unit = view.half_diagonal(data[:2])
    data[:2] = (data[:2] - view.K[:2, 2:]) / unit
    form = form_of(UNKNOWN_FOCAL_POSE)._replace(from_public=functools.partial(_initial_model, unit))
    request = make_request(
        UNKNOWN_FOCAL_POSE,
        data,
        arguments,
        form=form,
        default_threshold=default_threshold,
        unit=unit,
        plausibility=Plausibility(model_focal_plausibility, np.array([2.0])),  # the diagonal
        conclude=functools.partial(_conclude, view),
    )
    return solve(request)


def _conclude(view: View, solution: Solution) -> Solution:
    """Refine the pose and the focal length, and say whether the focal length is determined."""
    assert solution.model is not None
    unit = solution.request.unit
    model, deviation = _refine(
        solution.request.data, solution.model, solution.residuals / unit, solution.threshold / unit
    )
    pose = AbsolutePose(*as_pose(model[:7]), view.matrix(model[7] * unit))
    return solution.moved(model, public=pose, undetermined="" if deviation < UNDETERMINED else _UNDETERMINED_MESSAGE)


def _initial_model(unit: float, initial_model: ArrayLike) -> _Array:
    """Return the model of an absolute pose of the caller, flat."""
    pose, K = as_motion(initial_model), getattr(initial_model, "K", None)
    if K is None:
        raise ValueError("initial_model must be a bansac.AbsolutePose with K, because the focal length is unknown")
    return np.append(model_of(np.column_stack(pose)), check_model(K, (3, 3))[0, 0] / unit)


def _refine(data: _Array, model: _Array, residuals: _Array, threshold: float) -> tuple[_Array, float]:
    """Return the refined model, and the standard deviation of the logarithm of f without the prior."""
    problem, transform = UNKNOWN_FOCAL_POSE, np.empty(1 + 2 * len(data))
    near = np.ascontiguousarray(data[:, residuals <= REACH * threshold])
    start = np.array(model, dtype=np.float64)
    assert problem.normalize is not None
    assert problem.normalize_model is not None
    assert problem.denormalize is not None
    problem.normalize(near, transform)
    problem.normalize_model(start, transform)
    noise = noise_of(residuals, threshold)
    refined, normal = minimize(start, functools.partial(_normal_equations, near, noise), _move)
    normal[6, 6] -= noise.penalty
    by_pose = np.linalg.lstsq(normal[:6, :6], normal[:6, 6], rcond=1e-15)[0]
    information = float(normal[6, 6] - normal[6, :6] @ by_pose)
    problem.denormalize(refined, transform)
    return refined, math.sqrt(noise.variance / information) if information > 0.0 else math.inf


def _tangents(model: _Array) -> _Array:
    """Return the seven tangent directions of a model. The last one is that of the logarithm of f."""
    basis = np.empty((7, 8))
    UNKNOWN_FOCAL_POSE.manifold[1](model, basis)
    return basis


def _move(model: _Array, step: _Array) -> _Array:
    moved = np.asarray(model + step[:6] @ _tangents(model)[:6])
    moved[:4] /= np.linalg.norm(moved[:4])
    moved[6:] *= np.exp(np.clip(step[6], -1.0, 1.0))
    return moved


def _normal_equations(data: _Array, noise: Noise, model: _Array) -> tuple[float, _Array, _Array]:
    """Return the cost of a model (Cauchy loss and prior), and its normal equations."""
    n = data.shape[1]
    residuals, by_entry = np.empty((2, n)), np.empty((16, n))
    UNKNOWN_FOCAL_POSE.manifold[0](data, model, 0, n, residuals, by_entry)
    weights = 1.0 / (1.0 + (residuals * residuals).sum(axis=0) / noise.squared_scale)
    jacobian = np.hstack([_tangents(model) @ part for part in by_entry.reshape(2, 8, n)])
    weighted = jacobian * np.tile(weights, 2)
    normal, gradient = weighted @ jacobian.T, weighted @ residuals.ravel()
    cost = -noise.squared_scale * float(np.log(weights).sum())
    deviation = np.log(model[7:] / (2.0 * USUAL_FOCAL))
    return add_prior(cost, normal, gradient, deviation, noise.penalty), normal, gradient
