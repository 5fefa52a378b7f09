"""Estimated thresholds: scenes of known noise, exact data, noise alone, and the ways in which they are asked for."""

import dataclasses

import numba
import numpy as np
import pytest

import bansac
from bansac import Options
from bansac.evidence.noise_scale import (
    SMALLEST,
    WIDE,
    estimate_threshold,
    first_threshold,
    is_in_other_unit,
    threshold_bounds,
    threshold_factor,
)
from bansac.problems.essential import ESSENTIAL
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.upright import upright
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points
from bansac_lab.known_scenes import known_scene
from bansac_lab.metrics import corner_error

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="whole searches take minutes as plain Python")

DEFAULTS = {"H": 2.0, "F": 0.5, "E": 0.5}
ESTIMATE = {"H": bansac.estimate_homography, "F": bansac.estimate_fundamental, "E": bansac.estimate_essential}
FIXED = (0.25, 0.5, 1.0, 2.0, 4.0)


def make_scene(kind, noise, seed, n=300):
    make = homography_matches if kind == "H" else epipolar_matches
    return make(n, inlier_ratio=0.6, noise=noise, seed=seed)


def estimate(kind, scene, threshold, **settings):
    cameras = (scene.K,) if kind == "E" else ()
    return ESTIMATE[kind](scene.x1, scene.x2, *cameras, threshold=threshold, **settings)


def model_error(kind, result, scene, seed):
    """Return the mean distance in pixels of true matches without noise from the model."""
    if kind == "H":
        return corner_error(result.model, scene.H, (480, 640))
    clean = make_scene(kind, 0.0, seed)
    K_inverse = np.linalg.inv(scene.K)
    F = result.model if kind == "F" else K_inverse.T @ result.model @ K_inverse
    squared = np.empty(len(clean.x1))
    data = np.ascontiguousarray(np.column_stack([clean.x1, clean.x2]).T)
    FUNDAMENTAL.compiled("residuals")(data, np.array(F).ravel(), 0, squared.size, squared)
    return float(np.sqrt(squared[clean.inliers]).mean())


def test_factors_are_quantiles_of_lengths_of_normal_vectors():
    assert threshold_factor(1) == pytest.approx(2.5758, rel=0.01)
    assert threshold_factor(2) == pytest.approx(np.sqrt(-2 * np.log(0.01)), rel=0.01)


@pytest.mark.parametrize(
    ("extent", "is_other", "is_finer"),
    [(1.0, True, True), (49.0, True, True), (51.0, False, True), (501.0, False, False), (6e4, True, True)],
)
def test_the_second_points_tell_whether_a_default_in_pixels_is_meant(extent, is_other, is_finer):
    data = np.random.default_rng(0).uniform(0, 1, (4, 300)) + 47.0
    data[2:, :2] = [[0.0, extent], [0.0, extent]]
    data[2:, 2:] = extent * (data[2:, 2:] - 47.0)
    assert is_in_other_unit(HOMOGRAPHY, data) == is_other
    assert not is_in_other_unit(FUNDAMENTAL, data)
    assert not is_in_other_unit(HOMOGRAPHY, data[:, :1])
    assert first_threshold(HOMOGRAPHY, data) == pytest.approx(0.002 * extent)
    smallest, largest = threshold_bounds(HOMOGRAPHY, 2.0, data)
    assert smallest == pytest.approx(2.0 * (0.01 if is_finer else SMALLEST))
    assert largest == 13.0


@pytest.mark.parametrize("kind", ["homography", "affine", "similarity"])
@pytest.mark.parametrize(("first", "second", "origin"), [(1e-3, 1e-3, 0.0), (1e-4, 1e-4, 47.0), (1.0, 2e-4, 0.0)])
def test_the_threshold_of_a_map_follows_the_unit_of_the_second_points(kind, first, second, origin):
    rng = np.random.default_rng(3)
    x1 = rng.uniform(0, 1000, (120, 2))
    x2 = 0.9 * x1 @ [[0.8, 0.6], [-0.6, 0.8]] + 40 + rng.normal(0, 0.4, x1.shape)
    x2[60:] = rng.uniform(x2.min(axis=0), x2.max(axis=0), (60, 2))
    function = getattr(bansac, f"estimate_{kind}")
    pixels = function(x1, x2, seed=0)
    result = function(first * x1 + origin, second * x2 + origin, seed=0)
    assert result.success
    assert result.inliers[:60].mean() > 0.95
    assert not result.inliers[60:].any()
    assert 1 / 1.3 < result.threshold / (second * pixels.threshold) < 1.3
    assert pixels.first_threshold == 2.0
    assert result.first_threshold == pytest.approx(second * 0.002 * np.ptp(x2, axis=0).max())


