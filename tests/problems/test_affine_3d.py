"""Affine maps of space and translations against known answers and NumPy's least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

import bansac
from bansac.compiled.jit import kernel
from bansac.problems import affine_3d
from bansac.problems.translation import TRANSLATION_2D, TRANSLATION_3D

seeds = st.integers(0, 2**32 - 1)
solve, fit = kernel(affine_3d.solve), kernel(affine_3d.fit)
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


def make(rng, n, noise=0.0):
    """Return a map and matches that follow it, 6 x N."""
    model, x1 = rng.normal(size=(3, 4)), rng.normal(size=(n, 3))
    x2 = x1 @ model[:, :3].T + model[:, 3] + noise * rng.normal(size=(n, 3))
    return model, np.ascontiguousarray(np.hstack([x1, x2]).T)


def solve_first(data):
    """Return the map of the first four matches, or None."""
    models = np.full((1, 12), np.nan)
    return models.reshape(3, 4) if solve(data, np.arange(4), models, np.empty(24)) else None


def fit_all(data, weights):
    """Return the map fitted to weighted matches, or None."""
    model = np.full(12, np.nan)
    return model.reshape(3, 4) if fit(data, weights, model, np.empty(24)) else None


@pytest.mark.parametrize("first", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("second", [1e-4, 1.0, 1e4])
def test_a_tetrahedron_has_its_map_in_any_unit(first, second):
    x1 = first * (np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) + 2)
    x2 = second * np.array([[1.0, 3, 1, 0], [2, 2, 5, 2], [3, 3, 3, 4]])
    found = solve_first(np.vstack([x1, x2]))
    np.testing.assert_allclose(found[:, :3], second / first * np.array([[2.0, 0, -1], [0, 3, 0], [0, 0, 1]]), rtol=1e-9)
    np.testing.assert_allclose(found[:, :3] @ x1 + found[:, 3:], x2, rtol=1e-9, atol=1e-9 * second)


@settings(max_examples=30)
@given(seed=seeds)
def test_the_fit_is_the_weighted_least_squares(seed):
    rng = np.random.default_rng(seed)
    _, data = make(rng, 20, noise=0.3)
    weights = rng.uniform(0, 1, 20) * (rng.uniform(size=20) < 0.7)
    weights[:5] = 1.0
    root = np.sqrt(weights)
    rows = np.vstack([data[:3], np.ones(20)]) * root
    expected = np.linalg.lstsq(rows.T, (data[3:] * root).T, rcond=None)[0].T
    np.testing.assert_allclose(fit_all(data, weights), expected, atol=1e-8)


def test_points_on_a_plane_give_no_map():
    rng = np.random.default_rng(0)
    for rows in ([0, 1, 2], [3, 4, 5]):
        _, data = make(rng, 4)
        data[rows[2]] = data[rows[0]] - data[rows[1]]
        assert solve_first(data) is None
    _, data = make(rng, 10)
    data[2] = data[0] - data[1]
    assert fit_all(data, np.ones(10)) is None
    assert fit_all(data, np.zeros(10)) is None
    assert fit_all(np.ones((6, 5)), np.ones(5)) is None


@compiled
def test_points_on_a_plane_on_a_line_and_noise_are_no_success():
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.01, (2, 50, 3))
    plane = rng.uniform(0, 10, (50, 3)) * [1, 1, 0]
    result = bansac.estimate_affine_3d(plane + noise[0], 2 * plane + noise[1], threshold=0.1)
    assert not result.success
    assert "on a plane" in result.message
    exact = bansac.estimate_affine_3d(plane, 2 * plane, threshold=0.1, max_iterations=100)
    assert "coplanar data?" in exact.message
    line = plane[:, :1] * [1, 2, 3]
    result = bansac.estimate_affine_3d(line + noise[0], line + noise[1], threshold=0.1)
    assert not result.success
    assert "on a line" in result.message
    assert not bansac.estimate_affine_3d(*rng.uniform(0, 10, (2, 60, 3)), threshold=0.1).success


@compiled
@pytest.mark.parametrize("problem", [TRANSLATION_2D, TRANSLATION_3D], ids=lambda problem: problem.name)
def test_the_translation_is_found_among_outliers(problem):
    rng = np.random.default_rng(4)
    d = problem.channels // 2
    x1 = rng.uniform(0, 500, (100, d))
    x2 = x1 + 5 + rng.normal(0, 0.5, x1.shape)
    x2[30:] = rng.uniform(0, 500, (70, d))
    result = bansac.ransac(problem, np.hstack([x1, x2]), threshold=3.0)
    assert result.success
    np.testing.assert_allclose(result.model, 5, atol=0.4)
    np.testing.assert_array_equal(result.inliers[:30], True)
    assert not bansac.ransac(problem, np.hstack([x1, x1[::-1]]), threshold=0.5).success
