"""Inputs on which other libraries failed in public; the page ``gallery.md`` of the documentation lists them."""

import numpy as np
import pytest

import bansac
import bansac.compat.cv2 as compat
from bansac.compat import DoubtWarning
from bansac.compat.skimage import ransac
from bansac.geometry import apply_transform, rotation_matrix
from bansac.synthetic import epipolar_matches, homography_matches, line_points

# Matches of a camera that hardly moves, from the issue.
STILL = np.array(
    [
        [71.35362447, -73.48993604, 71.35376603, -73.59021804],
        [-88.90364312, -73.61561921, -88.90364312, -73.61561921],
        [-167.59229029, -152.62241114, -167.59229029, -152.62241114],
        [85.94304076, -162.11201907, 85.94304076, -162.11201907],
        [172.05289178, -162.39757996, 172.05289178, -162.39757996],
        [-82.58191992, -74.50782902, -82.58191992, -74.50782902],
        [-272.6442017, -271.23413327, -272.6442017, -271.23413327],
        [-85.77380211, -273.03948033, -85.77380211, -273.03948033],
        [103.14325005, -274.71871417, 103.24549557, -274.8227237],
        [294.19549172, -276.49581391, 294.19549172, -276.49581391],
        [-167.81015725, -168.7491632, -167.70862579, -168.74839359],
        [-79.41421943, -169.26774438, -79.31358168, -169.2673819],
        [98.36577158, -170.26210817, 98.36623108, -170.36341088],
        [-74.05887631, -77.30305365, -74.05887631, -77.30305365],
        [10.260825, -77.54947512, 10.16076431, -77.64968961],
        [64.70994691, -159.00848207, 64.8104607, -159.00876493],
        [48.0005312, -71.95875096, 48.00062479, -72.05898542],
    ]
)


def test_a_camera_that_hardly_moves_has_an_essential_matrix_and_a_warning():
    """OpenCV 24482: None from findEssentialMat with USAC."""
    K = np.diag([600.0, 600.0, 1.0])
    result = bansac.estimate_relative_pose(STILL[:, :2], STILL[:, 2:], K, threshold=1.0)
    assert result.model is not None
    assert result.num_inliers == len(STILL)
    assert np.degrees(np.arccos(min(1.0, (np.trace(result.model.R) - 1) / 2))) < 1
    assert result.configuration == "pure_rotation"
    assert "does not determine a translation" in result.message
    E, mask = compat.findEssentialMat(STILL[:, :2], STILL[:, 2:], K, compat.USAC_DEFAULT, 0.999, 1.0)
    assert E.shape == (3, 3)
    assert mask.all()


def test_sources_that_share_one_target_are_no_support():
    """OpenCV 25546: a singular homography and outliers in its mask."""
    rng = np.random.default_rng(0)
    x1, x2 = rng.uniform(0, 1000, (2, 60, 2))
    x2[20:] = 583.2965087890625, 931.1444091796875
    result = bansac.estimate_homography(x1, x2, threshold=5.0)
    assert not result.success
    with pytest.warns(DoubtWarning, match="chance|target|model"):
        compat.findHomography(x1, x2, compat.RANSAC, 5.0)


def test_a_true_plane_is_found_beside_sources_that_share_one_target():
    """OpenCV 25546: the same, with a plane in it."""
    plane = homography_matches(100, 0.6, 0.3, seed=2)
    x2 = plane.x2.copy()
    x2[~plane.inliers] = 583.2965087890625, 331.1444091796875
    result = bansac.estimate_homography(plane.x1, x2, threshold=2.0)
    assert result.success
    errors = np.linalg.norm(apply_transform(result.model, plane.x1) - x2, axis=1)
    assert (errors[result.inliers] <= 2.0).all()
    assert np.mean(result.inliers == plane.inliers) > 0.95