@pytest.mark.parametrize("noise", [0.5, 10.0])
def test_coordinates_beyond_all_images_are_no_pixels(noise):
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 4000, (200, 2))
    metres = pixels * [0.5, -0.5] + [500_000, 4_649_776] + rng.normal(0, noise, (200, 2))
    metres[:80] += rng.uniform(-500, 500, (80, 2))
    result = bansac.estimate_affine(pixels, metres)
    assert result.num_inliers >= 117
    assert 2.7 < result.threshold / noise < 3.4
    assert result.first_threshold == pytest.approx(0.002 * np.ptp(metres, axis=0).max())


@pytest.mark.parametrize("settings", [{"threshold": 0.2}, {"threshold": "auto", "options": Options(threshold=0.2)}])
def test_a_number_is_kept_in_any_unit(settings):
    x1 = np.random.default_rng(3).uniform(0, 1, (60, 2))
    result = bansac.estimate_homography(x1, x1 + 1, seed=0, **settings)
    assert (result.threshold if settings["threshold"] == 0.2 else result.first_threshold) == 0.2


@pytest.mark.parametrize("problem", [FUNDAMENTAL, HOMOGRAPHY])
@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
@pytest.mark.parametrize(("inliers", "outliers"), [(300, 0), (300, 300), (100, 400)])
def test_threshold_of_residuals(problem, noise, inliers, outliers):
    rng = np.random.default_rng(1)
    errors = np.linalg.norm(rng.normal(0, noise, (inliers, problem.traits.codimension)), axis=1)
    beyond = 200 * rng.random(outliers) ** (1 / problem.traits.codimension)
    residuals = np.concatenate([errors, beyond, [np.inf]])
    found = estimate_threshold(residuals, problem, (0.05, 4.0))
    assert found == pytest.approx(threshold_factor(problem.traits.codimension) * noise, rel=0.35)


def test_threshold_counts_the_degrees_of_freedom():
    """The residuals of a fit to few data are smaller than the noise: here by the root of 13 / 20."""
    residuals = np.abs(np.random.default_rng(0).normal(0, 1, 20))
    of_fit = estimate_threshold(residuals * np.sqrt(13 / 20), FUNDAMENTAL, (0.1, 10.0))
    many = estimate_threshold(np.repeat(residuals, 100), FUNDAMENTAL, (0.1, 10.0))
    assert of_fit == pytest.approx(many, rel=0.1)


def test_few_inliers_have_no_smaller_threshold_than_many():
    """The threshold of few inliers was 23 % smaller in the median."""
    found = {}
    for n in (25, 1000):
        scenes = [epipolar_matches(n, inlier_ratio=0.8, noise=0.5, seed=seed) for seed in range(15)]
        found[n] = np.median([bansac.estimate_fundamental(s.x1, s.x2).threshold for s in scenes])
    assert found[25] > 0.85 * found[1000]


@pytest.mark.parametrize("residuals", [np.empty(0), np.full(9, np.inf), np.zeros(30)])
def test_residuals_that_say_nothing_give_a_bound(residuals):
    assert estimate_threshold(residuals, HOMOGRAPHY, (0.2, 12.0)) in (0.2, 12.0)


@pytest.mark.parametrize("size", [0.3, 1, 30])
@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.name)
def test_the_threshold_of_every_estimator_fits_the_noise(row, size):
    problem = None if row.problem is None else row.load_problem()
    of_images = problem is not None and problem.default_threshold is not None
    noise = 0.3 * np.clip(size, *((0.3, 3) if of_images else (1, 30)))
    scene = known_scene(row.name, 300, 0.6, noise, seed=1)
    result = row.load_function()(*scene.arguments)
    codimension, unit = (1, 2e-3) if problem is None else (problem.traits.codimension, 1.0)
    assert result.success
    assert 0.5 < result.threshold / (threshold_factor(codimension) * noise * unit) < 2


@pytest.mark.parametrize("kind", ["H", "F", "E"])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_models_are_as_good_as_with_the_best_threshold(kind, noise):
    errors = {threshold: [] for threshold in (*FIXED, "auto")}
    for seed in range(4):
        scene = make_scene(kind, noise, seed)
        for threshold, found in errors.items():
            found.append(model_error(kind, estimate(kind, scene, threshold), scene, seed))
    mean = {threshold: np.mean(found) for threshold, found in errors.items()}
    assert mean["auto"] < 1.3 * min(mean[threshold] for threshold in FIXED)


@pytest.mark.parametrize("kind", ["H", "F", "E"])
def test_exact_data_have_the_smallest_threshold(kind):
    scene = make_scene(kind, 0.0, 5)
    result = estimate(kind, scene, "auto")
    assert result.success
    assert result.threshold == pytest.approx(SMALLEST * DEFAULTS[kind])
    assert result.inliers[scene.inliers].all()


