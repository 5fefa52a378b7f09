"""Distorted points give the model of undistorted ones, with errors in pixels; wrong cameras are named.

A warning that a test does not expect is an error (``filterwarnings`` of ``pyproject.toml``).
"""

import numpy as np
import pytest

import bansac
from bansac import Camera
from bansac.estimate.cameras import tangent_sampson
from bansac.geometry import essential_from_pose, rotation_matrix
from bansac_lab.metrics import pose_error

LENSES = {
    "OPENCV": Camera("OPENCV", (1000, 1010, 800, 600, -0.25, 0.08, 1e-3, -1e-3), 1600, 1200),
    "OPENCV_FISHEYE": Camera("OPENCV_FISHEYE", (900, 910, 800, 600, 0.02, -0.01, 0, 0), 1600, 1200),
}
PINHOLE = Camera("PINHOLE", (1000, 1010, 800, 600), 1600, 1200)
R, T = rotation_matrix([0.1, -0.15, 0.05]), np.array([0.6, 0.0, 0.8])


def two_views(camera1, camera2, noise=0.5, n=200, outliers=80, seed=0):
    """Return points in two images, of which the first are outliers, and the scene."""
    rng = np.random.default_rng(seed)
    rays = camera1.unproject(rng.uniform([100, 100], [1500, 1100], (n, 2)))
    X = np.column_stack([rays, np.ones(n)]) * rng.uniform(4, 9, (n, 1))
    Y = X @ R.T + T
    x1, x2 = camera1.project(X[:, :2] / X[:, 2:]), camera2.project(Y[:, :2] / Y[:, 2:])
    x1, x2 = x1 + rng.normal(scale=noise, size=x1.shape), x2 + rng.normal(scale=noise, size=x2.shape)
    x2[:outliers] = rng.uniform([100, 100], [1500, 1100], (outliers, 2))
    return x1, x2, Y


@pytest.mark.parametrize("lens", LENSES)
def test_relative_pose_and_essential_matrix_of_distorted_points(lens):
    camera = LENSES[lens]
    x1, x2, _ = two_views(camera, PINHOLE)
    result = bansac.estimate_relative_pose(x1, x2, camera, PINHOLE, threshold=2.0)
    assert result.success
    assert pose_error(*result.model, R, T) < 0.5
    assert result.inliers[80:].mean() > 0.97
    assert result.inliers[:80].mean() < 0.2
    np.testing.assert_array_equal(result.inliers, result.residuals <= result.threshold)
    assert f"with {result.num_inliers} of 200 inliers" in result.message
    assert np.linalg.norm(result.model.t) == pytest.approx(1)
    rays = np.vstack([camera.unproject(x1).T, PINHOLE.unproject(x2).T])
    jacobians = [one.jacobian(ray.T) for one, ray in ((camera, rays[:2]), (PINHOLE, rays[2:]))]
    errors = np.abs(tangent_sampson(essential_from_pose(*result.model), rays, *jacobians)[:, 0])
    np.testing.assert_allclose(result.residuals, errors, rtol=1e-9)
    essential = bansac.estimate_essential(x1, x2, camera, PINHOLE, threshold=2.0)
    np.testing.assert_allclose(essential.residuals, result.residuals, atol=1e-6)
    np.testing.assert_allclose(np.linalg.svd(essential.model)[1], [1, 1, 0], atol=1e-12)


def test_tangent_sampson_is_the_distance_to_the_nearest_exact_pair_of_pixels():
    """To first order: pixels that are moved by a known noise have its component along the gradient as error."""
    camera = LENSES["OPENCV"]
    x1, x2, _ = two_views(camera, camera, noise=0.0, outliers=0)
    E = essential_from_pose(R, T)

    def residual(pixels1, pixels2):
        rays = np.vstack([camera.unproject(pixels1).T, camera.unproject(pixels2).T])
        jacobians = camera.jacobian(rays[:2].T), camera.jacobian(rays[2:].T)
        return tangent_sampson(E, rays, *jacobians)[:, 0]

    assert np.abs(residual(x1, x2)).max() < 1e-9
    step = 1e-4
    shifts = step * np.eye(4)
    gradient = [residual(x1 + shift[:2], x2 + shift[2:]) / step for shift in shifts]
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=0), 1, atol=1e-3)


@pytest.mark.parametrize("lens", LENSES)
def test_absolute_pose_of_distorted_points(lens):
    camera = LENSES[lens]
    _, x, X = two_views(PINHOLE, camera, noise=1.0)
    X = (X - [0.3, -0.2, 1.0]) @ R
    result = bansac.estimate_absolute_pose(X, x, camera, threshold=4.0)
    assert result.success
    assert pose_error(*result.model, R, [0.3, -0.2, 1.0]) < 1.0
    seen = X @ result.model.R.T + result.model.t
    errors = np.linalg.norm(camera.project(seen[:, :2] / seen[:, 2:]) - x, axis=1)
    np.testing.assert_allclose(result.residuals, errors, rtol=1e-9)
    np.testing.assert_array_equal(result.inliers, errors <= 4.0)
    assert result.inliers[80:].mean() > 0.97


