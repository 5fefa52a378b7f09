"""A few points far from all others have no effect on the model of the others."""

from __future__ import annotations

import numpy as np
import pytest

import bansac
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points

FAR = [(1, 65535.0), (3, 1e4), (10, 1e6)]
SCENE = epipolar_matches(200, inlier_ratio=0.5, noise=0.1, seed=1)
PLANE = homography_matches(200, inlier_ratio=0.4, seed=1)
LINE, CIRCLE = line_points(seed=1), circle_points(seed=1)
SPACE = np.where(SCENE.inliers[:, None], SCENE.points, np.random.default_rng(0).uniform(-4, 4, (200, 3)))
PARABOLA = np.where(LINE.inliers, LINE.points[:, 0] ** 2, LINE.points[:, 1])
CROWDED = {"weighting": "density"}

# Name of the estimator, points, which are inliers, further arguments, and the options of the runs.
CALLS = {
    "F": ("estimate_fundamental", (SCENE.x1, SCENE.x2), SCENE, (), [{}, {"preset": "accurate"}, {"sampler": "napsac"}]),
    "E": ("estimate_essential", (SCENE.x1, SCENE.x2), SCENE, (SCENE.K,), [{}]),
    "pose": ("estimate_relative_pose", (SCENE.x1, SCENE.x2), SCENE, (SCENE.K,), [{}]),
    "H": ("estimate_homography", (PLANE.x1, PLANE.x2), PLANE, (), [{"weighting": None}, CROWDED]),
    "absolute pose": ("estimate_absolute_pose", (SPACE, SCENE.x2), SCENE, (SCENE.K,), [{}]),
    "line": ("fit_line", (LINE.points,), LINE, (), [{}, CROWDED]),
    "circle": ("fit_circle", (CIRCLE.points,), CIRCLE, (), [{}, CROWDED]),
    "parabola": ("fit_polynomial", (np.column_stack([LINE.points[:, 0], PARABOLA]),), LINE, (2,), [{}, CROWDED]),
}


@pytest.mark.parametrize(("count", "distance"), FAR)
@pytest.mark.parametrize("name", CALLS)
def test_points_far_from_all_others_have_no_effect(name, count, distance):
    function, points, scene, more, runs = CALLS[name]
    is_curve = len(points) == 1
    moved = [x.copy() for x in points]
    for k, x in enumerate(moved):
        far = distance / 300 if is_curve else distance
        places = np.outer(1.0 + np.arange(count), [far, k % 2 * far, 2 * far])
        x[np.flatnonzero(~scene.inliers)[:count]] = places[:, : x.shape[1]]
    for settings in runs:
        settings = settings | ({"threshold": 0.03} if is_curve else {})
        result = getattr(bansac, function)(*moved, *more, **settings)
        assert result.success
        assert result.inliers[scene.inliers].mean() > 0.9
