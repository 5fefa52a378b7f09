"""Models that follow the static matches of an overlay."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.evidence.static_share import _rate_mixture, count_static
from bansac.synthetic import homography_matches


def _scene(static, n=1000, seed=0, apart=True):
    """Return matches, a share of them static and, if ``apart``, in a strip of their own; others move by 20 to 60."""
    rng = np.random.default_rng(seed)
    is_static = rng.permutation(n) < static * n
    x1 = rng.uniform(0, [640, 400], (n, 2))
    if apart:
        x1[is_static, 1] = rng.uniform(400, 480, np.count_nonzero(is_static))
    x2 = x1 + rng.normal(0, 0.1, (n, 2)) + np.where(is_static[:, None], 0, rng.uniform(20, 60, (n, 2)))
    return np.vstack([x1.T, x2.T]), is_static


def test_static_inliers_beside_moving_outliers_are_counted():
    data, is_static = _scene(0.4)
    assert count_static(data, is_static, 0.3) == 400


@pytest.mark.parametrize("static", [0.05, 0.95, 1.0])
def test_few_static_inliers_or_few_moving_matches_are_no_overlay(static):
    data, is_static = _scene(static)
    inliers = is_static if static > 0.5 else is_static | (np.arange(1000) < 700)
    assert count_static(data, inliers, 0.3) == 0


def test_a_static_camera_with_wrong_matches_anywhere_is_no_overlay():
    for seed in range(20):
        data, is_static = _scene(0.5, seed=seed, apart=False)
        assert count_static(data, is_static, 0.3) == 0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_matches_are_no_overlay(n):
    assert count_static(np.zeros((4, n)), np.ones(n, np.bool_), 1.0) == 0
    assert count_static(np.zeros((4, n)), np.zeros(n, np.bool_), 1.0) == 0


def test_the_mixture_is_one_at_random_places_and_zero_apart():
    rng = np.random.default_rng(1)
    points, is_first = rng.uniform(0, 100, (2, 4000)), rng.random(4000) < 0.3
    assert _rate_mixture(points, is_first) == pytest.approx(1.0, abs=0.1)
    points[0, is_first] += 200.0
    assert _rate_mixture(points, is_first) < 0.02
    assert _rate_mixture(np.ones((2, 10)), np.arange(10) < 5) == pytest.approx(1.0)  # one place


@pytest.mark.parametrize("name", ["homography", "affine", "similarity"])
def test_an_overlay_that_wins_is_static(name):
    scene = homography_matches(1000, 0.1, 1.0, seed=0)
    rng, chosen = np.random.default_rng(0), np.flatnonzero(~scene.inliers)[:400]
    x1, x2 = scene.x1.copy(), scene.x2.copy()
    x1[chosen] = rng.uniform([0.0, 400.0], [640.0, 480.0], (400, 2))
    x2[chosen] = x1[chosen] + rng.normal(0, 0.1, (400, 2))
    result = getattr(bansac, f"estimate_{name}")(x1, x2, seed=0)
    np.testing.assert_allclose(result.model, np.eye(3)[: len(result.model)], atol=0.5)
    assert result.success
    assert result.configuration == "static"
    assert "leave out the matches of overlays" in result.message
    assert "static" in bansac.covariance(name, result, x1, x2).doubt
    without = dataclasses.replace(scene, x1=np.delete(scene.x1, chosen, 0), x2=np.delete(scene.x2, chosen, 0))
    assert bansac.estimate_homography(without.x1, without.x2, seed=0).configuration == "planar"
