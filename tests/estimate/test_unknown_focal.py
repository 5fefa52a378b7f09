"""Relative and absolute poses with unknown focal lengths."""

import copy
import math

import numpy as np
import pytest

import bansac
from bansac.estimate import unknown_focal
from bansac.geometry import rotation_matrix
from bansac.synthetic import epipolar_matches, homography_matches
from bansac_lab.metrics import pose_error, rotation_error
from tests.space_scenes import seen_points

SIZE = 640, 480
UNKNOWN = bansac.Camera.unknown_focal(*SIZE)
CENTRE = np.array(UNKNOWN.params[1:])
# A camera among 3D points.
LARGE = bansac.Camera.unknown_focal(1280, 960)
FOCAL = 1100.0
CAMERA = LARGE.with_focal(FOCAL).K


@pytest.fixture(scope="module")
def scene():
    return epipolar_matches(300, inlier_ratio=0.7, noise=0.3, seed=1)


def estimate(scene, K1, K2=None, **settings):
    return bansac.estimate_relative_pose(scene.x1, scene.x2, K1, K2, threshold=1.0, **settings)


def error(scene, result):
    return pose_error(result.model.R, result.model.t, scene.R, scene.t)


def test_a_shared_focal_length_is_estimated_with_the_pose(scene):
    result = estimate(scene, UNKNOWN, UNKNOWN)
    assert result.success
    assert error(scene, result) < 2.0
    assert result.model.K1 == pytest.approx(scene.K, rel=0.05, abs=1.0)
    np.testing.assert_array_equal(result.model.K1, result.model.K2)
    assert (result.inliers == (result.residuals <= result.threshold)).all()
    alone = estimate(scene, UNKNOWN)
    np.testing.assert_array_equal(alone.model.K1, result.model.K1)


def test_residuals_are_pixels_of_the_returned_model(scene):
    result = estimate(scene, UNKNOWN)
    (R, t), K = result.model, result.model.K1
    E = bansac.geometry.essential_from_pose(R, t)
    F = np.linalg.inv(K).T @ E @ np.linalg.inv(K)
    h1, h2 = (np.insert(x, 2, 1, axis=1) for x in (scene.x1, scene.x2))
    l2, l1 = h1 @ F.T, h2 @ F
    expected = np.abs(np.sum(h2 * l2, axis=1)) / np.sqrt((l2[:, :2] ** 2 + l1[:, :2] ** 2).sum(axis=1))
    np.testing.assert_allclose(result.residuals, expected, rtol=1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_one_focal_length_is_known(scene, order):
    cameras = (scene.K, UNKNOWN)[::order]
    result = estimate(scene, *cameras)
    assert error(scene, result) < 2.0
    for K in (result.model.K1, result.model.K2):
        assert pytest.approx(scene.K, rel=0.05, abs=1.0) == K


def test_two_focal_lengths_differ(scene):
    wider = bansac.Camera.unknown_focal(2 * SIZE[0] - 1, 2 * SIZE[1] - 1)
    result = bansac.estimate_relative_pose(scene.x1, 2 * scene.x2, UNKNOWN, wider, threshold=1.0)
    assert result.success
    assert result.model.K1[0, 0] == pytest.approx(scene.K[0, 0], rel=0.3)
    assert result.model.K2[0, 0] == pytest.approx(2 * scene.K[0, 0], rel=0.3)


def test_axes_that_meet_determine_no_focal_length():
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, -1, 4], [1, 1, 6], (200, 3))
    R = rotation_matrix([0.0, 0.4, 0.0])
    target = np.array([0.0, 0.0, 5.0])
    x1, x2 = (700.0 * p[:, :2] / p[:, 2:] + CENTRE for p in (X, (X - target) @ R.T + target))
    x2 = x2 + rng.normal(0, 0.5, x2.shape)
    result = bansac.estimate_relative_pose(x1, x2, UNKNOWN, threshold=1.5)
    assert result.configuration == "undetermined_focal"
    assert "do not determine the focal length" in result.message


@pytest.mark.parametrize(("deviation", "determined"), [(0.12, True), (0.18, False)])
def test_two_standard_deviations_of_a_focal_length_are_at_most_30_percent(deviation, determined):
    noise = unknown_focal._Noise(squared_scale=1.0, penalty=2.0, variance=1.0)
    normal = np.diag([1.0] * 5 + [1.0 / deviation**2 + noise.penalty])
    assert unknown_focal._are_determined(normal, noise, 1) == determined


