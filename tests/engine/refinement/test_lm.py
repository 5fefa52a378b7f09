"""The last step by Levenberg-Marquardt, on whole runs."""

import dataclasses

import cv2
import numpy as np
import pytest
from numba import config

import bansac
from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.refinement.lm import CAUCHY, TRUNCATED, move_best_model
from bansac.engine.state import pack_run
from bansac.problems.line import LINE
from bansac.synthetic import homography_matches, line_points
from tests.engine.builder import blurred_line, build_run, mask_of
from tests.engine.refinement.test_levenberg_marquardt import make_scene
from tests.engine.test_local_optimization import msac
from tests.reference import epipolar, homography
from tests.reference.curves import line_distances

THRESHOLD = 0.02


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its sixteen runs take minutes")
@pytest.mark.parametrize("epipolar_error", ["sampson", "symmetric"])
def test_it_is_more_accurate_than_linear_least_squares_for_essential_matrices(epipolar_error):
    """In one restart: several would choose the best of several linear fits."""
    settings = {"threshold": 2e-3, "scoring": "msac", "neighbours": False, "restarts": 1}
    errors = {"least_squares": [], "lm": []}
    for seed in range(8):
        _, data, truth = make_scene("essential", np.random.default_rng(seed), noise=5e-4, outliers=0.5, n=300)
        for name, found in errors.items():
            result = bansac.estimate_essential(
                data[:2].T, data[2:].T, refinement=name, epipolar_error=epipolar_error, **settings
            )
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


def move(points, line, loss, tolerance, limit=np.inf, reach=2.0, max_steps=25):
    """Return whether the moved line is kept, and the run."""
    run = build_run(LINE, points.T, threshold=THRESHOLD, scoring="msac", local_optimization=None)
    run.best_model[:] = line
    run.progress["best_score"] = msac(points, line)
    scale = 0.5 if loss == CAUCHY else 1.0
    packed = pack_run(run)
    kept = move_best_model(
        packed, select_manifold(LINE), make_work(LINE), loss, scale, scale, reach, limit, max_steps, tolerance
    )
    return kept, run, mask_of(packed)


@pytest.mark.parametrize("loss", [TRUNCATED, CAUCHY])
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


def test_the_homography_has_no_higher_cauchy_cost_than_that_of_opencv_for_the_same_inliers():
    def cost(H, x1, x2):
        squares = homography.transfer_error(H, x1, x2)
        return np.log1p(squares[squares < 4] / 0.25).sum() + np.log1p(4 / 0.25) * (squares >= 4).sum()

    gains = []
    for seed in range(10):
        made = homography_matches(150, inlier_ratio=0.6, noise=0.4, seed=seed)
        result = bansac.estimate_homography(made.x1, made.x2, threshold=1.0, refinement="lm", scoring="msac")
        x1, x2 = made.x1[result.inliers], made.x2[result.inliers]
        best = cv2.findHomography(x1, x2, 0)[0]
        gains.append(cost(best, made.x1, made.x2) / cost(result.model, made.x1, made.x2) - 1)
    assert min(gains) > -1e-4
    assert max(gains) > 1e-4


def test_the_data_far_away_and_beyond_the_limit_do_not_count():
    points, line = blurred_line(0, 60)
    distances = line_distances(line, points)
    far = points[distances > 2 * THRESHOLD]
    near = points[distances < 2 * THRESHOLD]
    assert len(near) > 12
    _, of_all, _ = move(np.vstack([near, far]), line, CAUCHY, 1.0)
    _, of_near, _ = move(near, line, CAUCHY, 1.0)
    assert np.array_equal(of_all.best_model, of_near.best_model)
    _, of_ten, _ = move(np.vstack([near, far]), line, CAUCHY, 1.0, limit=10.0)
    _, of_first, _ = move(near[:10], line, CAUCHY, 1.0)
    assert np.array_equal(of_ten.best_model, of_first.best_model)
    assert not np.array_equal(of_ten.best_model, of_all.best_model)


def test_a_model_with_nothing_near_stays():
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    _, run, _ = move(points, np.array([1.0, 0.0, 50.0]), CAUCHY, 0.0)
    assert run.best_model.tolist() == [1.0, 0.0, 50.0]
    assert run.progress["best_inliers"] == 0
