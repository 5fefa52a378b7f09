"""The posterior of the data: against a literal twin, on mixtures with known labels, and at the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bansac
from bansac.evidence.posterior import inlier_probabilities
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from tests.reference import posterior as reference


def mixture(rng, inliers, outliers, codimension, sigma=0.4, extent=50.0):
    """Return residuals of inliers with contaminated normal errors and of outliers in a ball, and the labels."""
    spread = np.where(rng.random(inliers) < 0.2, 4 * sigma, sigma)
    errors = np.linalg.norm(rng.normal(0, spread[:, None], (inliers, codimension)), axis=1)
    beyond = extent * rng.random(outliers) ** (1 / codimension)
    return np.concatenate([errors, beyond]), np.arange(inliers + outliers) < inliers


@given(
    seed=st.integers(0, 2**32),
    codimension=st.sampled_from([1, 2, 3]),
    inliers=st.integers(0, 300),
    outliers=st.integers(0, 300),
    threshold=st.floats(0.01, 100),
)
def test_it_is_that_of_the_literal_twin(seed, codimension, inliers, outliers, threshold):
    residuals = mixture(np.random.default_rng(seed), inliers, outliers, codimension)[0] * threshold
    p = inlier_probabilities(residuals, threshold, codimension)
    np.testing.assert_allclose(p, reference.inlier_probabilities(residuals, threshold, codimension), atol=1e-9)
    assert (np.diff(p[np.argsort(residuals)]) <= 1e-15).all()


@pytest.mark.parametrize("codimension", [1, 2])
@pytest.mark.parametrize(("inliers", "outliers"), [(5000, 5000), (500, 5000), (5000, 200)])
@pytest.mark.parametrize("sigma", [0.15, 0.4, 0.6])
def test_it_is_calibrated(codimension, inliers, outliers, sigma):
    residuals, labels = mixture(np.random.default_rng(1), inliers, outliers, codimension, sigma)
    p = inlier_probabilities(residuals, 1.0, codimension)
    which = np.minimum((10 * p).astype(int), 9)
    errors = [abs(p[which == k].sum() - labels[which == k].sum()) for k in range(10)]
    assert sum(errors) / len(p) < 0.03
    assert np.mean((p - labels) ** 2) < 0.05


def test_the_unit_of_the_residuals_does_not_matter():
    residuals, _ = mixture(np.random.default_rng(2), 200, 100, 1)
    expected = inlier_probabilities(residuals, 1.0)
    np.testing.assert_allclose(inlier_probabilities(1e-6 * residuals, 1e-6), expected, atol=1e-12)
    np.testing.assert_allclose(inlier_probabilities(1e6 * residuals, 1e6), expected, atol=1e-12)


def test_exact_data_are_inliers_and_infinite_residuals_are_none():
    p = inlier_probabilities(np.array([0.0] * 20 + [30.0] * 10 + [np.inf] * 5), 1.0)
    assert (p[:20] > 0.99).all()
    assert (p[20:] < 1e-9).all()


@pytest.mark.parametrize("residuals", [[], [np.inf] * 3, [100.0, 200.0]])
def test_without_a_residual_near_the_model_there_is_no_inlier(residuals):
    p = inlier_probabilities(np.array(residuals), 1.0)
    assert p.shape == (len(residuals),)
    assert (p == 0).all()


@pytest.mark.parametrize("sampler", ["bansac", "uniform"])
def test_every_problem_has_probabilities_that_agree_with_its_mask(sampler):
    plane, scene = homography_matches(300, seed=1), epipolar_matches(300, seed=1)
    points = line_points(200, inlier_ratio=0.5, noise=0.02, seed=1)
    for result, true in (
        (bansac.estimate_homography(plane.x1, plane.x2, sampler=sampler), plane.inliers),
        (bansac.estimate_fundamental(scene.x1, scene.x2, sampler=sampler), scene.inliers),
        (bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, sampler=sampler), scene.inliers),
        (bansac.fit_line(points.points, threshold=0.05, sampler=sampler), points.inliers),
    ):
        assert result.success
        assert (result.probabilities[result.inliers] > 0.5).all()
        assert result.probabilities[true].mean() > 0.9
        assert result.probabilities[~true].mean() < 0.2  # some outliers are near the line
        assert (result.beliefs is None) == (sampler == "uniform")


def test_without_success_there_is_no_posterior_but_the_beliefs_stay():
    noise = np.random.default_rng(0).uniform(0, 1000, (2, 100, 2))
    result = bansac.estimate_fundamental(*noise, max_iterations=200)
    assert not result.success
    assert result.probabilities is None
    assert result.configuration is None
    assert result.beliefs.shape == (100,)
