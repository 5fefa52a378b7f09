"""Significance of right models of clustered and repeated matches, and on matches without structure."""

import numba
import numpy as np
import pytest

import bansac
from bansac.evidence import significance
from bansac.evidence.null_model import measure_far
from bansac.synthetic import circle_points, epipolar_matches, homography_matches

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT, reason="hours as plain Python; other tests take the same lines"
)

SEEDS = range(4)


def patches(seed, count=30, features=4, radius=8.0):
    """Return matches of image patches: features around each point move with it, two thirds of the points are right."""
    rng = np.random.default_rng(seed)
    scene = epipolar_matches(count, inlier_ratio=0.67, noise=0.3, seed=seed)
    offsets = rng.uniform(-radius, radius, (count, features, 2))
    x1, x2 = ((x[:, None] + offsets + rng.normal(0, 0.3, offsets.shape)).reshape(-1, 2) for x in (scene.x1, scene.x2))
    wrong = rng.random(len(x1)) < 0.15
    x2[wrong] = rng.uniform(0, 480, (wrong.sum(), 2))
    return x1, x2


@pytest.mark.parametrize("seed", SEEDS)
def test_patches_are_evidence_and_their_permutations_are_none(seed):
    x1, x2 = patches(seed)
    assert bansac.estimate_fundamental(x1, x2, threshold=4.0).success
    permuted = x2[np.random.default_rng(seed).permutation(len(x2))]
    assert not bansac.estimate_fundamental(x1, permuted, threshold=4.0).success


MOTIONS = {"identity": np.eye(2), "turned": np.array([[0.94, -0.34], [0.34, 0.94]]), "scaled": 1.3 * np.eye(2)}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_an_affine_motion_of_the_image_is_one(noise, motion):
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 1, (200, 2)) * [640, 480]
    x2 = x1 @ MOTIONS[motion].T + np.array([7, 3]) + rng.normal(0, noise, x1.shape)
    x2[::2] = rng.uniform(0, 1, (100, 2)) * [640, 480]
    maps = bansac.estimate_homography, bansac.estimate_affine, bansac.estimate_similarity
    assert all(estimate(unit * x1, x2).success for estimate in maps for unit in (1.0, 1e-3))  # pixels, metres
    assert bansac.estimate_fundamental(x1, x2, threshold=1.0).success


@pytest.mark.parametrize("times", [2, 3, 10])
def test_repeated_exact_matches_are_a_success(times):
    plane, scene = (make(20, inlier_ratio=1.0, noise=0.0, seed=1) for make in (homography_matches, epipolar_matches))
    for estimate, made in ((bansac.estimate_homography, plane), (bansac.estimate_fundamental, scene)):
        assert estimate(np.tile(made.x1, (times, 1)), np.tile(made.x2, (times, 1))).success


@pytest.mark.parametrize("seed", range(3))
def test_right_matches_whose_points_wrong_ones_share_are_a_success(seed):
    """Each point of image 2 has eight wrong matches before the right one, as the nearest neighbour of many points."""
    right = homography_matches(50, 1.0, 0.5, seed, size=(1536, 2048))
    wrong = np.random.default_rng(seed).uniform(0, (2048, 1536), (400, 2))
    x2 = np.vstack([np.tile(right.x2, (8, 1)), right.x2])
    assert bansac.estimate_homography(np.vstack([wrong, right.x1]), x2).success
    assert not bansac.estimate_homography(wrong, x2[:400]).success


def test_repeated_points_and_large_thresholds_are_named():
    rng = np.random.default_rng(0)
    matches = rng.uniform(0, 1000, (9, 4))[rng.integers(0, 9, 400)] + rng.normal(0, 0.2, (400, 4))
    result = bansac.estimate_fundamental(matches[:, :2], matches[:, 2:], threshold=3.0)
    assert not result.success
    assert "points repeat, or the threshold is large" in result.message


def test_the_null_model_of_equal_data_is_measured_once(monkeypatch):
    rng = np.random.default_rng(0)
    measured = []
    monkeypatch.setattr(significance, "measure_far", lambda *args: measured.append(args) or measure_far(*args))
    for n, times in ((100, 2), (1000, 4)):  # of the larger number, some points are within the threshold of each other
        x1 = rng.uniform(0, 1000, (n, 2))
        x2 = x1 + rng.uniform(-30, 30, x1.shape)
        assert not bansac.estimate_fundamental(x1, x2, threshold=3.0, max_iterations=300).success
        assert len(measured) == times
        measured.clear()


def test_a_few_inliers_on_a_circle_are_significant():
    found = 0
    for seed in range(20):
        made = circle_points(200, inlier_ratio=0.15, noise=0.002, seed=seed)
        result = bansac.fit_circle(made.points, threshold=0.006, max_iterations=20_000, seed=seed)
        found += result.success and bool(result.inliers[made.inliers].mean() > 0.9)
    assert found >= 15


def walk(rng, dimension):
    return np.cumsum(rng.normal(size=(500, dimension)), axis=0)


def blobs(rng, dimension):
    return rng.uniform(0, 1, (10, dimension))[rng.integers(0, 10, 1000)] + rng.normal(0, 0.02, (1000, dimension))


@pytest.mark.parametrize("points", [walk, blobs])
@pytest.mark.parametrize("fit", [bansac.fit_line, bansac.fit_circle, bansac.fit_ellipse, bansac.fit_plane])
def test_blobs_and_random_walks_have_no_curve_or_plane(fit, points):
    """Few of them lie near one by chance, in the middle of few clusters, at a threshold as large as a cluster."""
    dimension = 3 if fit is bansac.fit_plane else 2
    found = sum(fit(points(np.random.default_rng(seed), dimension), seed=seed).success for seed in range(100, 120))
    assert found <= 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("width", "is_plane"), [(1, False), (6, True)])
def test_points_of_a_line_of_space_determine_no_plane(width, is_plane, seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (300, 3))
    points[:100] = points[:100] * [1, 0, 0] + rng.normal(0, 0.01, (100, 3)) * [1, width, 1]
    assert bansac.fit_plane(points).success == is_plane