def test_a_mask_of_the_caller_is_zeroed_without_a_model():
    """OpenCV 5551: findHomography left the mask of the caller untouched."""
    line = np.column_stack([np.arange(20.0), np.arange(20.0)])
    mask = np.ones((20, 1), np.uint8)
    with pytest.warns(DoubtWarning, match="no model"):
        H, found = compat.findHomography(line, line, compat.RANSAC, 3.0, mask)
    assert H is None
    assert found is mask
    assert not mask.any()


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        ({}, compat.SOLVEPNP_EPNP),
        ({"preset": "fast"}, compat.USAC_FAST),
        ({"preset": "accurate"}, compat.USAC_ACCURATE),
        ({"scoring": "magsac++"}, compat.USAC_MAGSAC),
    ],
)
def test_inliers_of_a_camera_pose_are_a_mask_in_every_mode(settings, flags):
    """OpenCV 20008: a mask or a list of indices from solvePnPRansac, by the mode."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 0.1, (30, 3))
    R, t = rotation_matrix([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 1.0])
    K = np.array([[600, 0, 320], [0, 600, 240], [0, 0, 1.0]])
    x = apply_transform(K, X @ R.T + t)
    x[[0, 1, 2], [0, 1, 0]] += 10
    result = bansac.estimate_absolute_pose(X, x, K, threshold=1.0, **settings)
    assert result.inliers.dtype == np.bool_
    assert result.inliers.tolist() == [False] * 3 + [True] * 27
    np.testing.assert_allclose(result.model.t, t, atol=1e-6)
    found, _, tvec, indices = compat.solvePnPRansac(X, x, K, None, reprojectionError=1.0, flags=flags)
    assert found
    np.testing.assert_array_equal(indices, np.arange(3, 30)[:, None])
    np.testing.assert_allclose(tvec.ravel(), t, atol=1e-6)


def test_seven_matches_of_which_three_are_one_are_no_crash():
    """OpenCV 19639: a crash of findFundamentalMat with USAC_MAGSAC."""
    x = np.array([[941, 890], [596, 940], [898, 941], [894, 933], [586, 938], [902, 933], [887, 935]])
    y = np.array([[1416, 806], [1157, 852], [1380, 855], [1378, 843], [1145, 849], [1378, 843], [1378, 843]])
    result = bansac.estimate_fundamental(x, y, threshold=3.0)
    assert not result.success
    F, mask = compat.findFundamentalMat(x, y, compat.USAC_MAGSAC, 3, 0.99)
    assert F is None or np.isfinite(F).all()
    assert mask.shape == (7, 1)


def test_runs_repeat_bit_by_bit():
    """OpenCV 27863: reads of invalid memory in findHomography with USAC, which make results depend on chance."""
    plane = homography_matches(200, 0.5, 0.5, seed=1)
    first, second = (bansac.estimate_homography(plane.x1, plane.x2) for _ in range(2))
    assert first.model.tobytes() == second.model.tobytes()
    assert first.success
    first, second = (compat.findHomography(plane.x1, plane.x2, compat.USAC_DEFAULT, 2.0)[0] for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_a_few_iterations_and_a_wide_threshold_are_no_crash():
    """OpenCV 27487: a subscript out of range in findEssentialMat with USAC."""
    scene = epipolar_matches(200, 0.7, 0.3, seed=1)
    E, mask = compat.findEssentialMat(scene.x1, scene.x2, scene.K, compat.USAC_DEFAULT, 0.99, 3.0, 100)
    singular = np.linalg.svd(E)[1]
    assert singular[0] == pytest.approx(singular[1])
    assert mask.sum() > 100


def test_no_inlier_gives_no_model_and_no_exception():
    """scikit-image 4816: an exception if the best model has no inlier."""
    x = np.array([[943.0, 1374.5], [1518.0, 3293.5], [749.0, 3450.5], [2237.0, 3578.5], [1022.0, 3668.5]])
    result = bansac.fit_line(x, threshold=2.2)
    assert not result.success
    assert "no more than chance" in result.message


class Mean:
    """The mean of points; a mean of more than two is not valid."""

    def estimate(self, x):
        self.mean, self.count = x.mean(axis=0), len(x)
        return True

    @classmethod
    def from_estimate(cls, x):
        model = cls()
        model.estimate(x)
        return model

    def residuals(self, x):
        return np.linalg.norm(x - self.mean, axis=1)


def test_the_final_model_is_checked_too():
    """scikit-image 5572: a model of the last fit that ``is_model_valid`` refuses."""
    x = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.warns(UserWarning, match="model is not valid"):
        assert ransac(x, Mean, 2, 2.0, is_model_valid=lambda model, *data: model.count == 2) == (None, None)
    model, _ = ransac(x, Mean, 2, 2.0, is_model_valid=lambda model, *data: model.count >= 2)
    assert model.count > 2


def test_the_limit_falls_with_the_first_good_model():
    """scikit-image 2485: too many iterations, because the limit was compared only with new best models."""
    points = line_points(200, 0.8, 0.005, seed=1).points
    result = bansac.fit_line(points, threshold=0.02, preset="fast", max_iterations=100_000)
    assert result.success
    assert result.iterations < 1000


def test_large_samples_do_not_end_the_search_at_once():
    """scikit-image 7490: two iterations for large samples, because 1 - w^m rounds to 1."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 400)
    points = np.column_stack([x, 3 * x**3 - x])
    points[:280, 1] = rng.uniform(-2, 2, 280)
    result = bansac.fit_polynomial(points, degree=8, threshold=0.01, stopping="ransac", restarts=1, max_iterations=3000)
    assert result.iterations > 100
