"""Scenes with a given number of points, inlier ratio and noise, and the errors of a model. The unit is the pixel.

Two views are those of :mod:`bansac.synthetic`. The scene of an absolute pose is the second view of
:func:`bansac.synthetic.epipolar_matches`: its 3D points are exact, at depths of 4 to 12 baselines. Those of the
outliers are at random depths on the rays of image 1. Circles and lines lie in a square of 1000 px.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.geometry import apply_transform, normalize_points, recover_pose
from bansac.lab.metrics import FAILED_POSE, circle_rmse, corner_error, pose_error, rotation_error
from bansac.lab.task import squared_distances
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points
from bansac.synthetic.two_views import viewing_rays

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_HALF = 500.0  # half the side of the square of circles and lines


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene of one problem."""

    problem: str  # a key of ``PROBLEMS``, or "relative pose"
    data: tuple[Array, ...]  # positional arguments of this package's estimator: points, and camera matrices
    inliers: Mask  # true mask (N,)
    truth: Any  # :class:`bansac.Matches` with ground truth, for curves the true model
    scores: Array | None = None  # for methods that take scores
    undecided: bool = False  # a false structure has as much support as the true one


def make_scene(problem: str, n: int, inlier_ratio: float, noise: float, seed: int) -> Scene:
    """Return a scene of a problem; ``noise`` is the standard deviation of every inlier coordinate in pixels."""
    return PROBLEMS[problem](n, inlier_ratio, noise, seed)


def _plane(n: int, ratio: float, noise: float, seed: int) -> Scene:
    matches = homography_matches(n, ratio, noise, seed)
    assert matches.inliers is not None
    return Scene("H", (matches.x1, matches.x2), matches.inliers, matches)


def _fundamental(n: int, ratio: float, noise: float, seed: int) -> Scene:
    matches = epipolar_matches(n, ratio, noise, seed)
    assert matches.inliers is not None
    return Scene("F", (matches.x1, matches.x2), matches.inliers, matches)


def _essential(n: int, ratio: float, noise: float, seed: int) -> Scene:
    matches = epipolar_matches(n, ratio, noise, seed)
    assert matches.inliers is not None
    assert matches.K1 is not None
    return Scene("E", (matches.x1, matches.x2, matches.K1), matches.inliers, matches)


def _absolute_pose(n: int, ratio: float, noise: float, seed: int) -> Scene:
    matches = epipolar_matches(n, ratio, noise, seed)
    assert matches.inliers is not None
    assert matches.K1 is not None
    assert matches.points is not None
    depths = np.random.default_rng([seed, 1]).uniform(4, 12, (n, 1))
    points = np.where(matches.inliers[:, None], matches.points, depths * viewing_rays(matches.K1, matches.x1))
    return Scene("pose", (points, matches.x2, matches.K1), matches.inliers, matches)


def _circle(n: int, ratio: float, noise: float, seed: int) -> Scene:
    curve = circle_points(n, ratio, noise / _HALF, seed)
    return Scene("circle", (_HALF * curve.points,), curve.inliers, _HALF * curve.model)


def _line(n: int, ratio: float, noise: float, seed: int) -> Scene:
    curve = line_points(n, ratio, noise / _HALF, seed)
    return Scene("line", (_HALF * curve.points,), curve.inliers, curve.model * [1, 1, _HALF])


PROBLEMS: Mapping[str, Callable[[int, float, float, int], Scene]] = {
    "H": _plane,
    "E": _essential,
    "F": _fundamental,
    "pose": _absolute_pose,
    "circle": _circle,
    "line": _line,
}
"""Maker of the scenes of every problem."""


def errors(scene: Scene, model: Any) -> dict[str, float]:
    """Return the errors of a model; the first one measures its accuracy. None is a failure.

    For H: ``corner_error`` in pixels. For E and F: ``pose_error`` in degrees, the larger of rotation and translation; F
    is decomposed with the true camera matrices, the points in front of the cameras being those of the true inliers. For
    a pose: ``centre_error`` in per cent of the median depth, and ``rotation_error`` in degrees. For a circle or line:
    ``distance``, the root mean square distance to the true one in pixels.
    """
    return _ERRORS[scene.problem](scene, model)