def test_a_plane_determines_no_focal_length():
    matches = homography_matches(200, inlier_ratio=0.9, noise=0.3, seed=2)
    result = bansac.estimate_relative_pose(matches.x1, matches.x2, UNKNOWN, threshold=1.0)
    assert result.configuration == "planar"
    assert "does not determine the relative pose with a shared focal length" in result.message


# --- The absolute pose ---


@pytest.mark.parametrize(("inlier_ratio", "tilt"), [(0.8, None), (0.3, None), (0.6, 0.6)])
def test_the_focal_length_is_estimated_with_the_absolute_pose(inlier_ratio, tilt):
    X, x, R, t, inliers = seen_points(CAMERA, inlier_ratio=inlier_ratio, tilt=tilt)
    result = bansac.estimate_absolute_pose(X, x, LARGE)
    assert result.success
    assert result.configuration is None
    assert result.inliers[inliers].mean() > 0.95
    assert result.model.K == pytest.approx(CAMERA, rel=0.01)
    assert rotation_error(result.model.R, R) < 0.2
    assert np.linalg.norm(result.model.R.T @ result.model.t - R.T @ t) < 0.1


def test_residuals_are_pixels_of_the_returned_camera():
    X, x, *_ = seen_points(CAMERA)
    (R, t), inliers = result = bansac.estimate_absolute_pose(X, x, LARGE, threshold=3.0)
    seen = (X @ R.T + t) @ result.model.K.T
    expected = np.linalg.norm(seen[:, :2] / seen[:, 2:] - x, axis=1)
    np.testing.assert_allclose(result.residuals[seen[:, 2] > 0], expected[seen[:, 2] > 0], rtol=1e-6)
    assert result.threshold == 3.0
    np.testing.assert_array_equal(inliers, result.residuals <= 3.0)
    assert f" {inliers.sum()} of 300 inliers" in result.message


def test_exact_points_give_the_exact_camera():
    X, x, R, *_ = seen_points(CAMERA, 30, 1.0, 0.0)
    result = bansac.estimate_absolute_pose(1e3 * X + 1e5, x, LARGE)
    assert result.model.K[0, 0] == pytest.approx(FOCAL, rel=1e-6)
    np.testing.assert_allclose(result.model.R, R, atol=1e-6)
    assert result.success


def test_a_plane_parallel_to_the_image_determines_no_focal_length():
    X, x, *_, inliers = seen_points(CAMERA, tilt=0.0)
    result = bansac.estimate_absolute_pose(X, x, LARGE)
    assert result.success
    assert result.configuration == "undetermined_focal"
    assert "do not determine the focal length" in result.message
    assert result.inliers[inliers].mean() > 0.95
    assert result.model.K[0, 0] == pytest.approx(0.85 * math.hypot(1280, 960), rel=0.2)  # the median of the prior


def test_random_points_are_no_success():
    rng = np.random.default_rng(1)
    result = bansac.estimate_absolute_pose(rng.normal(size=(60, 3)), rng.uniform(0, (1280, 960), (60, 2)), LARGE)
    assert not result.success


def test_data_that_cannot_be_used_are_named(scene):
    X, x, *_ = seen_points(CAMERA, 10)
    barrel = bansac.Camera("SIMPLE_RADIAL", (math.nan, *CENTRE, -0.1))
    for call, message in (
        (lambda: estimate(scene, barrel), "K1 has distortion, which needs a focal length"),
        (lambda: estimate(scene, None, UNKNOWN), "K1 must be given"),
        (lambda: bansac.estimate_absolute_pose(X, x, barrel), "K has distortion, which needs a focal length"),
        (lambda: bansac.estimate_absolute_pose(X, np.full_like(x, np.nan), LARGE), "points2D must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    for least, result in (
        (6, bansac.estimate_relative_pose(scene.x1[:5], scene.x2[:5], UNKNOWN)),
        (4, bansac.estimate_absolute_pose(X[:3], x[:3], LARGE)),
    ):
        assert result.model is None
        assert f"needs at least {least}" in result.message


def test_camera_matrices_are_shown_and_copied(scene):
    relative = estimate(scene, UNKNOWN, max_iterations=50)
    absolute = bansac.estimate_absolute_pose(*seen_points(CAMERA)[:2], LARGE, max_iterations=50)
    assert "K =" in repr(absolute)
    for result, name in ((relative, "K2"), (absolute, "K")):
        K = getattr(result.model, name)
        np.testing.assert_array_equal(getattr(copy.deepcopy(result).model, name), K)
        assert not K.flags.writeable
