"""Relative poses with unknown focal lengths."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import bansac
from bansac.geometry import rotation_matrix
from bansac.lab.metrics.errors import pose_error
from bansac.synthetic import epipolar_matches, homography_matches

SIZE = 640, 480
UNKNOWN = bansac.Camera.unknown_focal(*SIZE)
CENTRE = np.array(UNKNOWN.params[1:])


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


def matches_of(x, focal, R, t):
    """Return the images of points in space by two cameras of the same focal length."""
    y = x @ R.T + t
    return (focal * p[:, :2] / p[:, 2:] + CENTRE for p in (x, y))


def test_axes_that_meet_determine_no_focal_length():
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, -1, 4], [1, 1, 6], (200, 3))
    R = rotation_matrix([0.0, 0.4, 0.0])
    target = np.array([0.0, 0.0, 5.0])
    x1, x2 = matches_of(X, 700.0, R, target - R @ target)
    x2 = x2 + rng.normal(0, 0.5, x2.shape)
    result = bansac.estimate_relative_pose(x1, x2, UNKNOWN, threshold=1.5)
    assert result.configuration == "undetermined_focal"
    assert "do not determine the focal length" in result.message


def test_a_plane_determines_no_focal_length():
    matches = homography_matches(200, inlier_ratio=0.9, noise=0.3, seed=2)
    result = bansac.estimate_relative_pose(matches.x1, matches.x2, UNKNOWN, threshold=1.0)
    assert result.configuration == "planar"
    assert "does not determine the relative pose with a shared focal length" in result.message


def test_distortion_needs_a_focal_length(scene):
    camera = bansac.Camera("SIMPLE_RADIAL", (math.nan, *CENTRE, -0.1))
    with pytest.raises(ValueError, match="K1 has distortion"):
        estimate(scene, camera)


def test_the_first_camera_must_be_given(scene):
    with pytest.raises(ValueError, match="K1 must be given"):
        estimate(scene, None, UNKNOWN)


def test_too_few_matches_have_no_model(scene):
    result = bansac.estimate_relative_pose(scene.x1[:5], scene.x2[:5], UNKNOWN)
    assert result.model is None
    assert "needs at least 6" in result.message


def test_camera_matrices_are_stored(scene, tmp_path):
    result = estimate(scene, UNKNOWN, max_iterations=50)
    for name in ("result.json", "result.npz"):
        result.save(tmp_path / name)
        again = bansac.Result.load(tmp_path / name)
        np.testing.assert_array_equal(again.model.K2, result.model.K2)
        np.testing.assert_array_equal(again.model.t, result.model.t)
    np.testing.assert_array_equal(copy.deepcopy(result).model.K1, result.model.K1)
    assert not result.model.K1.flags.writeable
