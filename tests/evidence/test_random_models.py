"""The support of models of random samples of rearranged matches: lists, few matches, windows, clusters, grids."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

import bansac
from bansac.evidence import random_models
from bansac.evidence.false_alarms import SIGNIFICANT, binomial_tail
from bansac.evidence.random_models import as_matches, count_mirrored, log_nfa_of_rates, log_tail
from bansac.problems.absolute_pose import ABSOLUTE_POSE
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.motion_3d import RIGID_3D
from bansac.problems.similarity import SIMILARITY
from bansac.synthetic import epipolar_matches, homography_matches
from tests.reference.random_models import (
    binomial_tail_slowly,
    log_sum_of_tails_slowly,
    log_tail_slowly,
    measure_slowly,
)

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its samples take minutes")


def matches_of(problem, data, model, threshold):
    data = np.ascontiguousarray(data)
    return as_matches(problem, data, problem.distances(data, model), threshold, problem.traits.points[0])


def listed(n, right, seed, noise=0.3):
    """Matches of a similarity; the wrong partners are other points of the list."""
    rng = np.random.default_rng(seed)
    x1 = rng.uniform(0, 1000, (n, 2))
    x2 = x1 @ np.array([[0.8, -0.6], [0.6, 0.8]]).T + [30, -20] + rng.normal(0, noise, (n, 2))
    x2[right:] = np.roll(x2[right:], 1, axis=0)
    return x1, x2


@given(st.integers(0, 10**6), st.sampled_from([SIMILARITY, HOMOGRAPHY, FUNDAMENTAL, RIGID_3D]))
@settings(max_examples=20, deadline=None)
def test_hits_are_those_of_each_match(seed, problem):
    rng = np.random.default_rng(seed)
    n, distances = int(rng.integers(problem.sample_size + 1, 15)), np.sort(rng.uniform(0.05, 0.5, 3))
    sets = rng.uniform(-1, 1, (2, problem.channels, n))
    explained = rng.uniform(-1, 1, (problem.channels, int(rng.integers(0, 4))))
    found = random_models._measure(problem, sets, explained, 0.25, distances, 4)
    for one, other in zip(found, measure_slowly(problem, sets, explained, 0.25, distances, 4), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_tail_is_that_of_the_largest_surprises_of_searches(seed, monkeypatch):
    monkeypatch.setattr(random_models, "_SETS", 3)
    monkeypatch.setattr(random_models, "_MODELS", 15)
    made = epipolar_matches(20, 12 / 20, 0.5, seed)
    data, m = np.ascontiguousarray(np.column_stack([made.x1, made.x2]).T), FUNDAMENTAL.sample_size
    matches = matches_of(FUNDAMENTAL, data, np.array(made.F).ravel(), 2.0)
    support, more = np.sort(matches.distances[matches.inliers]), math.log(FUNDAMENTAL.default_max_iterations / 5)
    assert support.size > m
    ways = [log_tail_slowly(FUNDAMENTAL, sets, support, 5, more) for sets in random_models._rearranged(matches, 3)]
    assert log_tail(matches, 0.0, math.inf) == pytest.approx(max(ways), abs=1e-9)


@given(st.integers(1, 60), st.integers(0, 60), st.floats(1e-6, 1.0))
def test_binomial_tail(n, k, p):
    k = min(k, n)
    assert binomial_tail(k, n, p) == pytest.approx(min(binomial_tail_slowly(k, n, p), 1.0), rel=1e-9, abs=1e-300)


@given(st.integers(0, 10**6))
@settings(deadline=None)
def test_sum_of_the_tails_of_all_models(seed):
    rng = np.random.default_rng(seed)
    hits, volumes = np.sort(rng.poisson(rng.uniform(0, 2), (20, 4)), axis=1), np.sort(rng.uniform(0, 1, 4))
    needed = np.sort(rng.integers(1, 12, 3))
    found = random_models._log_sum_of_tails(hits, volumes, 30, needed, 40, 20)
    assert found == pytest.approx(log_sum_of_tails_slowly(hits, volumes, 30, needed, 40, 20), abs=1e-6)


def test_without_a_model_nothing_is_known():
    assert random_models._log_sum_of_tails(np.empty((0, 2), np.int64), np.ones(2), 5, np.array([2]), 5, 10) == math.inf


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_curve_visits_every_cell_once_and_neighbours_in_a_row(dimension):
    cells = np.indices((8,) * dimension).reshape(dimension, -1)
    numbers = random_models._interleave(cells)
    assert sorted(numbers) == list(range(8**dimension))
    ordered = cells[:, np.argsort(numbers)]
    steps = np.abs(np.diff(ordered, axis=1)).sum(axis=0)
    assert np.mean(steps) < dimension  # that of a random order is 8 / 3 times the dimension


@pytest.mark.parametrize("n", [5, 6, 7, 30])
def test_neighbours_are_rearranged_one_to_one_and_no_partner_is_kept(n):
    x1, x2 = listed(n, n, 0)
    data = np.ascontiguousarray(np.column_stack([x1, x2]).T)
    matches = as_matches(SIMILARITY, data, np.zeros(n), 1.0, (0, 1))
    for copy in random_models._neighbours(matches, 8):
        np.testing.assert_array_equal(copy[:2], matches.data[:2])
        np.testing.assert_array_equal(np.sort(copy[2:]), np.sort(matches.data[2:]))
        assert np.sum(np.all(copy[2:] == matches.data[2:], axis=0)) <= n % random_models._BLOCK


def test_displacements_stay_in_the_window_of_wrong_matches():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 1000, (60, 2))
    shift = np.array([100, 50])
    x2 = x1 + shift + rng.uniform(-20, 20, (60, 2))
    x2[:20] = x1[:20] + shift
    data = np.ascontiguousarray(np.column_stack([x1, x2]).T)
    distances = np.where(np.arange(60) < 20, 0.0, 9.0)
    matches = as_matches(SIMILARITY, data, distances, 1.0, (0, 1))
    scale = matches.threshold
    for copy in random_models._displacements(matches, 5):
        moved = (copy[2:] - copy[:2] - np.median(matches.data[2:] - matches.data[:2], axis=1)[:, None]) / scale
        assert np.abs(moved).max() < 42
        assert np.abs(moved).max(axis=0).mean() > 5


@compiled
@pytest.mark.parametrize("seed", range(5))
def test_lists_with_few_right_partners_are_a_success(seed):
    x1, x2 = listed(40, 10, seed)
    assert bansac.estimate_similarity(x1, x2, threshold=0.9, seed=seed).success
    wrong = bansac.estimate_similarity(x1[10:], x2[10:], threshold=0.9, seed=seed)
    assert not wrong.success
    assert "no more than chance gives" in wrong.message


@compiled
@pytest.mark.parametrize("estimate", [bansac.estimate_essential, bansac.estimate_fundamental])
def test_few_matches_of_two_views_are_a_success(estimate):
    found, wrong = 0, 0
    for seed in range(10):
        made = epipolar_matches(40, 16 / 40, 0.3, seed)
        cameras = (made.K, made.K) if estimate is bansac.estimate_essential else ()
        found += estimate(made.x1, made.x2, *cameras, threshold=0.9, seed=seed).success
        noise = np.random.default_rng(seed).uniform(0, 600, (2, 40, 2))
        wrong += estimate(*noise, *cameras, threshold=2.0, seed=seed).success
    assert found >= 9
    assert wrong == 0


@compiled
def test_more_inliers_and_smaller_residuals_are_more_significant():
    made = homography_matches(40, 0.3, 0.3, 0)
    data, H = np.ascontiguousarray(np.column_stack([made.x1, made.x2]).T), np.array(made.H).ravel()
    order = np.argsort(~made.inliers, kind="stable")
    values = [log_nfa_of_rates(matches_of(HOMOGRAPHY, data[:, order[12 - k :]], H, 1.0), 1e-3) for k in (6, 8, 12)]
    assert values[0] > values[1] > values[2]
    assert values[2] < SIGNIFICANT
    assert log_nfa_of_rates(matches_of(HOMOGRAPHY, data[:, order[8:]], H, 1.0), 1e-3) == math.inf  # a sample


@compiled
def test_noise_has_no_small_tail():
    tails = []
    for seed in range(5):
        data = np.random.default_rng(seed).uniform(0, 600, (4, 20))
        result = bansac.estimate_fundamental(data[:2].T, data[2:].T, threshold=2.0, seed=seed)
        tails.append(log_tail(matches_of(FUNDAMENTAL, data, np.array(result.model).ravel(), 2.0), 1e-3, 0.0))
    assert min(tails) > math.log(1e-2)


def tails_of_true_models(sets, searches):
    """Return p of few searches and of many searches, of as many samples, for true models with few inliers."""
    few, many = [], []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(14, 40)), FUNDAMENTAL.sample_size
        made = epipolar_matches(n, rng.integers(8, 11) / n, 0.5, seed)
        data = np.ascontiguousarray(np.column_stack([made.x1, made.x2]).T)
        matches = matches_of(FUNDAMENTAL, data, np.array(made.F).ravel(), 1.5)
        if np.count_nonzero(matches.inliers) <= m:
            continue
        more = math.log(max(min(math.comb(n, m), FUNDAMENTAL.default_max_iterations) / 200, 1))
        few.append(math.exp(min(log_tail(matches, 0.0, math.inf) - more, 0.0)))
        sizes = np.arange(m + 1, np.count_nonzero(matches.inliers) + 1)
        limits = random_models._distances(matches, sizes, 0.0)
        copies = random_models._neighbours(matches, searches)
        hits, owners = random_models._measure(FUNDAMENTAL, copies, data[:, :0], 0.0, limits, 200)
        rates, choices = hits.mean(axis=0) / (n - m), np.array([math.comb(n - m, h) for h in range(n - m + 1)])
        surprises = np.max(-hits * np.log(rates) - np.log(choices[hits]), axis=1)
        largest = np.array([surprises[owners == k].max() for k in range(searches)])
        own = np.max(-(sizes - m) * np.log(rates) - np.log(choices[sizes - m]))
        many.append((1 + np.count_nonzero(largest >= own)) / (searches + 1))
    return np.array(few), np.array(many)


@compiled
@pytest.mark.slow
def test_tails_of_few_searches_are_those_of_many(monkeypatch):
    monkeypatch.setattr(
        random_models, "_rearranged", lambda matches, copies: [random_models._neighbours(matches, copies)]
    )
    few, many = tails_of_true_models(200, 999)
    used = (many > 0.005) & (many < 0.5)
    ratio = few[used] / many[used]
    assert np.count_nonzero(used) > 60
    assert 0.3 < np.median(ratio) < 1.5
    assert np.mean((ratio > 0.1) & (ratio < 3.0)) > 0.95


@compiled
def test_points_of_space_have_no_displacements():
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, (5, 12))
    distances = rng.uniform(0, 0.01, 12)
    matches = as_matches(ABSOLUTE_POSE, data, distances, 0.02, (0, 1))
    assert matches.second == [2, 3, 4]
    assert len(list(random_models._rearranged(matches, 2))) == 1


@compiled
def test_mirrored_matches_are_no_similarity_and_are_named():
    rng, n = np.random.default_rng(0), 1000
    x1 = rng.uniform(0, 1000, (n, 2))
    x2 = x1 * [1, -1] + [0, 800] + rng.normal(0, 0.5, (n, 2))
    data = np.ascontiguousarray(np.column_stack([x1, x2]).T)
    assert count_mirrored(as_matches(SIMILARITY, data, np.zeros(n), 2.0, (0, 1)), np.array([2.0])) > 0.9 * n
    results = [bansac.estimate_similarity(x1, x2, seed=seed) for seed in range(3)]
    assert not any(result.success for result in results)
    assert any("mirrored" in result.message for result in results)
    assert bansac.estimate_affine(x1, x2).success


@compiled
def test_the_permuted_points_of_a_grid_of_space_have_no_motion():
    """Motions of a grid to itself have more support than those of few samples."""
    nodes = 50.0 * np.indices((4, 4, 4)).reshape(3, -1).T
    for seed in range(10):
        moved = nodes[np.random.default_rng(seed).permutation(len(nodes))]
        assert not bansac.estimate_rigid_3d(nodes, moved, threshold=3.0, seed=seed).success
