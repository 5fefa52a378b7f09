"""Affine maps, similarities, translations and rigid motions of the plane and of space: known answers and plain fits.

The fit of a motion of space is tested with Umeyama's solver.
"""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

import bansac
from bansac.geometry import rotation_matrix
from bansac.maths.quaternion import matrix_of
from bansac.problems import similarity
from bansac.problems.affine import AFFINE
from bansac.problems.affine_3d import AFFINE_3D
from bansac.problems.motion_3d import RIGID_3D, SIMILARITY_3D
from bansac.problems.similarity import SIMILARITY
from bansac_lab.known_scenes import known_scene
from tests.problems.in_loop import fit_data, solve_sample

MOTIONS = [bansac.estimate_rigid_3d, bansac.estimate_similarity_3d]
motions = pytest.mark.parametrize("estimate", MOTIONS)
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


def solve(problem, x1, x2):
    """Return the matrix of a sample, or None."""
    models = solve_sample(problem, x1, x2)
    return models.reshape(problem.model_shape) if len(models) else None


def fit_affine(x1, x2, weights):
    """Weighted least squares, literally."""
    root = np.sqrt(weights)[:, None]
    return np.linalg.lstsq(root * np.column_stack([x1, np.ones(len(x1))]), root * x2, rcond=None)[0].T


def fit_similarity(x1, x2, weights):
    """Weighted least squares of x2 = a x1 + b in complex numbers."""
    z1, z2 = (x @ [[1], [1j]] for x in (x1, x2))
    ((a, b),) = fit_affine(z1, z2, weights)
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]])


FITS = {"affine": (AFFINE, fit_affine), "similarity": (SIMILARITY, fit_similarity), "3D": (AFFINE_3D, fit_affine)}


@pytest.mark.parametrize(("problem", "literal"), FITS.values(), ids=FITS)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_fit_is_the_weighted_least_squares(problem, literal, seed):
    rng = np.random.default_rng(seed)
    d = problem.channels // 2
    x1, matrix = rng.normal(size=(20, d)), rng.normal(size=(d, d))
    x2 = x1 @ matrix.T + rng.normal(size=d) + rng.choice([0.0, 0.3]) * rng.normal(size=x1.shape)
    weights = rng.uniform(0, 1, 20) * (rng.uniform(size=20) < 0.7)
    weights[:5] = 1.0
    found = fit_data(problem, weights, x1, x2).reshape(problem.model_shape)
    np.testing.assert_allclose(found, literal(x1, x2, weights), atol=1e-8)


@pytest.mark.parametrize("problem", [AFFINE, SIMILARITY], ids=lambda problem: problem.name)
def test_degenerate_samples_and_fits_give_nothing(problem):
    rng = np.random.default_rng(0)
    x, same = rng.normal(size=(2, problem.sample_size, 2))
    same[1:] = same[0]
    assert solve(problem, x, same) is None
    assert solve(problem, same, x) is None
    assert fit_data(problem, np.ones(5), np.ones((5, 4))) is None
    assert fit_data(problem, np.zeros(5), rng.normal(size=(5, 4))) is None


