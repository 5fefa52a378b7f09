"""Poses whose inliers other focal lengths or lens distortion explain better."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import bansac
from bansac.evidence import camera_misfit
from bansac.evidence.camera_misfit import find_focal_factors
from bansac.evidence.significance import MeasuredModel
from bansac.geometry import essential_from_pose, normalise_points, rotation_matrix
from bansac.maths.quaternion import matrix_of, model_of
from bansac.problems.absolute_pose import ABSOLUTE_POSE
from bansac.problems.essential import ESSENTIAL
from bansac.synthetic import epipolar_matches
from bansac.synthetic.two_views import camera_pair, image_extent, observe, viewing_rays
from bansac_lab.scenes import make_scene


def _rays_of_pose(factor, n=300, seed=0):
    """Return rays of a focal length that is ``factor`` times too large, with their 3D points, and the best pose."""
    rng = np.random.default_rng(seed)
    points = rng.uniform([-3, -2, 4], [3, 2, 10], (n, 3))
    rays = (points[:, :2] / points[:, 2:] + rng.normal(0, 1e-3, (n, 2))) / factor

    def residuals(step):
        seen = points @ rotation_matrix(step[:3]).T + step[3:]
        return (seen[:, :2] / seen[:, 2:] - rays).ravel()

    step = least_squares(residuals, np.zeros(6)).x
    return np.vstack([rays.T, points.T]), model_of(np.column_stack([rotation_matrix(step[:3]), step[3:]]))


@pytest.mark.parametrize("factor", [0.75, 0.95, 1.05, 1.3])
def test_the_focal_length_of_an_absolute_pose_is_found(factor):
    data, model = _rays_of_pose(factor)
    (found,) = find_focal_factors(ABSOLUTE_POSE, data, model, np.ones(300, np.bool_), 1e-9)
    assert found == pytest.approx(1 / factor, rel=0.1)


def test_the_products_are_those_of_differences():
    data, model = _rays_of_pose(1.2, n=30)
    matrix, step = matrix_of(model), 1e-6
    seen = matrix[:, :3] @ data[2:] + matrix[:, 3:]
    depth = 1.0 / np.mean(1.0 / seen[2])

    def errors(k, size):
        vector = np.eye(8)[k] * size
        moved = rotation_matrix(vector[:3]) @ seen + depth * vector[3:6, None]
        rays = moved[:2] / moved[2]
        return (rays * (1.0 + vector[6] + vector[7] * np.sum(rays * rays, axis=0)) - data[:2]).ravel()

    rows = [(errors(k, step) - errors(k, -step)) / (2 * step) for k in range(8)] + [errors(0, 0.0)]
    products = np.zeros((9, 9))
    camera_misfit._multiply_pose(data, model, np.empty((2, 9)), products)
    np.testing.assert_allclose(products, np.array(rows) @ np.array(rows).T, rtol=1e-6, atol=1e-7)


def test_a_right_camera_is_not_doubted():
    for seed in range(20):
        data, model = _rays_of_pose(1.0, seed=seed)
        assert find_focal_factors(ABSOLUTE_POSE, data, model, np.ones(300, np.bool_), 1e-9) == []


def test_few_or_exact_or_flat_points_say_nothing():
    data, model = _rays_of_pose(1.3)
    for k in (0, 1, 3, 4):
        assert find_focal_factors(ABSOLUTE_POSE, data, model, np.arange(300) < k, 1e-9) == []
    assert find_focal_factors(ABSOLUTE_POSE, data, model, np.ones(300, np.bool_), 1.0) == []  # as if it were rounding
    data[4] = 7.0  # a plane parallel to the image: any focal length fits at its own distance
    model = model_of(np.eye(3, 4))
    data[:2] = data[2:4] / 7.0 + np.random.default_rng(0).normal(0, 1e-3, (2, 300))
    assert find_focal_factors(ABSOLUTE_POSE, data, model, np.ones(300, np.bool_), 1e-9) == []


def test_both_focal_lengths_of_a_relative_pose_are_tested():
    size, rng = (480, 640), np.random.default_rng(3)
    cameras = camera_pair(size, image_extent(size), rng)
    x1 = rng.uniform(0, 1, (500, 2)) * image_extent(size)
    points = viewing_rays(cameras[0], x1) * rng.uniform(3, 9, (500, 1))
    scene = observe(x1, points, cameras, np.ones(500, np.bool_), 0.3, size, rng)
    for factor in (1.0, 1.25):
        K = scene.K1 @ np.diag([factor, factor, 1.0])
        result = bansac.estimate_relative_pose(scene.x1, scene.x2, K, K, threshold=8.0, seed=0)
        data = np.vstack([normalise_points(K, x).T for x in (scene.x1, scene.x2)])
        E = 3.0 * essential_from_pose(*result.model).ravel()  # of any scale
        assert len(find_focal_factors(ESSENTIAL, data, E, result.inliers, 1e-9)) == (2 if factor > 1.0 else 0)


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_a_wrong_focal_length_is_named_in_the_caller_s_unit(factor):
    points, pixels, K = make_scene("pose", 300, 0.7, 1.0, seed=4).data
    result = bansac.estimate_absolute_pose(points, pixels, K @ np.diag([factor, factor, 1.0]), seed=0)
    assert result.success
    assert result.configuration == ("misfit" if factor > 1.0 else None)
    assert (f"instead of {factor * K[0, 0]:.4g} fits better" in result.message) == (factor > 1.0)
    doubt = bansac.covariance("absolute_pose", result, points, pixels, K @ np.diag([factor, factor, 1.0])).doubt
    assert ("not independent" in doubt) == (factor > 1.0)


def test_lens_distortion_of_an_absolute_pose_is_a_misfit():
    points, pixels, K = make_scene("pose", 400, 0.8, 0.5, seed=1).data
    camera = bansac.Camera.from_matrix(K, [-0.2, 0, 0, 0])
    distorted = camera.project(normalise_points(K, pixels))
    result = bansac.estimate_absolute_pose(points, distorted, K, seed=0)
    assert result.configuration == "misfit"
    assert "lens distortion" in result.message
    assert bansac.estimate_absolute_pose(points, distorted, camera, seed=0).configuration is None


def test_equal_points_count_once():
    """Copies of few points make a chance deviation significant."""
    for seed in range(10):
        points, pixels, K = make_scene("pose", 8, 1.0, 1.0, seed).data
        points, pixels = np.repeat(points, 30, axis=0), np.repeat(pixels, 30, axis=0)
        assert bansac.estimate_absolute_pose(points, pixels, K, threshold=4.0, seed=0).configuration != "misfit"


def test_known_verticals_keep_the_test():
    scene = epipolar_matches(1000, 0.8, 0.3, seed=2)
    down = {"gravity1": np.array([0.0, 1, 0]), "gravity2": scene.R[:, 1]}
    assert bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, **down, seed=0).configuration == "general"


@pytest.mark.parametrize("camera", ["K", "unknown focal length", "distortion"])
def test_mirrored_images_have_inliers_behind_a_camera(camera):
    found = 0
    for seed in range(6):
        scene = epipolar_matches(300, inlier_ratio=0.7, noise=0.5, seed=seed)
        cameras = {
            "K": scene.K,
            "unknown focal length": bansac.Camera.unknown_focal(640, 480),
            "distortion": bansac.Camera.from_matrix(scene.K, [0.01, 0.0, 0.0, 0.0]),
        }
        right = bansac.estimate_relative_pose(scene.x1, scene.x2, cameras[camera])
        assert "behind a camera" not in right.message
        mirrored = scene.x2 * [-1, 1] + [639, 0]
        result = bansac.estimate_relative_pose(scene.x1, mirrored, cameras[camera])
        if (
            result.configuration == "misfit"
            and " inliers are behind a camera, as with a mirrored image" in result.message
        ):
            found += 1
            assert result.model_confidence is None
    assert found == 5  # all are in front of both cameras in one scene


def test_inliers_that_noise_or_chance_explains_are_not_behind_a_camera():
    rng = np.random.default_rng(0)
    rays, R = rng.uniform(-0.5, 0.5, (2, 300)), rotation_matrix([0.0, 0.1, 0.0])
    E, noise = essential_from_pose(R, [1.0, 0.0, 0.0]).ravel(), 1e-3

    def count(n_behind, depth, n_still=0):
        """Return what the test counts if ``n_behind`` points are behind both cameras."""
        depths = np.where(np.arange(300) < n_behind, -depth, depth)
        points = R @ (np.vstack([rays, np.ones(300)]) * depths) + [[1.0], [0.0], [0.0]]
        data = np.vstack([rays, points[:2] / points[2] + rng.normal(0, noise / 4, (2, 300))])
        data[2:, :n_still] = data[:2, :n_still]
        measured = MeasuredModel(E, noise, ESSENTIAL.distances(data, E), np.ones(300, np.bool_), 300)
        return camera_misfit.count_behind(ESSENTIAL, data, measured)

    assert count(100, depth=8.0) == 100
    assert count(0, depth=8.0) == 0
    assert count(60, depth=8.0) == 0  # a share that wrong matches may have
    assert count(100, depth=2e3) == 0  # a parallax of half the threshold
    assert count(100, depth=8.0, n_still=90) == 0