@pytest.mark.parametrize("kind", ["H", "F", "E"])
def test_noise_alone_is_no_success(kind):
    for seed in range(4):
        x1, x2 = np.random.default_rng(seed).uniform(0, 480, (2, 100, 2))
        scene = dataclasses.replace(make_scene(kind, 0.0, seed, n=100), x1=x1, x2=x2)
        result = estimate(kind, scene, "auto")
        assert not result.success
        assert result.threshold in (pytest.approx(DEFAULTS[kind]), pytest.approx(WIDE * DEFAULTS[kind]))


def test_without_a_significant_model_the_noise_chooses_between_the_two_thresholds():
    """The false alarms explain these models; searches of rearranged matches, which the search does not make, do not."""
    scenes = [epipolar_matches(24, inlier_ratio=0.5, noise=1.0, seed=seed) for seed in range(10)]
    results = [estimate("E", scene, "auto") for scene in scenes]
    assert np.mean([result.success for result in results]) > 0.5
    assert np.median([result.threshold for result in results]) == pytest.approx(WIDE * DEFAULTS["E"])
    assert np.mean([result.inliers == scene.inliers for result, scene in zip(results, scenes, strict=True)]) > 0.9


def test_it_starts_from_the_threshold_of_the_options_or_preset():
    scene = make_scene("H", 0.0, 0)
    assert estimate("H", scene, "auto", options=Options(threshold=1.0)).threshold == pytest.approx(SMALLEST)
    assert estimate("H", scene, "auto", preset="paper").threshold == pytest.approx(SMALLEST)
    assert bansac.ransac(
        HOMOGRAPHY, np.column_stack([scene.x1, scene.x2]), threshold="auto"
    ).threshold == pytest.approx(SMALLEST * DEFAULTS["H"])
    line = bansac.fit_line(line_points(noise=0.05, seed=1).points, threshold="auto", options=Options(threshold=0.1))
    assert 0.5 < line.threshold / (threshold_factor(1) * 0.05) < 2


@pytest.mark.parametrize("kind", ["H", "F"])
def test_noise_of_many_thresholds_is_found(kind):
    """No model is significant at the first threshold; one is at the wide threshold."""
    noise = 3.5 if kind == "H" else 4.0
    scene = make_scene(kind, noise, 2, n=120)
    result = estimate(kind, scene, None)
    assert result.success
    assert 0.5 < result.threshold / (threshold_factor(2 if kind == "H" else 1) * noise) < 2
    assert result.inliers[scene.inliers].mean() > 0.9


@pytest.mark.parametrize(("fit", "make"), [(bansac.fit_circle, circle_points), (bansac.fit_line, line_points)])
def test_few_points_of_a_curve_give_their_noise(fit, make):
    for seed, noise in enumerate((5e-4, 5e-4, 5e-4, 5e-5)):
        points = make(3000, 0.1, noise, seed).points
        assert 0.7 < fit(points, seed=0).threshold / (2.58 * noise) < 1.5
    assert fit(np.round(points, 4), seed=0).threshold == pytest.approx(4e-4, rel=0.1)  # steps of a grid


def test_one_restart_estimates_too():
    scene = make_scene("H", 0.1, 0)
    result = estimate("H", scene, None, preset="fast")
    assert result.restarts == 1
    assert result.threshold < 1.0


def test_two_scales_of_noise():
    """A near part of the plane with five times the noise of the far part."""
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 640, (400, 2))
    sigma = np.where(np.arange(400) < 100, 1.5, 0.3)[:, None]
    x2 = x1 @ [[0.9, 0.1], [-0.1, 0.9]] + [20, 30] + rng.normal(0, 1, (400, 2)) * sigma
    x2[250:] = rng.uniform(0, 640, (150, 2))
    result = bansac.estimate_homography(x1, x2)
    assert result.success
    assert result.inliers[100:250].mean() > 0.95
    assert result.threshold > 3 * 0.3


@pytest.mark.parametrize("kind", ["H", "F"])
@pytest.mark.parametrize("most", [1, 50, 301])
def test_all_runs_together_keep_to_the_maximum_of_iterations(kind, most):
    for noise in (0.1, 5.0):
        result = estimate(kind, make_scene(kind, noise, 1), "auto", max_iterations=most, min_iterations=most)
        assert result.iterations <= most


def test_the_parameters_count_if_samples_determine_fewer():
    residuals = np.abs(np.random.default_rng(0).normal(0, 1, 15))
    found = [estimate_threshold(residuals, problem, (0.1, 10.0)) for problem in (upright(ESSENTIAL), ESSENTIAL)]
    assert found[0] == found[1]