@pytest.mark.parametrize("first", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("second", [1e-5, 1.0, 1e5])
def test_the_limit_of_a_flat_triangle_does_not_depend_on_the_scales(first, second):
    triangle, flat = np.array([[0.0, 0], [3, 1], [1, 2]]), np.array([[0.0, 0], [1, 1e-7], [2, 0]])
    for x1, x2, found in ((triangle, triangle[::-1], True), (flat, triangle, False), (triangle, flat, False)):
        model = solve(AFFINE, first * x1, second * x2)
        assert (model is not None) == found
        if found:
            np.testing.assert_allclose(first * x1 @ model[:, :2].T + model[:, 2], second * x2, atol=1e-12 * second)


def test_points_on_a_line_determine_a_similarity_only():
    line = np.arange(3.0)[:, None] * [1, 1]
    assert solve(AFFINE, line, line) is None
    assert fit_data(AFFINE, np.ones(3), line, line) is None
    np.testing.assert_allclose(solve(SIMILARITY, line[:2], line[:2]), [[1, 0, 0], [0, 1, 0]], atol=1e-15)
    x = np.column_stack([np.arange(30.0) * 10, np.arange(30.0) * 5])
    assert bansac.estimate_similarity(x, 2 * x).success
    assert not bansac.estimate_affine(x, 2 * x).success


def test_a_similarity_of_scale_0_has_no_projection():
    assert not similarity.project(np.array([1.0, 0, 0, 0, -1, 0]), np.empty(0))


@pytest.mark.parametrize("first", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("second", [1e-4, 1.0, 1e4])
def test_a_tetrahedron_has_its_map_in_any_unit(first, second):
    x1 = first * (np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) + 2)
    x2 = second * np.array([[1.0, 2, 3], [3, 2, 3], [1, 5, 3], [0, 2, 4]])
    found = solve(AFFINE_3D, x1, x2)
    np.testing.assert_allclose(found[:, :3], second / first * np.array([[2.0, 0, -1], [0, 3, 0], [0, 0, 1]]), rtol=1e-9)
    np.testing.assert_allclose(x1 @ found[:, :3].T + found[:, 3], x2, rtol=1e-9, atol=1e-9 * second)


def test_points_on_a_plane_give_no_map_of_space():
    rng = np.random.default_rng(0)
    x, plane = rng.normal(size=(2, 10, 3))
    plane[:, 2] = plane[:, 0] - plane[:, 1]
    assert solve(AFFINE_3D, x[:4], plane[:4]) is None
    assert solve(AFFINE_3D, plane[:4], x[:4]) is None
    assert fit_data(AFFINE_3D, np.ones(10), plane, x) is None
    assert fit_data(AFFINE_3D, np.zeros(10), x, x) is None
    assert fit_data(AFFINE_3D, np.ones(5), np.ones((5, 6))) is None


@compiled
def test_points_on_a_plane_and_on_a_line_of_space_are_no_success():
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.01, (2, 50, 3))
    plane = rng.uniform(0, 10, (50, 3)) * [1, 1, 0]
    line = plane[:, :1] * [1, 2, 3]
    for x1, x2, message in (
        (plane + noise[0], 2 * plane + noise[1], "on a plane"),
        (plane, 2 * plane, "coplanar or contradictory data?"),
        (line + noise[0], line + noise[1], "on a line"),
    ):
        result = bansac.estimate_affine_3d(x1, x2, threshold=0.1, max_iterations=3000)
        assert not result.success
        assert message in result.message
    assert not bansac.estimate_affine_3d(*rng.uniform(0, 10, (2, 60, 3)), threshold=0.1).success


@pytest.mark.parametrize(("name", "problem"), [("rigid_3d", RIGID_3D), ("similarity_3d", SIMILARITY_3D)])
def test_a_sample_has_one_motion_or_none(name, problem):
    scene = known_scene(name, 3, 1.0, 0.0, seed=0)
    data = np.hstack(scene.arguments)
    (model,) = solve_sample(problem, data)
    np.testing.assert_allclose(matrix_of(model), scene.model, atol=1e-9)
    data[1] = 0.5 * (data[0] + data[2])
    assert len(solve_sample(problem, data)) == 0


@compiled
@motions
def test_a_reflection_is_no_motion(estimate):
    x1 = np.random.default_rng(1).uniform(0, 10, (60, 3))
    assert not estimate(x1, x1 * [1, 1, -1], threshold=0.05).success


@compiled
@motions
@pytest.mark.parametrize("shape", [(50, 50, 1), (50, 50, 5), (50, 50, 25), (2, 1, 0.5)])
def test_a_flat_cloud_with_heights_against_depths_is_mirrored(estimate, shape):
    rng = np.random.default_rng(0)
    x1, wrong = rng.uniform(-1, 1, (2, 500, 3)) * shape
    x2 = np.where(np.arange(500)[:, None] < 200, wrong, x1 * [1, 1, -1] + rng.normal(0, 1e-3 * shape[0], x1.shape))
    result = estimate(x1, x2)
    assert not result.success
    assert "mirrored" in result.message
    assert "larger than estimates allow" not in result.message
    assert estimate(x1, x2 * [1, 1, -1]).inliers[200:].mean() > 0.95


