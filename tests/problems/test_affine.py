"""Affine maps and similarities against known answers and NumPy's least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bansac
from bansac.problems import affine, similarity
from bansac.problems.affine import AFFINE
from bansac.problems.similarity import SIMILARITY
from tests.problems.in_loop import compile_fit, compile_solve

seeds = st.integers(0, 2**32 - 1)
PROBLEMS = {AFFINE.name: (AFFINE, affine), SIMILARITY.name: (SIMILARITY, similarity)}
KERNELS = {name: (compile_solve(module.solve), compile_fit(module.fit)) for name, (_, module) in PROBLEMS.items()}
both = pytest.mark.parametrize("name", PROBLEMS)


def draw_model(name, rng):
    """Return a random matrix of the problem."""
    if name == AFFINE.name:
        return rng.normal(size=(2, 3))
    a, b = rng.normal(size=2)
    return np.array([[a, -b, rng.normal()], [b, a, rng.normal()]])


def make(name, rng, n, noise=0.0):
    """Return a model and matches that follow it, 4 x N."""
    model, x1 = draw_model(name, rng), rng.normal(size=(n, 2))
    x2 = x1 @ model[:, :2].T + model[:, 2] + rng.normal(0, 1, (n, 2)) * noise
    return model, np.ascontiguousarray(np.hstack([x1, x2]).T)


def solve(name, data, size):
    """Return the model of the first matches, or None."""
    models = np.full((1, 6), np.nan)
    found = KERNELS[name][0](np.ascontiguousarray(data, dtype=np.float64), np.arange(size), models, np.empty(0))
    return models[0].reshape(2, 3) if found else None


def fit(name, data, weights):
    """Return the model fitted to weighted matches, or None."""
    model = np.full(6, np.nan)
    return model.reshape(2, 3) if KERNELS[name][1](data, weights, model, np.empty(0)) else None


def reference_fit(name, data, weights):
    """Weighted least squares on the design matrix, literally."""
    x, y, s, t = data
    o, i = np.zeros_like(x), np.ones_like(x)
    if name == AFFINE.name:
        rows = np.vstack([np.column_stack([x, y, i, o, o, o]), np.column_stack([o, o, o, x, y, i])])
    else:
        rows = np.vstack([np.column_stack([x, -y, i, o]), np.column_stack([y, x, o, i])])
    root = np.sqrt(np.tile(weights, 2))
    found = np.linalg.lstsq(rows * root[:, None], np.concatenate([s, t]) * root, rcond=None)[0]
    if name == AFFINE.name:
        return found.reshape(2, 3)
    a, b, c, d = found
    return np.array([[a, -b, c], [b, a, d]])


@both
@settings(max_examples=30)
@given(seed=seeds)
def test_the_fit_of_exact_matches_is_the_true_map(name, seed):
    model, data = make(name, np.random.default_rng(seed), 30)
    np.testing.assert_allclose(fit(name, data, np.ones(30)), model, atol=1e-9)


@both
@settings(max_examples=30)
@given(seed=seeds)
def test_the_fit_is_the_weighted_least_squares(name, seed):
    rng = np.random.default_rng(seed)
    _, data = make(name, rng, 20, noise=0.3)
    weights = rng.uniform(0, 1, 20) * (rng.uniform(size=20) < 0.7)
    weights[:4] = 1.0
    np.testing.assert_allclose(fit(name, data, weights), reference_fit(name, data, weights), atol=1e-8)


@both
def test_degenerate_samples_and_fits_give_nothing(name):
    size = PROBLEMS[name][0].sample_size
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, size))
    for rows in ([0, 1], [2, 3]):  # coincident points in one image
        data = x.copy()
        data[rows, 1:] = data[rows, :1]
        assert solve(name, data, size) is None
    assert fit(name, np.ones((4, 5)), np.ones(5)) is None
    assert fit(name, rng.normal(size=(4, 5)), np.zeros(5)) is None


@pytest.mark.parametrize("first", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("second", [1e-5, 1.0, 1e5])
def test_the_limit_of_a_flat_triangle_does_not_depend_on_the_scales(first, second):
    triangle, flat = np.array([[0.0, 3, 1], [0, 1, 2]]), np.array([[0.0, 1, 2], [0, 1e-7, 0]])
    for x1, x2, found in ((triangle, triangle[:, ::-1], True), (flat, triangle, False), (triangle, flat, False)):
        model = solve(AFFINE.name, np.vstack([first * x1, second * x2]), 3)
        assert (model is not None) == found
        if found:
            np.testing.assert_allclose(first * model[:, :2] @ x1 + model[:, 2:], second * x2, atol=1e-12 * second)


def test_points_on_a_line_determine_a_similarity_only():
    line = np.vstack([np.arange(3.0)] * 4)
    assert solve(AFFINE.name, line, 3) is None
    assert fit(AFFINE.name, line, np.ones(3)) is None
    np.testing.assert_allclose(solve(SIMILARITY.name, line, 2), [[1, 0, 0], [0, 1, 0]], atol=1e-15)
    x = np.column_stack([np.arange(30.0) * 10, np.arange(30.0) * 5])
    assert bansac.estimate_similarity(x, 2 * x).success
    assert not bansac.estimate_affine(x, 2 * x).success


def test_a_similarity_of_scale_0_has_no_projection():
    assert not similarity.project(np.array([1.0, 0, 0, 0, -1, 0]), np.empty(0))
