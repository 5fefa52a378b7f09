"""Absolute poses with an unknown focal length."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bansac
from bansac.geometry import rotation_matrix

SIZE = 1280, 960
UNKNOWN = bansac.Camera.unknown_focal(*SIZE)
CENTRE = np.array(UNKNOWN.params[1:])
FOCAL = 1100.0


def make_scene(n=300, inlier_ratio=0.6, noise=0.5, tilt=None, seed=0):
    """Return 3D points, their images, R, t and the mask; a plane with this tilt in radians, or a cloud."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, SIZE, (n, 2))
    rays = np.insert((x - CENTRE) / FOCAL, 2, 1, axis=1)
    depth = rng.uniform(4, 12, (n, 1)) if tilt is None else 8 / (1 + np.tan(tilt) * rays[:, :1])
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    inliers = rng.permutation(np.arange(n) < inlier_ratio * n)
    x = np.where(inliers[:, None], x + rng.normal(0, noise, (n, 2)), rng.uniform(0, SIZE, (n, 2)))
    return (rays * depth - t) @ R, x, R, t, inliers


def degrees(pose, R):
    return np.degrees(2 * np.arcsin(np.linalg.norm(pose.R - R) / np.sqrt(8)))


@pytest.mark.parametrize(("inlier_ratio", "tilt"), [(0.8, None), (0.3, None), (0.6, 0.6)])
def test_the_focal_length_is_estimated_with_the_pose(inlier_ratio, tilt):
    X, x, R, t, inliers = make_scene(inlier_ratio=inlier_ratio, tilt=tilt)
    result = bansac.estimate_absolute_pose(X, x, UNKNOWN)
    assert result.success
    assert result.configuration is None
    assert result.inliers[inliers].mean() > 0.95
    assert result.model.K == pytest.approx(UNKNOWN.with_focal(FOCAL).K, rel=0.01)
    assert degrees(result.model, R) < 0.2
    assert np.linalg.norm(result.model.R.T @ result.model.t - R.T @ t) < 0.1


def test_residuals_are_pixels_of_the_returned_camera():
    X, x, *_ = make_scene()
    (R, t), inliers = result = bansac.estimate_absolute_pose(X, x, UNKNOWN, threshold=3.0)
    seen = (X @ R.T + t) @ result.model.K.T
    expected = np.linalg.norm(seen[:, :2] / seen[:, 2:] - x, axis=1)
    np.testing.assert_allclose(result.residuals[seen[:, 2] > 0], expected[seen[:, 2] > 0], rtol=1e-6)
    assert result.threshold == 3.0
    np.testing.assert_array_equal(inliers, result.residuals <= 3.0)
    assert f" {inliers.sum()} of 300 inliers" in result.message


def test_exact_points_give_the_exact_camera():
    X, x, R, *_ = make_scene(30, 1.0, 0.0)
    result = bansac.estimate_absolute_pose(1e3 * X + 1e5, x, UNKNOWN)
    assert result.model.K[0, 0] == pytest.approx(FOCAL, rel=1e-6)
    np.testing.assert_allclose(result.model.R, R, atol=1e-6)
    assert result.success


def test_a_plane_parallel_to_the_image_determines_no_focal_length():
    X, x, *_, inliers = make_scene(tilt=0.0)
    result = bansac.estimate_absolute_pose(X, x, UNKNOWN)
    assert result.success
    assert result.configuration == "undetermined_focal"
    assert "do not determine the focal length" in result.message
    assert result.inliers[inliers].mean() > 0.95
    assert result.model.K[0, 0] == pytest.approx(0.85 * math.hypot(*SIZE), rel=0.2)  # the median of the prior


def test_random_points_are_no_success():
    rng = np.random.default_rng(1)
    result = bansac.estimate_absolute_pose(rng.normal(size=(60, 3)), rng.uniform(0, SIZE, (60, 2)), UNKNOWN)
    assert not result.success


def test_points_that_cannot_be_used_are_named():
    X, x, *_ = make_scene(10)
    with pytest.raises(ValueError, match="K has distortion, which needs a focal length"):
        bansac.estimate_absolute_pose(X, x, bansac.Camera("SIMPLE_RADIAL", (math.nan, *CENTRE, -0.1)))
    with pytest.raises(ValueError, match="points2D must be finite"):
        bansac.estimate_absolute_pose(X, np.full_like(x, np.nan), UNKNOWN)
    result = bansac.estimate_absolute_pose(X[:3], x[:3], UNKNOWN)
    assert result.model is None
    assert "needs at least 4" in result.message


def test_the_camera_matrix_is_stored(tmp_path):
    X, x, *_ = make_scene()
    result = bansac.estimate_absolute_pose(X, x, UNKNOWN, max_iterations=50)
    assert "K =" in repr(result)
    for name in ("result.json", "result.npz"):
        result.save(tmp_path / name)
        again = bansac.Result.load(tmp_path / name)
        np.testing.assert_array_equal(again.model.K, result.model.K)
        np.testing.assert_array_equal(again.model.t, result.model.t)
    assert not result.model.K.flags.writeable