def test_the_threshold_of_the_paper_is_in_normalised_units_and_a_camera_without_distortion_is_its_matrix():
    camera = LENSES["OPENCV"]
    x1, x2, _ = two_views(camera, camera)
    result = bansac.estimate_essential(x1, x2, camera, preset="paper", max_iterations=200)
    rays = bansac.estimate_essential(camera.unproject(x1), camera.unproject(x2), preset="paper", max_iterations=200)
    np.testing.assert_array_equal(result.residuals, rays.residuals)
    x1, x2, X = two_views(PINHOLE, PINHOLE)
    one = bansac.estimate_relative_pose(x1, x2, PINHOLE, threshold=2.0)
    other = bansac.estimate_relative_pose(x1, x2, PINHOLE.K, threshold=2.0)
    np.testing.assert_array_equal(one.model.R, other.model.R)
    np.testing.assert_array_equal(one.residuals, other.residuals)
    one, other = (bansac.estimate_absolute_pose(X, x2, K, threshold=4.0) for K in (PINHOLE, PINHOLE.K))
    np.testing.assert_array_equal(one.model.R, other.model.R)


def test_cameras_that_cannot_be_used_are_named():
    x1, x2, _ = two_views(PINHOLE, PINHOLE)
    barrel = Camera("SIMPLE_RADIAL", (1000.0, 800.0, 600.0, -0.5))
    with pytest.raises(ValueError, match=r"K2 cannot undistort \d+ of 200 points, the first at"):
        bansac.estimate_essential(x1, x2, PINHOLE, barrel)
    with pytest.raises(ValueError, match="K1 must have a focal length"):
        bansac.estimate_essential(x1, x2, Camera.unknown_focal(1600, 1200))
    with pytest.raises(ValueError, match=r"size of K1 is \(height, width\) = \(1600, 1200\).*swapped"):
        bansac.estimate_relative_pose(x1, x2, Camera("PINHOLE", (1000, 1010, 800, 600), 1200, 1600), PINHOLE)
    with pytest.raises(ValueError, match=r"size of K1 is \(height, width\) = \(48, 64\).* of 200 points lie outside"):
        bansac.estimate_relative_pose(x1, x2, Camera.unknown_focal(64, 48))


DOUBTS = {
    "of another image size": (np.array([[4000.0, 0, 3200], [0, 4000, 2400], [0, 0, 1]]), 1.0, "another image size"),
    "in millimetres": (np.array([[4.15, 0, 800], [0, 4.15, 600], [0, 0, 1]]), 1.0, "focal length 4.15.*millimetres"),
    "normalised, points in pixels": (np.eye(3), 1.0, "focal length 1, .*the camera normalised"),
    "without a principal point": (np.diag([1000.0, 1010.0, 1.0]), 1.0, r"principal point \(0, 0\)"),
    "in pixels, points normalised": (PINHOLE.K, 1e-3, "normalised already, or .* dense matcher"),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_wrong_camera_has_a_warning(doubt):
    K, scale, message = DOUBTS[doubt]
    x1, x2, X = two_views(PINHOLE, PINHOLE)
    few = {"max_iterations": 10}
    with pytest.warns(UserWarning, match=f"^K1 has .*{message}") as caught:
        bansac.estimate_essential(scale * x1, scale * x2, K, **few)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=f"^K has .*{message}") as caught:
        bansac.estimate_absolute_pose(X, scale * x2, K, **few)
    assert caught[0].filename == __file__


def test_matches_that_look_normalised_have_a_warning_without_a_threshold():
    x1, x2, _ = two_views(PINHOLE, PINHOLE)
    x1, x2 = PINHOLE.unproject(x1), PINHOLE.unproject(x2)
    for settings in ({}, {"threshold": "auto"}, {"options": bansac.Options(seed=1)}):
        with pytest.warns(UserWarning, match="^x1 and x2 look normalised .* give pixels or a threshold") as caught:
            bansac.estimate_fundamental(x1, x2, **settings)
        assert caught[0].filename == __file__
    with pytest.warns(match="look normalised"), pytest.raises(ValueError, match="options must be"):
        bansac.estimate_fundamental(x1, x2, options=0.0)
    assert bansac.estimate_fundamental(x1, x2, threshold=1e-3).success
    assert bansac.estimate_fundamental(x1, x2, options=bansac.Options(threshold=1e-3)).success
    bansac.estimate_fundamental(x1[:7], x2[:7])


@pytest.mark.parametrize("box", [(0, 0, 800, 1200), (0, 0, 800, 600), (0, 0, 1600, 300), (700, 500, 900, 700)])
def test_a_crop_has_no_warning(box):
    """The overlap of two images may be a half or a quarter of them, or a strip; far fewer points may be in a corner."""
    rng = np.random.default_rng(0)
    x1 = rng.uniform(box[:2], box[2:], (100, 2))
    few = rng.uniform(0, 100, (10, 2))
    bansac.estimate_essential(x1, x1 + 5, PINHOLE.K, max_iterations=10)
    bansac.estimate_essential(x1 - [800, 600], x1 - [800, 605], np.diag([1000.0, 1000.0, 1.0]), max_iterations=10)
    bansac.estimate_essential(few, few + 5, PINHOLE.K, max_iterations=10)
