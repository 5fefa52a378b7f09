"""Absolute poses, also with an unknown focal length: frames, points behind the camera, and honest failure."""

import numpy as np
import pytest
from numba import config

import bansac
from bansac.problems import absolute_pose
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from tests.problems.test_every_problem import LITERAL, random_model
from tests.space_scenes import seen_points

K = np.array([[1000.0, 0, 640], [0, 1000, 480], [0, 0, 1]])
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


@pytest.mark.parametrize("far", [0, 40])
def test_normalised_points_have_median_0_and_unit_median_size_whatever_the_far_ones(far):
    rng = np.random.default_rng(4)
    data, transform = (
        rng.normal(size=(5, 101)) * [[1], [1], [2], [20], [5]] + [[0], [0], [100], [-50], [7]],
        np.empty(11),
    )
    data[2:, :far] += 1e6
    before = data.copy()
    absolute_pose.normalise(data, transform)
    np.testing.assert_array_equal(data[:2], before[:2])
    np.testing.assert_allclose(np.median(data[2:], axis=1), 0.0, atol=1e-9)
    assert np.sort(np.abs(data[2:]).ravel())[303 // 2] == pytest.approx(1.0)
    np.testing.assert_allclose(data[2:] / transform[1] + transform[2:5, None], before[2:], rtol=1e-12)
    assert transform[0] == 1.0


def test_points_behind_the_camera_are_no_inliers():
    X, x, R, t, _ = seen_points(K, 100, 1.0, 0.1)
    behind = -(X[:50] @ R.T + t)  # through the centre, to the other side
    X = np.concatenate([X, (behind - t) @ R])
    x = np.concatenate([x, x[:50]])
    result = bansac.estimate_absolute_pose(X, x, K)
    assert result.inliers[:100].all()
    assert not result.inliers[100:].any()
    assert np.isinf(result.residuals[100:]).all()


@compiled
@pytest.mark.parametrize("degenerate", ["collinear points", "collinear images", "one image"])
def test_what_determines_no_pose_is_no_success(degenerate):
    X, x, R, t, _ = seen_points(K, 60, 1.0, 0.2)
    if degenerate == "collinear points":
        X = (np.column_stack([np.linspace(-2, 2, 60), np.zeros(60), np.linspace(5, 9, 60)]) - t) @ R
        seen = (X @ R.T + t) @ K.T
        x = seen[:, :2] / seen[:, 2:]
    elif degenerate == "collinear images":
        x = np.linspace(0, 500, 60)[:, None] * [1.0, 0.5]
    else:
        x = np.full_like(x, 7.0)
    result = bansac.estimate_absolute_pose(X, x, K)
    assert not result.success
    assert result.message


def test_a_point_behind_a_camera_of_unknown_focal_length_has_no_derivatives():
    model = np.array([1.0, 0, 0, 0, 0, 0, 1, 2])
    data = np.array([[0.1, 0.1], [0.2, 0.2], [0, 0], [0, 0], [1, -3.0]])
    residuals, jacobian = np.empty((2, 2)), np.full((16, 2), np.nan)
    UNKNOWN_FOCAL_POSE.manifold[0](data, model, 0, 2, residuals, jacobian)
    assert residuals[:, 0] == pytest.approx([-0.1, -0.2])
    assert residuals[0, 1] > 1e5
    assert np.isfinite(jacobian).all()
    assert not jacobian[:, 1].any()


def test_the_significance_form_of_an_unknown_focal_length_has_image_points_and_projections():
    rng, name = np.random.default_rng(1), "absolute_pose, f unknown"
    model, data = random_model(name, rng), rng.normal(size=(5, 30))
    model[6] = 5.0
    problem, matches, identity = UNKNOWN_FOCAL_POSE.significance_form(data, model)
    assert problem.sample_size == UNKNOWN_FOCAL_POSE.sample_size
    np.testing.assert_allclose(matches[:2], data[:2], rtol=1e-12)
    np.testing.assert_allclose(problem.distances(matches, identity), LITERAL[name](model, data), rtol=1e-6)
