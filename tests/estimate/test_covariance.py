"""Covariances: closed forms, simulation, units, and the reasons why there is none."""

import dataclasses

import numpy as np
import pytest
from numba import config

import bansac
from bansac.estimate.covariance import _chart, _find, _reader
from bansac.geometry import apply_transform
from bansac.geometry.camera import Camera
from bansac.problems.affine import AFFINE
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.problems.plane import PLANE
from bansac.synthetic import epipolar_matches, homography_matches, planar_scene_matches, rotation_matches
from bansac_lab.families import awkward_scene
from tests.test_metamorphic import make_case

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")

SIGMA = 0.5


def within(found, expected, low, high):
    """Return whether all directions have a variance between ``low`` and ``high`` times the expected one."""
    ratios = np.linalg.eigvals(np.linalg.solve(expected, found)).real
    return low < ratios.min() and ratios.max() < high


def of_least_squares(J):
    return SIGMA**2 * np.linalg.inv(J.T @ J)


def points_of_line(rng, n=400):
    """Return points of a line through (320, 240) with the normal (-.6, .8)."""
    return [320, 240] + rng.uniform(-200, 200, (n, 1)) * [0.8, 0.6] + rng.normal(0, SIGMA, (n, 2))


def test_a_line_and_a_circle_have_the_covariance_of_their_closed_forms():
    rng = np.random.default_rng(1)
    points = points_of_line(rng)
    result = bansac.fit_line(points, threshold=1.3, seed=0)
    found = bansac.covariance("line", result, points)
    a, b, _ = result.model
    J = np.column_stack([points @ [-b, a], np.ones(len(points))])
    assert within(found.matrix, of_least_squares(J), 0.8, 1.6)
    np.testing.assert_allclose(found.basis, [[-b, a, 0], [0, 0, 1]])
    np.testing.assert_allclose(found.of_model, found.basis.T @ found.matrix @ found.basis)
    angle = rng.uniform(0, np.pi, 400)  # half of the circle
    points = 100 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, SIGMA, (400, 2))
    result = bansac.fit_circle(points, threshold=1.3, seed=0)
    J = np.column_stack([np.cos(angle), np.sin(angle), np.ones(400)])
    assert within(bansac.covariance("circle", result, points).matrix, of_least_squares(J), 0.8, 1.6)


def test_a_homography_has_the_covariance_of_its_closed_form():
    scene = homography_matches(400, 1.0, 0.0, seed=1)
    x1, H = scene.x1, scene.H
    x2 = apply_transform(H, x1) + np.random.default_rng(1).normal(0, SIGMA, (400, 2))
    result = bansac.estimate_homography(x1, x2, threshold=1.5, seed=0)
    step = 1e-6 * np.array([1, 1, 1e2, 1, 1, 1e2, 1e-3, 1e-3])
    moved = [apply_transform((H.ravel() + np.eye(9)[k] * step[k]).reshape(3, 3), x1) for k in range(8)]
    J = np.array([(at - apply_transform(H, x1)).ravel() / h for at, h in zip(moved, step, strict=True)]).T
    assert within(bansac.covariance("homography", result, x1, x2).matrix, of_least_squares(J), 0.6, 1.7)


def test_the_errors_of_lines_among_outliers_are_those_of_the_covariance():
    squares = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        points = np.concatenate([points_of_line(rng, 100), rng.uniform(0, 500, (100, 2))])
        result = bansac.fit_line(points, threshold=1.3, seed=seed)
        matrix, basis = bansac.covariance("line", result, points)
        error = basis @ (np.array([-0.6, 0.8, 0]) - result.model)
        error[1] = -([320, 240] @ np.array([-0.6, 0.8])) - result.model[2]
        squares.append(error @ np.linalg.solve(matrix, error))
    assert 0.6 < np.mean(squares) / 2 < 1.6
    assert np.mean(np.array(squares) < 5.99) > 0.8  # the 95 % quantile


def call(name):
    """Return the arguments of an estimator for 150 noisy points near its model."""
    case = make_case(name)
    case = case.select(case.inliers)
    return [*case.arrays, *case.arguments.values()]


@pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.name)
def test_the_parameters_of_every_estimator_move_its_model(row):
    """Models that are moved along the basis have the residuals of the problem's own models, moved by the chart."""
    arguments = call(row.name)
    result = row.load_function()(*arguments, threshold=1.5, seed=0)
    found = bansac.covariance(row.name, result, *arguments)
    assert np.linalg.eigvalsh(found.matrix).min() > 0
    np.testing.assert_allclose(found.matrix, bansac.covariance(row.load_function(), result, *arguments).matrix)
    name, problem = _find(row.name, result)
    data, *_ = _reader(name, problem)(problem, *arguments)
    chart = _chart(name, problem, result.model, data)
    assert chart.basis.shape == (len(found.matrix), sum(np.size(part) for part in result.model))
    still = problem.distances(chart.data, chart.model)
    for along, direction, sigma in zip(chart.basis, chart.directions, np.sqrt(np.diag(found.matrix)), strict=True):
        h = 1e-3 * sigma
        if row.name.endswith("pose"):
            R, t = result.model
            moved = type(result.model)(R + h * along[:9].reshape(3, 3), t + h * along[9:])
        else:
            moved = result.model + h * along.reshape(result.model.shape)
        other = _chart(name, problem, moved, data)
        expected = problem.distances(other.data, other.model)
        assert np.abs(expected - still).max() > 0
        change = problem.distances(chart.data, chart.model + h * direction)
        np.testing.assert_allclose(change, expected, rtol=0, atol=1e-3 * np.abs(expected - still).max())


def test_the_covariance_has_the_unit_of_the_points():
    scene = epipolar_matches(200, 0.8, SIGMA, 2)
    S = np.diag([10.0, 10, 1])
    first = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.3, seed=0)
    second = bansac.estimate_relative_pose(10 * scene.x1, 10 * scene.x2, S @ scene.K, threshold=13.0, seed=0)
    found = bansac.covariance("relative_pose", first, scene.x1, scene.x2, K1=scene.K)
    scaled = bansac.covariance("relative_pose", second, 10 * scene.x1, 10 * scene.x2, S @ scene.K, S @ scene.K)
    np.testing.assert_allclose(found.of_model, scaled.of_model, rtol=1e-3, atol=1e-12)
    points = points_of_line(np.random.default_rng(0))
    small, large = (bansac.fit_line(s * points, threshold=1.3 * s, seed=0) for s in (1, 10))
    scale = np.outer([1, 10], [1, 10])
    found, scaled = bansac.covariance("line", small, points), bansac.covariance("line", large, 10 * points)
    np.testing.assert_allclose(scale * found.matrix, scaled.matrix, rtol=1e-3)


@pytest.mark.parametrize("name", ["absolute_pose", "relative_pose", "essential"])
def test_a_lens_with_distortion_has_nearly_the_covariance_of_a_pinhole(name):
    first, second, K, *_ = call(name)
    pinhole, lens = (Camera.from_matrix(K, distortion) for distortion in (None, [-0.1, 0.02, 0, 0]))
    assert lens.is_distorted
    distort = [lens.project(pinhole.unproject(x)) if x.shape[1] == 2 else x for x in (first, second)]
    spreads = []
    for arguments in ((first, second, pinhole), (*distort, lens)):
        result = getattr(bansac, f"estimate_{name}")(*arguments, threshold=1.5, seed=0)
        spreads.append(bansac.covariance(name, result, *arguments).of_model)
    assert 0.5 < np.trace(spreads[1]) / np.trace(spreads[0]) < 2


def test_the_residuals_may_be_those_of_another_error_and_unit():
    scene = epipolar_matches(200, 0.8, SIGMA, 2)
    x1, x2, K = scene.x1, scene.x2, scene.K
    found = [
        bansac.covariance("essential", bansac.estimate_essential(x1, x2, K, seed=0, **chosen), x1, x2, K).of_model
        for chosen in ({}, {"preset": "paper", "threshold": 0.003})
    ]
    assert 0.5 < np.trace(found[1]) / np.trace(found[0]) < 2


