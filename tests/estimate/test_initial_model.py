"""An initial model: no other result than the search's, in less iterations; a wrong one has no effect."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.cli.compile_ahead import _data
from bansac.geometry import apply_transform
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from bansac_lab.metrics import corner_error
from tests.results import assert_same
from tests.space_scenes import seen_points

DATA = _data()
SCENE = homography_matches(400, inlier_ratio=0.5, noise=0.5, seed=3)
VIEWS = epipolar_matches(300, inlier_ratio=0.6, noise=0.3, seed=3)
UNKNOWN = bansac.Camera.unknown_focal(640, 480)
CALLS = [row for row in ESTIMATORS if row.warm is not None]


def homography(**settings):
    return bansac.estimate_homography(SCENE.x1, SCENE.x2, **settings)


def pose(**settings):
    return bansac.estimate_relative_pose(VIEWS.x1, VIEWS.x2, VIEWS.K, **settings)


def focal_pose(**settings):
    return bansac.estimate_relative_pose(VIEWS.x1, VIEWS.x2, UNKNOWN, **settings)


def camera_pose(**settings):
    camera = bansac.Camera.unknown_focal(1280, 960)
    X, x, *_ = seen_points(camera.with_focal(1100.0).K, 150)
    return bansac.estimate_absolute_pose(X, x, camera, **settings)


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.name)
def test_result_as_initial_model_gives_the_same_result(row):
    function, data = row.load_function(), DATA[row.warm]
    cold = function(**data, max_iterations=300)
    warm = function(**data, max_iterations=300, initial_model=cold.model)
    assert (warm.success, warm.configuration) == (cold.success, cold.configuration)
    assert warm.restarts <= cold.restarts
    assert np.mean(warm.inliers == cold.inliers) > 0.9


def test_search_ends_after_a_short_restart_that_leads_to_the_initial_model():
    cold = homography()
    shifted = cold.model + np.array([[0, 0, 6.0], [0, 0, -4.0], [0, 0, 0]])
    for initial in (cold.model, 2.0 * cold.model, shifted):
        warm = homography(initial_model=initial)
        assert warm.success
        assert (warm.restarts, warm.stop_reason) == (1, "agreement")
        assert warm.iterations < 0.6 * cold.iterations
        size = 640, 480
        assert corner_error(warm.model, SCENE.H, size) <= 1.1 * corner_error(cold.model, SCENE.H, size)
    assert_same(warm, homography(initial_model=shifted))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 3)),
        np.outer([1.0, 2, 3], [3.0, 2, 1]),
        np.random.default_rng(0).normal(size=(3, 3)),
        np.diag([1e90, 1e90, 1e-90]),
        np.array([[1.0, 0, 5000], [0, 1, 5000], [0, 0, 1]]),
    ],
    ids=["zero", "rank 1", "random", "huge", "far"],
)
def test_wrong_initial_model_has_no_effect(wrong):
    assert_same(homography(initial_model=wrong), homography())
    assert_same(homography(initial_model=wrong, threshold=1.5), homography(threshold=1.5))


@pytest.mark.parametrize(
    ("name", "data", "wrong"),
    [
        ("fit_line", "points", [0.0, 0, 0]),
        ("fit_ellipse", "points", [0.0, 0, -1, 0, 0]),
        ("fit_circle", "points", [1e6, 1e6, 0]),
        ("estimate_absolute_pose", "projections", (np.zeros((3, 3)), [0.0, 0, 0])),
        ("estimate_relative_pose", "normalised scene", (np.eye(3), [0.0, 0, 0])),
    ],
)
def test_degenerate_initial_model_has_no_effect(name, data, wrong):
    if data not in DATA:
        data = next(row.warm for row in ESTIMATORS if row.function == name)
    function = getattr(bansac, name)
    cold = function(**DATA[data], max_iterations=100)
    warm = function(**DATA[data], max_iterations=100, initial_model=wrong)
    assert np.array_equal(warm.residuals, cold.residuals)
    assert (warm.iterations, warm.message) == (cold.iterations, cold.message)


@pytest.mark.parametrize(
    ("estimate", "wrong", "message"),
    [
        (homography, np.eye(4), r"initial_model must have shape \(3, 3\), got \(4, 4\)"),
        (homography, np.full((3, 3), np.nan), "initial_model must be finite"),
        (homography, np.full((3, 3), 1e200), "initial_model must not exceed"),
        (homography, "text", "initial_model must be an array of real numbers"),
        (pose, np.eye(3), "initial_model must be a pose or a pair"),
        (pose, (np.eye(2), np.ones(3)), "R of initial_model must have shape"),
        (pose, (np.eye(3), [0, np.inf, 0]), "t of initial_model must be finite"),
        (focal_pose, (np.eye(3), np.ones(3)), "initial_model needs known focal lengths"),
        (camera_pose, (np.eye(3), np.ones(3)), "initial_model needs known focal lengths"),
    ],
)
def test_malformed_initial_model_is_refused(estimate, wrong, message):
    with pytest.raises(ValueError, match=message):
        estimate(initial_model=wrong)


@pytest.mark.parametrize("settings", [{"threshold": 1.5}, {"preset": "fast"}, {"preset": "paper"}], ids=str)
def test_initial_model_with_other_options(settings):
    cold = homography(**settings)
    warm = homography(initial_model=SCENE.H, **settings)
    assert warm.success
    assert warm.threshold == cold.threshold or "preset" in settings
    assert warm.iterations <= 1.1 * cold.iterations
    assert warm.num_inliers >= 0.95 * cold.num_inliers


def test_limits_hold_with_an_initial_model():
    few = homography(initial_model=SCENE.H, max_iterations=10)
    assert few.iterations == 10
    assert few.success
    many = homography(initial_model=SCENE.H, min_iterations=400)
    assert many.iterations >= 400


def test_model_of_a_smaller_structure_does_not_win():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 500, (300, 2))
    large, small = np.array([[1.0, 0, 30], [0, 1, 5], [0, 0, 1]]), np.array([[1.0, 0.1, -60], [-0.1, 1, 20], [0, 0, 1]])
    moved = np.vstack(
        [apply_transform(large, x[:160]), apply_transform(small, x[160:220]), rng.uniform(0, 500, (80, 2))]
    )
    moved += rng.normal(0, 0.3, moved.shape)
    cold, warm = (bansac.estimate_homography(x, moved, **more) for more in ({}, {"initial_model": small}))
    assert np.count_nonzero(warm.inliers[:160]) > 150
    assert np.mean(warm.inliers == cold.inliers) > 0.95


def frames(cut, occluded):
    """Return the matches of a plane and a slowly moving camera: point tracks, half of them outliers."""
    rng = np.random.default_rng(8)
    x, outlier = rng.uniform(0, 500, (400, 2)), rng.uniform(size=400) < 0.5
    for k in range(8):
        if k == cut:
            x, outlier = rng.uniform(0, 500, (400, 2)), rng.uniform(size=400) < 0.5
        angle = 0.01 * k + (1.0 if k >= cut else 0.0)
        H = np.array(
            [[np.cos(angle), -np.sin(angle), 4.0 * k], [np.sin(angle), np.cos(angle), -3.0 * k], [1e-5 * k, 0, 1]]
        )
        hidden = outlier | (rng.uniform(size=400) < 0.7) & (k in occluded)
        y = np.where(hidden[:, None], rng.uniform(0, 500, (400, 2)), apply_transform(H, x)) + rng.normal(
            0, 0.5, (400, 2)
        )
        yield x, y, H


def test_track_recovers_from_a_cut_and_an_occlusion():
    last, size = None, (500, 500)
    for k, (x, y, H) in enumerate(frames(cut=3, occluded=(5, 6))):
        cold = bansac.estimate_homography(x, y)
        warm = bansac.estimate_homography(x, y, initial_model=last)
        errors = [corner_error(result.model, H, size) for result in (cold, warm)]
        assert errors[1] <= max(1.2 * errors[0], 1.0), k
        assert warm.success
        if k == 3:
            assert_same(warm, cold)
        elif k > 0:
            assert warm.iterations < cold.iterations
        last = warm.model


def test_problem_with_its_own_frame_needs_normalise_model():
    def normalise(data, transform):
        data *= 0.5
        transform[0] = 0.5

    def denormalise(model, transform):
        model[2] /= transform[0]

    def normalise_model(model, transform):
        model[2] *= transform[0]

    points = line_points(200, inlier_ratio=0.5, noise=0.01, seed=1).points
    own = dataclasses.replace(LINE, normalise=normalise, denormalise=denormalise, normalise_model=None)
    model = bansac.ransac(LINE, points).model
    with pytest.raises(ValueError, match="initial_model needs normalise_model, which problem 'line' does not define"):
        bansac.ransac(own, points, initial_model=model)
    complete = dataclasses.replace(own, normalise_model=normalise_model)
    assert bansac.ransac(complete, points, initial_model=model).restarts == 1
