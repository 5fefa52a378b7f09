"""Scenes with a known model by the name of the public estimator: data with normal noise, and uniform outliers.

Two views, absolute poses, lines and circles are those of :mod:`.scenes`. The other data have an extent of about 1000,
those of polynomials an extent of 2.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bansac.geometry import rotation_matrix
from bansac.maths.arrays import Bools, Floats
from bansac.problems.estimators import ESTIMATORS
from bansac.synthetic import polynomial_points
from bansac.synthetic.mask import draw_inliers
from bansac_lab.scenes import make_scene

FUNCTIONS: Mapping[str, Callable[..., Any]] = {row.name: row.load_function() for row in ESTIMATORS}
"""The public estimators by name."""

DEGREE = 3
_SIDE = 1000.0


class KnownScene(NamedTuple):
    """Arguments of an estimator, the true mask (N,), the numbers of the true model, and depths by their names."""

    arguments: tuple[Any, ...]
    inliers: Bools
    model: Floats
    depths: Mapping[str, Floats] = {}


_TRUTH: Mapping[str, tuple[str, Callable[[Any], Floats]]] = {
    "homography": ("H", lambda matches: matches.H),
    "fundamental": ("F", lambda matches: matches.F),
    "essential": ("E", lambda matches: np.sqrt(2) * matches.E),
    "relative_pose": ("E", lambda matches: np.append(matches.R, matches.t)),
    "absolute_pose": ("pose", lambda matches: np.append(matches.R, matches.t)),
    "line": ("line", np.asarray),
    "circle": ("circle", np.asarray),
}


def _linear_map(name: str, n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Return points of a square or cube, their images under a linear map and a translation, and this motion."""
    size = 3 if name.endswith("3d") else 2
    x1, t = rng.uniform(0, _SIDE, (n, size)), rng.uniform(-50, 50, size)
    M = rotation_matrix(rng.uniform(-0.6, 0.6, 3) * ([0, 0, 1] if size == 2 else 1))[:size, :size]
    if name.startswith("similarity"):
        M *= rng.uniform(0.5, 2)
    if name.startswith("affine"):
        M += rng.uniform(-0.3, 0.3, (size, size))
    return x1, x1 @ M.T + t, np.column_stack([M, t])


def _plane(name: str, n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Return points of a square, and its plane."""
    R, centre = rotation_matrix(rng.uniform(-0.6, 0.6, 3)), rng.uniform(0, _SIDE, 3)
    points = rng.uniform(-_SIDE / 2, _SIDE / 2, (n, 2)) @ R[:, :2].T + centre
    return points, np.append(R[:, 2], -R[:, 2] @ centre)


def _ellipse(name: str, n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Return points of a whole ellipse, and the ellipse."""
    t, angle, centre = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.3, 2.8), np.array([500.0, 450.0])
    a, b = rng.uniform(80, 400) * np.array([1, 0.6])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return centre + np.column_stack([a * np.cos(t), b * np.sin(t)]) @ turn, np.array([*centre, a, b, angle])


_EXACT: Mapping[str, Callable[[str, int, np.random.Generator], tuple[Floats, ...]]] = {
    **dict.fromkeys(("affine", "similarity", "rigid_3d", "similarity_3d", "affine_3d"), _linear_map),
    "ellipse": _ellipse,
    "plane": _plane,
}

_OF_PROBLEM = {row.name: row for row in ESTIMATORS if row.scene}
"""Estimators whose problems have scenes of their own."""

SCENES = (*_TRUTH, *_EXACT, *_OF_PROBLEM, "polynomial")
"""Estimators with scenes."""


def known_scene(name: str, n: int, inlier_ratio: float, noise: float, seed: int) -> KnownScene:
    """Return a scene of one of ``SCENES``; ``noise`` is the standard deviation of a coordinate."""
    if name in _TRUTH:
        problem, model_of = _TRUTH[name]
        scene = make_scene(problem, n, inlier_ratio, noise, seed)
        return KnownScene(scene.data, scene.inliers, model_of(scene.truth))
    if name == "polynomial":
        curve = polynomial_points(n, DEGREE, inlier_ratio, 2 * noise / _SIDE, seed)
        return KnownScene((curve.points, DEGREE), curve.inliers, curve.model)
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    make = _OF_PROBLEM[name].load_scene() if name in _OF_PROBLEM else functools.partial(_EXACT[name], name)
    *others, points, model = make(n, rng)
    outliers, noises = rng.uniform(points.min(), points.max(), points.shape), rng.normal(0, noise, points.shape)
    if name in _OF_PROBLEM:
        noises[:, sum(_OF_PROBLEM[name].load_problem().traits.directions, ())] = 0.0
    points = np.where(inliers[:, None], points + noises, outliers)
    return KnownScene((*others, points), inliers, model)
