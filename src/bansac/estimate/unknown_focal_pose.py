"""The absolute pose of a camera with an unknown focal length.

After the search, the pose and the focal length are refined together, with the weak prior on the focal length that
relative poses have, too. The normal matrix gives its standard deviation, which shows whether the points determine it.
They do not if they are in a plane parallel to the image, or nearly at one depth.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.compiled.clock import Stopwatch
from bansac.engine.model_selection import Plausibility
from bansac.estimate.initial_models import as_motion, check_model
from bansac.estimate.presets import Options, Settings, Threshold, resolve_options
from bansac.estimate.solve import solve
from bansac.estimate.unknown_focal import REACH, UNDETERMINED, Noise, View, add_prior, measure, minimize, noise_of
from bansac.geometry.camera import Camera
from bansac.geometry.focal_lengths import USUAL_FOCAL, model_focal_plausibility
from bansac.maths.quaternion import matrix_of, model_of
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from bansac.result import AbsolutePose, Result

__all__ = ["estimate_unknown_focal_pose"]

_Array = NDArray[np.float64]


def estimate_unknown_focal_pose(
    data: _Array,
    K: Camera,
    threshold: Threshold | None,
    default_threshold: float,
    scores: ArrayLike | None,
    priors: ArrayLike | None,
    weights: ArrayLike | None,
    initial_model: ArrayLike | None,
    preset: str | None,
    options: Options | None,
    settings: Settings,
    watch: Stopwatch,
) -> Result:
    """Estimate the absolute pose and the focal length.

    Parameters
    ----------
    data : (5, N) ndarray
        The image points in pixels and the 3D points; overwritten.
    K : Camera
        The camera without a focal length.
    default_threshold : float
        Default of the threshold in pixels.
    threshold, scores, priors, weights, initial_model, preset, options, settings, watch
        As for :func:`bansac.estimate_absolute_pose`.

    Returns
    -------
    Result
        ``model`` is a :class:`bansac.AbsolutePose` with ``K``.
    """
    view = View("K", K)
    unit = view.half_diagonal(data[:2])
    data[:2] = (data[:2] - view.K[:2, 2:]) / unit
    problem = UNKNOWN_FOCAL_POSE
    resolved = resolve_options(problem, options, preset, threshold, settings, default_threshold=default_threshold)
    plausibility = Plausibility(model_focal_plausibility, np.array([2.0]))  # the diagonal
    initial = None if initial_model is None else _initial_model(initial_model, unit)
    result = solve(
        problem, data, resolved, scores, priors, weights, watch, unit, plausibility=plausibility, initial_model=initial
    )
    if result.model is None:
        return result
    model, deviation = _refine(data, result.model, result.residuals / unit, result.threshold / unit)
    result = measure(problem, data, model, unit, result, watch)
    message, configuration = result.message, result.configuration
    if configuration is None and not deviation < UNDETERMINED:
        configuration = "undetermined_focal"
        message += "; the points do not determine the focal length (a plane parallel to the image, or few depths)"
    matrix = matrix_of(model[:7])
    pose = AbsolutePose(matrix[:, :3].copy(), matrix[:, 3].copy(), view.matrix(model[7] * unit))
    return replace(result, model=pose, message=message, configuration=configuration)


def _initial_model(initial_model: ArrayLike, unit: float) -> _Array:
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
    found, normal = minimize(start, functools.partial(_normal_equations, near, noise), _move)
    normal[6, 6] -= noise.penalty
    by_pose = np.linalg.lstsq(normal[:6, :6], normal[:6, 6], rcond=1e-15)[0]
    information = float(normal[6, 6] - normal[6, :6] @ by_pose)
    problem.denormalize(found, transform)
    return found, math.sqrt(noise.variance / information) if information > 0.0 else math.inf


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