def test_a_problem_of_ones_own_has_the_covariance_of_its_tangent():
    x1, x2 = call("affine")
    result = bansac.ransac(AFFINE, np.column_stack([x1, x2]), threshold=1.5, seed=0)
    found = bansac.covariance(AFFINE, result, np.column_stack([x1, x2]))
    np.testing.assert_allclose(found.matrix, bansac.covariance("affine", result, x1, x2).matrix)
    for name, problem in (("line", LINE), ("plane", PLANE)):  # dependent numbers, without ``tangent``
        (points,) = call(name)
        result = bansac.ransac(problem, points, seed=0)
        found = bansac.covariance(problem, result, points)
        np.testing.assert_allclose(found.of_model, bansac.covariance(name, result, points).of_model, rtol=1e-5)
    with pytest.raises(ValueError, match="has no derivatives: it needs linearize"):
        bansac.covariance(dataclasses.replace(AFFINE, linearize=None), result, x1)


def test_errors_name_the_reason():
    x1, x2, K, _ = call("relative_pose")
    result = bansac.estimate_relative_pose(x1, x2, K, seed=0)
    affine, lines = bansac.estimate_affine(x1, x1, threshold=1.0), bansac.estimate_multiple("line", x1)
    failed = bansac.estimate_homography(x1[:5], x2[:5], seed=0)
    matrix = r"must be an array of shape \(3, 3\), got"
    for arguments, message in (
        (("relative_pose", result, x1, x2, K + np.diag([9.0, 9, 0])), "the data are not those of the result"),
        (("relative_pose", result, x1[1:], x2[1:], K), "the result is of 150 points, and the data are 149"),
        (("pose", result, x1, x2), r"problem must be one of 'homography'.* got 'pose'"),
        (("homography", result, x1, x2), f"not of homography: its model {matrix} RelativePose"),
        (("absolute_pose", result, x1, x2), "not of absolute_pose: .* of type AbsolutePose, got RelativePose"),
        (("homography", affine, x1, x1), rf"{matrix} shape \(2, 3\)"),
        (("homography", failed, x1[:5], x2[:5]), "the result has no success"),
    ):
        with pytest.raises(ValueError, match=message):
            bansac.covariance(*arguments)
    for data, cameras, message in (
        ((x1, x2), {"K3": K}, "K3"),
        ((x1,), {}, "x2"),
        ((x1, x2, K, K, K, K, K), {}, "too many"),
    ):
        with pytest.raises(
            TypeError, match=f"the data of relative_pose are x1, x2, K1, K2, depth1, depth2: .*{message}"
        ):
            bansac.covariance("relative_pose", result, *data, **cameras)
    with pytest.raises(TypeError, match=r"result must be a bansac\.Result, got MultipleResult"):
        bansac.covariance("line", lines, x1)


def test_models_that_the_inliers_do_not_determine_have_no_covariance():
    plane, turn = planar_scene_matches(200, 1.0, 1.0, 0.1, 1), rotation_matches(200, 1.0, 0.1, 1)
    for name, scene, cameras in (("fundamental", plane, ()), ("relative_pose", turn, (turn.K,))):
        result = getattr(bansac, f"estimate_{name}")(scene.x1, scene.x2, *cameras, seed=0)
        with pytest.raises(ValueError, match="the inliers do not determine the model"):
            bansac.covariance(name, result, scene.x1, scene.x2, *cameras)
    line = call("line")[0]
    result = bansac.fit_line(line, threshold=1.5, seed=0)
    few = dataclasses.replace(result, inliers=result.inliers[:2], residuals=result.residuals[:2])
    with pytest.raises(ValueError, match="2 inliers for 2 parameters"):
        bansac.covariance("line", few, line[:2])
    one = dataclasses.replace(result, inliers=np.full(150, True), residuals=np.full(150, result.residuals[0]))
    with pytest.raises(ValueError, match="leaves their residuals as they are"):
        bansac.covariance("line", one, np.tile(line[:1], (150, 1)))