@pytest.mark.parametrize("are_last", [False, True])
def test_mirrored_matches_among_many_wrong_ones_are_named_in_any_order(are_last):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-25, 25, (400, 3))
        Y = X * [1, 1, -1] + rng.normal(0, 0.02, X.shape)
        Y[slice(0, 320) if are_last else slice(80, 400)] = rng.uniform(-25, 25, (320, 3))
        result = bansac.estimate_rigid_3d(X, Y)
        assert not result.success
        assert "mirrored" in result.message


@compiled
@motions
@pytest.mark.parametrize("height", [0.0, 0.001, 0.1])
@pytest.mark.parametrize("threshold", [None, 0.1])
def test_a_flat_cloud_is_not_mirrored_whatever_the_threshold(estimate, height, threshold):
    rng = np.random.default_rng(1)
    x1 = rng.uniform(-1, 1, (40, 3)) * [1, 1, height]
    x2 = x1[:, [1, 2, 0]] + rng.normal(0, 0.01, x1.shape)
    x2[:8] = rng.uniform(-1, 1, (8, 3))
    assert estimate(x1, x2, threshold=threshold).success


@compiled
def test_a_rigid_motion_of_two_units_names_the_similarity():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(-50, 50, (300, 3))
    x2 = 1000 * (x1[:, [1, 2, 0]] + rng.normal(0, 0.05, x1.shape))
    x2[:150] = rng.uniform(-5e4, 5e4, (150, 3))
    assert "estimate_similarity_3d finds a model with 1" in bansac.estimate_rigid_3d(x1, x2).message
    assert "similarity" not in bansac.estimate_rigid_3d(x1, rng.permutation(x2)).message


@compiled
@motions
def test_points_on_a_line_and_noise_are_no_success(estimate):
    rng = np.random.default_rng(2)
    line = np.linspace(0, 10, 50)[:, None] * [1, 2, 3] + rng.normal(0, 0.01, (50, 3))
    result = estimate(line, line @ rotation_matrix([0.3, -1.0, 0.5]).T, threshold=0.1)
    assert "lie on a line" in result.message
    assert not result.success
    x1, x2 = rng.uniform(0, 10, (2, 80, 3))
    assert not estimate(x1, x2, threshold=0.1).success


@compiled
@pytest.mark.parametrize("estimate", [*MOTIONS, bansac.estimate_affine_3d])
def test_matches_at_random_in_a_window_are_no_motion(estimate):
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 10, (200, 3))
    assert not estimate(x1, x1 + rng.uniform([1.4, -0.6, -0.6], [2.6, 0.6, 0.6], (200, 3))).success


@compiled
@pytest.mark.parametrize("estimate", [bansac.estimate_rigid_3d, bansac.estimate_similarity_3d])
def test_a_motion_of_few_points_is_found(estimate):
    rng, R = np.random.default_rng(0), rotation_matrix(np.array([0.4, -1.0, 0.7]))
    x1 = rng.uniform(-1, 1, (2000, 3))
    x2 = x1 @ R.T + rng.normal(0, 0.01, x1.shape)
    x2[100:] = rng.uniform(-1.5, 1.5, (1900, 3))
    result = estimate(x1, x2, seed=0)
    assert result.success
    assert np.abs(result.model[:, :3] - R).max() < 0.01


def test_the_message_names_a_threshold_for_noise_that_is_not_found():
    x1, x2 = known_scene("rigid_3d", 100, 0.4, 120.0, seed=0).arguments
    result = bansac.estimate_rigid_3d(x1, x2)
    assert not result.success
    threshold = float(re.search(r"with threshold=(\S+) a model has \d+ inliers", result.message)[1])
    assert bansac.estimate_rigid_3d(x1, x2, threshold=threshold).success
    assert "with threshold" not in bansac.estimate_rigid_3d(x1, np.random.default_rng(0).permutation(x2)).message