def _corner_errors(scene: Scene, H: Array | None) -> dict[str, float]:
    return {"corner_error": corner_error(H, scene.truth.H, scene.truth.size1)}


def _epipolar_errors(scene: Scene, model: Array | None) -> dict[str, float]:
    truth = scene.truth
    if model is None:
        return {"pose_error": FAILED_POSE}
    E = truth.K2.T @ model @ truth.K1 if scene.problem == "F" else model
    x1, x2 = (normalize_points(truth.K1, x[scene.inliers]) for x in (truth.x1, truth.x2))
    R, t, _ = recover_pose(E, x1, x2)
    return {"pose_error": pose_error(R, t, truth.R, truth.t)}


def _relative_pose_errors(scene: Scene, pose: tuple[Array, Array] | None) -> dict[str, float]:
    R, t = (None, None) if pose is None else pose
    return {"pose_error": pose_error(R, t, scene.truth.R, scene.truth.t)}


def _absolute_pose_errors(scene: Scene, pose: tuple[Array, Array] | None) -> dict[str, float]:
    truth = scene.truth
    if pose is None:
        return {"centre_error": math.inf, "rotation_error": FAILED_POSE}
    R, t = pose
    depth = np.median((scene.data[0][scene.inliers] @ truth.R.T + truth.t)[:, 2])
    distance = np.linalg.norm(R.T @ t - truth.R.T @ truth.t)
    return {"centre_error": float(100 * distance / depth), "rotation_error": rotation_error(R, truth.R)}


def _circle_errors(scene: Scene, model: Array | None) -> dict[str, float]:
    scaled = None if model is None else model / _HALF
    return {"distance": _HALF * circle_rmse(scaled, scene.truth / _HALF)}


def _line_errors(scene: Scene, model: Array | None) -> dict[str, float]:
    """Return the root mean square distance from points of the true line to the estimated one."""
    if model is None:
        return {"distance": math.inf}
    normal, c = scene.truth[:2], scene.truth[2]
    along = np.linspace(-_HALF, _HALF, 101)[:, None] * [-normal[1], normal[0]] - c * normal
    return {"distance": float(np.sqrt(np.mean((along @ model[:2] + model[2]) ** 2)))}


_ERRORS: Mapping[str, Callable[[Scene, Any], dict[str, float]]] = {
    "H": _corner_errors,
    "E": _epipolar_errors,
    "F": _epipolar_errors,
    "relative pose": _relative_pose_errors,
    "pose": _absolute_pose_errors,
    "circle": _circle_errors,
    "line": _line_errors,
}

LIMITS = {"corner_error": 3.0, "pose_error": 2.0, "rotation_error": 1.0, "centre_error": 2.0}
"""Largest errors of a right model: pixels, degrees, degrees, per cent."""

INLIER_SHARE = 0.8
"""Smallest share of the true inliers near a right model."""


def is_right(scene: Scene, model: Any, distance: float) -> bool:
    """Return whether a model of two views or an absolute pose is right.

    Its errors are below ``LIMITS``, and ``INLIER_SHARE`` of the true inliers have residuals up to ``distance`` pixels:
    transfer error (H), Sampson distance (E, F), reprojection error (pose). The distance is the same for all methods.
    """
    found = errors(scene, model)
    if any(not value < LIMITS[name] for name, value in found.items()):
        return False
    return float(np.mean(_residuals(scene, model)[scene.inliers] <= distance)) >= INLIER_SHARE


def _residuals(scene: Scene, model: Any) -> Array:
    truth = scene.truth
    if scene.problem == "pose":
        R, t = model
        return np.asarray(np.hypot(*(apply_transform(truth.K2, scene.data[0] @ R.T + t) - truth.x2).T))
    if scene.problem == "H":
        return np.asarray(np.sqrt(squared_distances(model, truth, "H")))
    F = model
    if scene.problem == "E":
        F = np.linalg.inv(truth.K2).T @ model @ np.linalg.inv(truth.K1)
    return np.asarray(np.sqrt(squared_distances(F, truth, "F")))