def arc(share, seed, n=200):
    """Return points of a share of an ellipse."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi * share, n)
    return np.column_stack([500 + 300 * np.cos(t), 450 + 180 * np.sin(t)]) + rng.normal(0, SIGMA, (n, 2))


def test_a_threshold_that_is_small_for_the_noise_is_a_doubt():
    scene = homography_matches(500, 0.7, noise=1.0, seed=1)
    doubts = []
    for threshold in (1.0, 3.0):
        result = bansac.estimate_homography(scene.x1, scene.x2, threshold=threshold, seed=0)
        doubts.append(bansac.covariance("homography", result, scene.x1, scene.x2).doubt)
    assert doubts[0].startswith("the threshold of 1 is small for the noise, which needs 2.")
    assert doubts[1] == ""


def test_chance_inliers_with_much_of_the_information_are_a_doubt():
    """Far points of a line are no doubt without outliers, and one among many outliers near it."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.append(np.linspace(-10, 10, 97), [-500, 400, 500]), rng.normal(0, 0.1, 100)])
    near = np.concatenate([x[:97], rng.uniform([-500, -5], [500, 5], (97, 2))])
    doubts = [bansac.covariance("line", bansac.fit_line(some, threshold=0.3), some).doubt for some in (x, near)]
    assert doubts[0] == ""
    assert "chance inliers may hold" in doubts[1]


@pytest.mark.parametrize("name", ["homography", "relative_pose", "absolute_pose"])
def test_matches_that_share_a_point_count_once(name):
    """Three times the same matches, or three detections of each point, have nearly the covariance of the matches."""
    first, second, *others = call(name)
    spreads = []
    for times, own in ((1, 0.0), (3, 0.0), (3, 0.05)):
        rng = np.random.default_rng(0)
        moved = [np.tile(x, (times, 1)) for x in (first, second)]
        pixels = moved[1]  # those of image 2
        pixels += rng.normal(0, own, pixels.shape)
        result = getattr(bansac, f"estimate_{name}")(*moved, *others, threshold=1.5, seed=0)
        spreads.append(np.trace(bansac.covariance(name, result, *moved, *others).of_model))
    assert 0.7 < spreads[1] / spreads[0] < 1.4
    assert 0.7 < spreads[2] / spreads[0] < 1.4


def test_doubts_are_few_inliers_and_short_arcs():
    few, short, half = arc(1.0, 0, n=30), arc(0.15, 0), arc(0.5, 0)
    doubts = [bansac.covariance("ellipse", bansac.fit_ellipse(x, seed=0), x).doubt for x in (few, short, half)]
    assert doubts[0] == "29 independent errors of inliers are few for 5 parameters"  # two points are near each other
    assert doubts[1:] == ["the residuals are not linear within two standard deviations", ""]
    found = bansac.covariance("ellipse", bansac.fit_ellipse(short, seed=0), short)
    assert repr(found).startswith("Covariance(standard deviations [")
    assert repr(found).endswith(f"], doubt {doubts[1]!r})")
    assert [part.shape for part in found] == [(5, 5), (5, 5)]


def test_chance_inliers_of_forward_motion_are_no_information():
    inside = []
    for seed in range(40):
        scene = awkward_scene("forward", "E", 300, 0.5, seed=seed)
        result = bansac.estimate_relative_pose(*scene.arguments, seed=seed)
        matrix, basis = bansac.covariance("relative_pose", result, *scene.arguments)
        true = np.append(scene.matches.R, scene.matches.t / np.linalg.norm(scene.matches.t))
        error = np.linalg.lstsq(basis.T, true - np.concatenate([np.ravel(part) for part in result.model]), rcond=None)[
            0
        ]
        inside.append(error @ np.linalg.solve(matrix, error) < 11.07)  # the 95 % quantile
    assert np.mean(inside) > 0.85


def test_rounded_points_of_a_line_have_the_variance_of_the_rounding():
    points = np.round(points_of_line(np.random.default_rng(0)) * [1, 0] / 4) * 4  # exactly on y = 0
    result = bansac.fit_line(points, threshold=1.0, seed=0)
    found = bansac.covariance("line", result, points)
    J = np.column_stack([points[:, 0] * -result.model[1], np.ones(400)])
    assert within(found.matrix, 4**2 / 12 * np.linalg.inv(J.T @ J), 0.9, 1.1)
