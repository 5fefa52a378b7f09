"""Searches of many data on a sample: results on all data, and what must not change."""

import numpy as np
import pytest

import bansac
from bansac.estimate import solve as solve_module
from bansac.estimate.sample import samples

NORMAL, DISTANCE, NOISE = np.array([0.2, 0.3, 0.9]) / np.linalg.norm([0.2, 0.3, 0.9]), 6.0, 0.02


def plane_points(n, inliers, seed=0, distance=DISTANCE):
    """Points of a cube, the first ones moved to a plane with noise."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0.0, 10.0, (n, 3))
    on = points[:inliers]
    on += (distance - on @ NORMAL + rng.normal(0.0, NOISE, inliers))[:, None] * NORMAL
    return points


def error_of(model):
    plane = np.ravel(model) / np.linalg.norm(np.ravel(model)[:3])
    truth = np.append(NORMAL, -DISTANCE)
    return min(np.abs(plane - truth).max(), np.abs(plane + truth).max())


@pytest.fixture
def searched(monkeypatch):
    """The numbers of data of all searches."""
    sizes, search = [], solve_module.search

    def spy(request):
        sizes.append(request.data.shape[1])
        return search(request)

    monkeypatch.setattr(solve_module, "search", spy)
    return sizes


def test_a_search_looks_at_a_sample_and_the_result_is_that_of_all_data(searched):
    points = plane_points(60_000, 36_000)
    result = bansac.fit_plane(points, seed=3)
    assert searched == [2500]
    assert result.success
    assert result.inliers.shape == result.residuals.shape == result.probabilities.shape == result.beliefs.shape
    assert result.inliers.shape == (60_000,)
    np.testing.assert_array_equal(result.inliers, result.residuals <= result.threshold)
    assert result.num_inliers > 35_000
    assert error_of(result.model) < 6.0 * NOISE / np.sqrt(36_000) * 3.0
    same = bansac.fit_plane(points, seed=3)
    np.testing.assert_array_equal(result.model, same.model)
    np.testing.assert_array_equal(result.beliefs, same.beliefs)


def test_all_data_make_the_model_more_accurate_than_the_sample():
    points = plane_points(60_000, 36_000)
    on_all = [error_of(bansac.fit_plane(points, seed=seed).model) for seed in range(5)]
    part = [np.random.default_rng(seed).choice(60_000, 2500, replace=False) for seed in range(5)]
    on_part = [error_of(bansac.fit_plane(points[rows], seed=0).model) for rows in part]
    assert np.mean(on_all) < 0.6 * np.mean(on_part)


def test_few_inliers_of_many_data_need_larger_samples(searched):
    rng = np.random.default_rng(0)
    points = rng.uniform(0.0, 10.0, (100_000, 2))
    points[:2000, 1] = 2.0 + 0.5 * points[:2000, 0] + rng.normal(0.0, 0.002, 2000)
    result = bansac.fit_line(points, threshold=0.006)
    assert searched[0] == 2500
    assert searched[-1] > 2500
    assert result.success
    assert np.count_nonzero(result.inliers[:2000]) > 1900


@pytest.mark.parametrize("settings", [{"trace": True}, {"preset": "paper", "max_iterations": 200}])
def test_a_trace_and_the_paper_search_all_data(searched, settings):
    result = bansac.fit_plane(plane_points(12_000, 8000), threshold=3 * NOISE, **settings)
    assert searched[0] == 12_000
    assert result.beliefs.shape == (12_000,)


def test_few_data_are_all_searched(searched):
    bansac.fit_plane(plane_points(9_999, 6000))
    assert searched == [9_999]


def test_scores_priors_and_weights_are_checked_on_all_data():
    points, scores = plane_points(12_000, 8000), np.full(12_000, 0.5)
    scores[-1] = np.nan
    for name in ("scores", "priors", "weights"):
        with pytest.raises(ValueError, match=name):
            bansac.fit_plane(points, **{name: scores})
        with pytest.raises(ValueError, match=name):
            bansac.fit_plane(points, **{name: np.full(11_999, 0.5)})


def test_priors_and_weights_follow_their_data(searched):
    points = plane_points(40_000, 16_000)
    points[16_000:36_000] = plane_points(20_000, 20_000, seed=1, distance=4.0)
    own = np.zeros(40_000)
    own[:16_000] = 1.0
    weighted = bansac.fit_plane(points, weights=0.01 + own, threshold=3 * NOISE)
    informed = bansac.fit_plane(points, priors=0.1 + 0.8 * own, threshold=3 * NOISE)
    assert searched == [2500, 2500]
    assert error_of(weighted.model) < 0.01
    assert informed.beliefs.shape == (40_000,)


def test_a_small_second_structure_is_found_with_the_first(searched):
    points = plane_points(60_000, 20_000)
    points[20_000:26_000] = plane_points(6000, 6000, seed=1, distance=3.0)
    result = bansac.estimate_multiple("plane", points, threshold=3 * NOISE)
    assert searched[0] == 2500
    counts = np.bincount(result.labels[:26_000] + 1, minlength=3)[1:]
    assert len(result.models) == 2
    assert counts[0] > 19_000
    assert counts[1] > 5500


def test_a_rival_is_measured_on_all_data(searched):
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0.0, 1000.0, (40_000, 2))
    x2 = x1 + np.where(np.arange(40_000) % 2 == 0, 30.0, -60.0)[:, None] + rng.normal(0.0, 0.5, (40_000, 2))
    result = bansac.estimate_homography(x1, x2, threshold=2.0)
    assert searched == [2500]
    assert result.rival is not None
    assert result.rival.inliers.shape == (40_000,)
    assert np.count_nonzero(result.rival.inliers & result.inliers) == 0
    assert result.num_inliers + np.count_nonzero(result.rival.inliers) > 39_000


def test_a_warm_start_and_the_limits_hold_on_the_sample(searched):
    points = plane_points(60_000, 36_000)
    first = bansac.fit_plane(points, max_iterations=500)
    warm = bansac.fit_plane(points, initial_model=first.model, max_iterations=500)
    assert searched == [2500, 2500]
    assert max(first.iterations, warm.iterations) <= 500
    assert error_of(warm.model) < 0.01


def test_clusters_of_copies_are_no_support():
    rng = np.random.default_rng(0)
    few = rng.uniform(0.0, 1000.0, (12, 4))
    copies = np.repeat(few, 2000, axis=0)
    assert not bansac.estimate_homography(copies[:, :2], copies[:, 2:]).success


def test_one_point_with_many_partners_is_no_support():
    rng = np.random.default_rng(0)
    x1, x2 = np.repeat(rng.uniform(0.0, 1000.0, (10, 2)), 2000, axis=0), rng.uniform(0.0, 1000.0, (20_000, 2))
    assert not bansac.estimate_homography(x1, x2, max_iterations=500).success


@pytest.mark.parametrize("function", [bansac.estimate_essential, bansac.estimate_relative_pose])
def test_the_motion_of_many_matches_is_that_of_the_refined_matrix(searched, function):
    from bansac.synthetic import epipolar_matches

    scene = epipolar_matches(20_000, inlier_ratio=0.6, noise=0.5, seed=1)
    result = function(scene.x1, scene.x2, scene.K)
    assert searched[0] == 2500
    assert result.success
    if function is bansac.estimate_relative_pose:
        angle = np.degrees(np.arccos(min(1.0, 0.5 * (np.trace(result.model.R.T @ scene.R) - 1.0))))
        assert angle < 0.1


def test_the_samples_are_random_and_have_the_columns_of_their_data():
    from bansac.estimate.request import make_request
    from bansac.problems.plane import PLANE

    data = np.ascontiguousarray(plane_points(90_000, 60_000).T)
    request = make_request(PLANE, data, None, {"scores": np.linspace(0.0, 1.0, 90_000), "seed": 1})
    parts = list(samples(request))
    assert [len(rows) for _, rows in parts] == [2500, 20_000]
    for part, rows in parts:
        assert len(np.unique(rows)) == len(rows)
        np.testing.assert_array_equal(part.data, data[:, rows])
        np.testing.assert_array_equal(part.scores, np.linspace(0.0, 1.0, 90_000)[rows])
