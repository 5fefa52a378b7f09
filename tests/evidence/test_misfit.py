"""Residuals that depend on the place in the image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f, norm

import bansac
from bansac.evidence import misfit
from bansac.geometry import normalise_points
from bansac.synthetic import epipolar_matches
from tests.reference import misfit as reference


@given(st.integers(0, 10_000), st.integers(20, 400))
def test_the_analysis_is_that_of_the_definition(seed, n):
    rng = np.random.default_rng(seed)
    data, F, inliers = rng.uniform(-1, 1, (4, n)), rng.normal(size=(3, 3)), rng.random(n) < 0.8
    side = rng.integers(2, 5)
    count, k, between, within, squares = misfit._analyse(data, F.ravel(), inliers, np.zeros((side, side, 2)))
    kept = data[:, inliers]
    groups = reference.cells(kept[:2], side)
    ratio, first, second = reference.analysis(reference.signed_distances(F, kept), groups)
    assert (count, k - 1, count - k) == (inliers.sum(), first, second)
    assert between / first / (within / second) == pytest.approx(ratio)
    assert squares == sum(groups.count(each) ** 2 for each in set(groups))


@given(st.floats(0.2, 20), st.integers(3, 99), st.integers(10, 3000))
def test_deviations_are_those_of_the_f_distribution(ratio, first, second):
    tail = f.logsf(ratio, first, second)
    deviations = misfit.deviations(ratio, first, second)
    if -20 < tail < -1e-3:
        assert norm.logsf(deviations) == pytest.approx(tail, rel=0.1, abs=0.1)


def test_the_limits_are_of_the_share_and_of_chance():
    rng = np.random.default_rng(0)
    data, inliers = rng.uniform(-1, 1, (4, 2000)), np.ones(2000, np.bool_)
    F = np.array([0.0, 0, 0, 0, 0, -1, 0, 1, 0])  # rows of both images correspond
    noise = rng.normal(0, 1e-3, 2000)
    for wave, expected in ((0.0, False), (4e-4, False), (2e-3, True)):
        data[3] = data[1] + noise + wave * np.sin(3 * data[0])
        assert misfit.has_misfit(data, F, inliers, 1e-6) == expected
    few = np.arange(2000) < 12  # the share is large by chance
    assert not misfit.has_misfit(data, F, few, 1e-6)
    assert not misfit.has_misfit(data, F, inliers, 0.1)  # as if it were rounding
    for n in (0, 1, 2, 5):  # few or equal matches
        assert not misfit.has_misfit(np.zeros((4, n)), np.arange(9.0), np.ones(n, np.bool_), 0.0)


def test_lens_distortion_that_is_not_corrected_is_said():
    for strength, expected in ((0.0, "general"), (-0.15, "misfit")):
        scene = epipolar_matches(1000, 0.7, 0.3, seed=3)
        camera = bansac.Camera.from_matrix(scene.K, [strength, 0, 0, 0])
        x1, x2 = (camera.project(normalise_points(scene.K, x)) for x in (scene.x1, scene.x2))
        result = bansac.estimate_relative_pose(x1, x2, scene.K, seed=0)
        assert result.configuration == expected
        down = {"gravity1": np.array([0.0, 1, 0]), "gravity2": scene.R[:, 1]}
        assert bansac.estimate_relative_pose(x1, x2, scene.K, **down, seed=0).configuration == expected
        doubt = bansac.covariance("relative_pose", result, x1, x2, scene.K).doubt
        assert ("not independent" in doubt) == (strength != 0.0)
        assert ("residuals of neighbours are alike" in result.message) == (strength != 0.0)


def test_a_smooth_deformation_is_no_general_scene():
    rng = np.random.default_rng(2)
    x1 = rng.uniform(0, [1000, 750], (3000, 2))
    waves, phases, sizes = rng.normal(0, 1 / 300, (60, 2)), rng.uniform(0, 2 * np.pi, 60), rng.normal(0, 8, (60, 2))
    x2 = x1 + np.cos(x1 @ waves.T + phases) @ sizes + rng.normal(0, 0.3, x1.shape)
    assert bansac.estimate_fundamental(x1, x2, seed=0).configuration != "general"
