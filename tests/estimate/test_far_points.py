"""A few points far from all others have no effect on the model of the others."""

from __future__ import annotations

import numpy as np
import pytest

import bansac
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points

FAR = [(1, 65535.0), (3, 1e4), (10, 1e6)]


def recall(estimate, true, far, *points):
    """Return the share of true inliers found if ``far[0]`` of the outliers are moved to ``far[1]`` and beyond."""
    count, distance = far
    for k, x in enumerate(points):
        places = np.outer(1.0 + np.arange(count), [distance, k % 2 * distance, 2 * distance])
        x[np.flatnonzero(~true)[:count]] = places[:, : x.shape[1]]
    result = estimate(*points)
    assert result.success
    return result.inliers[true].mean()


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("settings", [{}, {"preset": "accurate"}, {"sampler": "napsac"}])
def test_fundamental_matrix(far, settings):
    for seed in range(5 if not settings else 1):
        scene = epipolar_matches(200, inlier_ratio=0.5, noise=0.2, seed=seed)
        assert (
            recall(lambda a, b: bansac.estimate_fundamental(a, b, **settings), scene.inliers, far, scene.x1, scene.x2)
            > 0.9
        )


@pytest.mark.parametrize("far", FAR)
def test_other_two_view_models(far):
    scene = epipolar_matches(200, inlier_ratio=0.5, noise=0.1, seed=1)
    for estimate in (bansac.estimate_essential, bansac.estimate_relative_pose):
        found = recall(lambda a, b, f=estimate: f(a, b, scene.K), scene.inliers, far, scene.x1.copy(), scene.x2.copy())
        assert found > 0.9
    plane = homography_matches(200, inlier_ratio=0.4, seed=1)
    for weighting in (None, "density"):
        found = recall(
            lambda a, b, w=weighting: bansac.estimate_homography(a, b, weighting=w),
            plane.inliers, far, plane.x1.copy(), plane.x2.copy(),
        )  # fmt: skip
        assert found > 0.9


@pytest.mark.parametrize("far", FAR)
def test_absolute_pose(far):
    scene = epipolar_matches(200, inlier_ratio=0.5, noise=0.1, seed=1)
    points = scene.points
    points[~scene.inliers] = np.random.default_rng(0).uniform(-4, 4, (100, 3))
    found = recall(lambda X, x: bansac.estimate_absolute_pose(X, x, scene.K), scene.inliers, far, points, scene.x2)
    assert found > 0.9


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("settings", [{}, {"weighting": "density"}])
def test_curves(far, settings):
    count, distance = far[0], far[1] / 300
    line, circle = line_points(seed=1), circle_points(seed=1)
    x, y = line.points.T
    curve = np.column_stack([x, np.where(line.inliers, x * x, y)])
    for fit, true, points in [
        (bansac.fit_line, line.inliers, line.points),
        (bansac.fit_circle, circle.inliers, circle.points),
        (lambda p, **s: bansac.fit_polynomial(p, 2, **s), line.inliers, curve),
    ]:
        found = recall(lambda p, f=fit: f(p, threshold=0.03, **settings), true, (count, distance), points.copy())
        assert found > 0.9
