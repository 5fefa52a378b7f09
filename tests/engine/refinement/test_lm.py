"""The last step by Levenberg-Marquardt, on whole runs."""

import dataclasses

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

import bansac
from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.refinement.lm import BIWEIGHT, TRUNCATED, _scale_of_least_variance, biweight_scale, move_best_model
from bansac.engine.state import pack_run
from bansac.problems.essential import ESSENTIAL, ESSENTIAL_SYMMETRIC
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import homography_matches, line_points
from tests.engine.builder import blurred_line, build_run, mask_of
from tests.engine.refinement.test_levenberg_marquardt import make_scene
from tests.engine.test_local_optimization import msac
from tests.reference import epipolar, homography
from tests.reference import levenberg_marquardt as reference
from tests.reference.curves import line_distances

THRESHOLD = 0.02


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its sixteen runs take minutes")
@pytest.mark.parametrize("problem", [ESSENTIAL, ESSENTIAL_SYMMETRIC], ids=["sampson", "symmetric"])
def test_it_is_more_accurate_than_linear_least_squares_for_essential_matrices(problem):
    """In one restart: several would choose the best of several linear fits."""
    settings = {"threshold": 2e-3, "scoring": "msac", "neighbours": False, "restarts": 1}
    errors = {"least_squares": [], "lm": []}
    for seed in range(8):
        _, data, truth = make_scene("essential", np.random.default_rng(seed), noise=5e-4, outliers=0.5, n=300)
        for name, found in errors.items():
            result = bansac.ransac(problem, data.T, refinement=name, **settings)
            found.append(epipolar.distance_up_to_scale(result.model, truth))
            assert np.linalg.svd(result.model)[1] == pytest.approx([1, 1, 0], abs=1e-9)
    assert np.median(errors["lm"]) < 0.7 * np.median(errors["least_squares"])


def test_a_problem_without_derivatives_is_refused():
    bare = dataclasses.replace(LINE, linearize=None, project=None)
    points = line_points(60, inlier_ratio=0.5, noise=0.01, seed=0).points
    with pytest.raises(ValueError, match="refinement='lm' is not for problem 'line', which has no linearize"):
        bansac.ransac(bare, points, threshold=THRESHOLD, refinement="lm")
    with pytest.raises(ValueError, match="problem 'line' has no linearize"):
        bansac.ransac(bare, points, threshold=THRESHOLD, local_optimization="lm")


def test_least_squares_without_a_fit_is_refused():
    bare = dataclasses.replace(LINE, fit=None, linearize=None, project=None)
    points = line_points(60, inlier_ratio=0.5, noise=0.01, seed=0).points
    with pytest.raises(ValueError, match="refinement='least_squares' is not for problem 'line', which has no fit"):
        bansac.ransac(bare, points, threshold=THRESHOLD, refinement="least_squares")
    with pytest.raises(ValueError, match="problem 'absolute pose', which has no fit"):
        bansac.estimate_absolute_pose(np.ones((9, 3)), np.ones((9, 2)), refinement="least_squares")
    with pytest.raises(ValueError, match=r"local_optimization needs .*, and problem 'absolute pose' has no fit"):
        bansac.estimate_absolute_pose(np.ones((9, 3)), np.ones((9, 2)), local_optimization="inner")
    assert bansac.ransac(bare, points, threshold=THRESHOLD).success
    assert bansac.ransac(bare, points, threshold=THRESHOLD, preset="paper").success


def test_a_linear_fit_is_not_needed():
    made = line_points(100, inlier_ratio=0.6, noise=0.005, seed=0)
    no_fit = dataclasses.replace(LINE, fit=None)
    plain = bansac.ransac(no_fit, made.points, threshold=THRESHOLD, scoring="msac", refinement=None)
    refined = bansac.ransac(
        no_fit, made.points, threshold=THRESHOLD, scoring="msac", refinement="lm", local_optimization="lm"
    )
    assert refined.score > plain.score


def move(points, line, loss, tolerance, limit=np.inf, reach=2.0):
    """Return whether the moved line is kept, and the run."""
    run = build_run(LINE, points.T, threshold=THRESHOLD, scoring="msac", local_optimization=None)
    run.best_model[:] = line
    run.progress["best_score"] = msac(points, line)
    scale = 1.5 if loss == BIWEIGHT else 1.0
    packed = pack_run(run)
    kept = move_best_model(packed, select_manifold(LINE), make_work(LINE), loss, scale, scale, reach, limit, tolerance)
    return kept, run, mask_of(packed)


@pytest.mark.parametrize("loss", [TRUNCATED, BIWEIGHT])
def test_a_model_is_kept_if_its_score_is_within_the_tolerance(loss):
    outcomes = set()
    for seed in range(30):
        points, line = blurred_line(seed, 60)
        _, anyway, _ = move(points, line, loss, 1.0)
        kept, run, found = move(points, line, loss, 0.0)
        change = msac(points, anyway.best_model) - msac(points, line)
        assert kept == (change > 0) or abs(change) < 1e-3
        assert np.array_equal(run.best_model, anyway.best_model if kept else line)
        assert run.progress["best_score"] == pytest.approx(msac(points, run.best_model), abs=1e-3)
        if kept:
            mask = line_distances(run.best_model, points) <= THRESHOLD
            assert np.array_equal(found, mask)
            assert run.progress["best_inliers"] == mask.sum()
        outcomes.add(kept)
    assert True in outcomes


def test_the_homography_has_no_higher_biweight_cost_than_that_of_opencv_for_the_same_inliers():
    gains = []
    for seed in range(10):
        made = homography_matches(150, inlier_ratio=0.6, noise=0.4, seed=seed)
        result = bansac.estimate_homography(made.x1, made.x2, threshold=1.0, refinement="lm", scoring="msac")
        x1, x2 = made.x1[result.inliers], made.x2[result.inliers]
        scale = biweight_scale(result.residuals, HOMOGRAPHY, result.threshold)
        costs = [
            reference.cost(homography.transfer_error(H, made.x1, made.x2), scale**2, True)
            for H in (cv2.findHomography(x1, x2, 0)[0], result.model)
        ]
        gains.append(costs[0] / costs[1] - 1)
    assert min(gains) > -1e-4
    assert max(gains) > 1e-4


@given(
    st.integers(0, 2**32), st.integers(1, 3), st.integers(2, 9), st.integers(0, 200), st.sampled_from([0.0, 0.3, 0.6])
)
def test_the_scale_is_the_literal_one(seed, components, parameters, n, outliers):
    rng = np.random.default_rng(seed)
    errors = rng.standard_t(rng.choice([1, 3, 100]), (components, n)) + 10 * (rng.random(n) < outliers)
    distances = np.append(np.linalg.norm(errors, axis=0), np.inf)
    widest = rng.uniform(2, 8)
    found = _scale_of_least_variance(distances, widest, components, parameters)
    assert found == pytest.approx(reference.scale_of_least_variance(distances[:-1], widest, components, parameters))


def test_normal_errors_have_a_wide_scale_and_heavy_tails_a_narrow_one():
    rng = np.random.default_rng(0)
    scales = {tails: biweight_scale(np.abs(rng.standard_t(tails, 2000)), LINE, threshold=2.5) for tails in (1, 2, 1000)}
    assert scales[1] < scales[1000]
    assert scales[1000] > 5


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its runs take minutes")
def test_without_outliers_it_is_as_accurate_as_least_squares():
    errors = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, y = rng.uniform(-1, 1, 100), rng.normal(0, 0.01, 100)
        A = np.column_stack([x, np.ones(100)])
        best = np.linalg.lstsq(A, y, rcond=None)[0]
        a, b, c = bansac.fit_line(np.column_stack([x, y]), seed=seed).model
        errors.append([np.hypot(*best), np.hypot(a / b, c / b)])
    squares = np.square(errors).mean(axis=0)
    assert squares[1] < 1.05**2 * squares[0]


def test_outliers_beyond_the_threshold_have_no_effect_on_exact_data():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 100, (50, 2))
    x2 = x1 @ [[0.5, 0.1], [-0.2, 0.4]] + [10, 20]
    x2[:3] += [[30, 0], [0, -25], [40, 40]]
    result = bansac.estimate_affine(x1, x2, threshold=20, seed=0)
    assert result.inliers.tolist() == [False] * 3 + [True] * 47
    np.testing.assert_allclose(result.model, [[0.5, -0.2, 10], [0.1, 0.4, 20]], rtol=0, atol=1e-9)


def test_the_data_far_away_and_beyond_the_limit_do_not_count():
    points, line = blurred_line(0, 60)
    distances = line_distances(line, points)
    far = points[distances > 2 * THRESHOLD]
    near = points[distances < 2 * THRESHOLD]
    assert len(near) > 12
    _, of_all, _ = move(np.vstack([near, far]), line, BIWEIGHT, 1.0)
    _, of_near, _ = move(near, line, BIWEIGHT, 1.0)
    assert np.array_equal(of_all.best_model, of_near.best_model)
    _, of_ten, _ = move(np.vstack([near, far]), line, BIWEIGHT, 1.0, limit=10.0)
    _, of_first, _ = move(near[:10], line, BIWEIGHT, 1.0)
    assert np.array_equal(of_ten.best_model, of_first.best_model)
    assert not np.array_equal(of_ten.best_model, of_all.best_model)


def test_a_model_with_nothing_near_stays():
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    _, run, _ = move(points, np.array([1.0, 0.0, 50.0]), BIWEIGHT, 0.0)
    assert run.best_model.tolist() == [1.0, 0.0, 50.0]
    assert run.progress["best_inliers"] == 0
