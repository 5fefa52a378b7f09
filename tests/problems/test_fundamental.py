"""Fundamental matrix: minimal and non-minimal solver, residuals, checks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.numeric.jit import kernel
from bansac.problems.fundamental import FUNDAMENTAL
from tests.reference import epipolar as reference

solve = kernel(FUNDAMENTAL.solve)
fit = kernel(FUNDAMENTAL.fit)
is_valid = kernel(FUNDAMENTAL.is_valid)
seeds = st.integers(0, 2**32)


def solve_seven(data):
    models, scratch = np.empty((3, 9)), np.empty(FUNDAMENTAL.scratch_size)
    count = solve(data, np.arange(7), models, scratch)
    return models[:count].reshape(count, 3, 3)


def test_seven_points_give_the_truth_among_the_models():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        data, R, t = reference.random_scene(rng, 7)
        models = solve_seven(data)
        found += any(reference.distance_up_to_scale(F, reference.cross_matrix(t) @ R) < 1e-6 for F in models)
    assert found >= 998


@given(seeds)
def test_every_model_has_rank_two_and_agrees_with_its_sample(seed):
    data = np.random.default_rng(seed).uniform(-1, 1, (4, 7))
    models = solve_seven(data)
    assert len(models) in (1, 3)
    for F in models:
        assert np.linalg.norm(F) == pytest.approx(1)
        singular_values = np.linalg.svd(F)[1]
        assert singular_values[2] < 1e-7
        x1, x2 = reference.homogeneous(data)
        assert np.abs(np.einsum("in,ij,jn->n", x2, F, x1)).max() < 1e-7


def test_a_degenerate_sample_has_no_model():
    assert len(solve_seven(np.zeros((4, 7)))) == 0
    same = np.tile(np.array([[0.1], [0.2], [0.3], [0.4]]), (1, 7))
    assert len(solve_seven(same)) == 0


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-3)])
@given(seed=seeds)
def test_residuals_are_squared_sampson_distances(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    data, F = rng.uniform(-1, 1, (4, 37)), rng.normal(size=(3, 3))
    out = np.empty(30, dtype)
    residuals = kernel(FUNDAMENTAL.residuals)
    residuals(data.astype(dtype), F.ravel().astype(dtype), 5, 35, out)
    expected = reference.sampson(data, F)[5:35]
    assert np.sqrt(out) == pytest.approx(np.sqrt(expected), rel=tolerance, abs=tolerance)


def test_a_point_on_both_epipoles_is_no_inlier():
    F = np.array([[0, -1.0, 0], [1, 0, 0], [0, 0, 0]])  # pure forward motion, epipoles at the origin
    out = np.empty(1)
    kernel(FUNDAMENTAL.residuals)(np.zeros((4, 1)), F.ravel(), 0, 1, out)
    assert not out[0] <= 1e300


@given(seeds)
def test_the_oriented_constraint_agrees_with_its_definition(seed):
    rng = np.random.default_rng(seed)
    data = rng.uniform(-1, 1, (4, 7))
    for F in solve_seven(data):
        x1, x2 = reference.homogeneous(data)
        epipole = np.linalg.svd(F.T)[2][2]
        forms = np.abs(np.einsum("in,in->n", np.cross(epipole, x2.T).T, F @ x1))
        if forms.min() > 1e-9:  # else the sign of a form is rounding
            assert is_valid(data, F.ravel(), np.arange(7)) == reference.is_oriented(data, F)


@given(seeds)
def test_the_oriented_constraint_keeps_the_truth(seed):
    data, R, t = reference.random_scene(np.random.default_rng(seed), 7)
    F = reference.cross_matrix(t) @ R
    assert is_valid(data, F.ravel(), np.arange(7))
    assert is_valid(data, -F.ravel(), np.arange(7))


@given(seeds)
def test_fit_is_the_eight_point_algorithm_with_rank_two(seed):
    rng = np.random.default_rng(seed)
    data, _, _ = reference.random_scene(rng, 40)
    data += rng.normal(0, 1e-3, data.shape)
    weights = rng.uniform(0.1, 1, 40) * (rng.uniform(size=40) < 0.8)
    model = np.empty(9)
    assert fit(data, weights, model, np.empty(FUNDAMENTAL.scratch_size))
    U, s, Vt = np.linalg.svd(reference.eight_point(data, weights))
    expected = U @ np.diag([s[0], s[1], 0]) @ Vt
    assert reference.distance_up_to_scale(model, expected) < 1e-6


def test_fit_declines_fewer_than_eight_matches_and_coincident_ones():
    model = np.full(9, 7.0)
    scratch = np.empty(FUNDAMENTAL.scratch_size)
    weights = np.zeros(20)
    weights[:7] = 1
    assert not fit(np.random.default_rng(0).uniform(-1, 1, (4, 20)), weights, model, scratch)
    assert not fit(np.ones((4, 20)), np.ones(20), model, scratch)
    assert (model == 7).all()


def test_normalised_coordinates_and_back_at_map_coordinates():
    rng = np.random.default_rng(3)
    data, R, t = reference.random_scene(rng, 50)
    K = np.array([[800.0, 0, 1e6], [0, 800, 2e6], [0, 0, 1]])
    pixels = data * 800 + np.array([[1e6], [2e6], [1e6], [2e6]])
    normalised, transform = pixels.copy(), np.empty(9)
    FUNDAMENTAL.normalize(normalised, transform)
    assert normalised.mean(axis=1) == pytest.approx(0, abs=1e-9)
    assert normalised / transform[0] + transform[1:5, None] == pytest.approx(pixels)
    model = np.empty(9)
    assert fit(normalised, np.ones(50), model, np.empty(FUNDAMENTAL.scratch_size))
    FUNDAMENTAL.denormalize(model, transform)
    FUNDAMENTAL.canonical(model)
    assert np.linalg.norm(model) == pytest.approx(1)
    E = K.T @ model.reshape(3, 3) @ K
    assert reference.distance_up_to_scale(E, reference.cross_matrix(t) @ R) < 1e-3
    assert reference.sampson(pixels, model.reshape(3, 3)).max() < 1e-6


def test_normalise_survives_coincident_points():
    data, transform = np.full((4, 10), 3.0), np.empty(9)
    FUNDAMENTAL.normalize(data, transform)
    assert transform[0] == 1
    assert (data == 0).all()


def test_fit_declines_the_matches_of_a_plane():
    x = np.random.default_rng(5).uniform(-1, 1, (2, 30))
    H = np.array([[1.1, 0.1, 0.2], [-0.1, 0.9, 0.1], [0.05, 0.1, 1.0]])
    mapped = H @ np.vstack([x, np.ones(30)])
    model = np.full(9, 7.0)
    data = np.vstack([x, mapped[:2] / mapped[2]])
    assert not fit(data, np.ones(30), model, np.empty(FUNDAMENTAL.scratch_size))
    assert (model == 7).all()


def test_canonical_sign_does_not_hang_on_rounding():
    for epsilon in (1e-15, -1e-15):
        F = np.array([[0, -1 - epsilon, 0.4], [1, 0, 0], [-0.4, 0, 0]])
        for sign in (1, -1):
            model = sign * F.ravel()
            FUNDAMENTAL.canonical(model)
            assert model[1] > 0
    zero = np.zeros(9)
    FUNDAMENTAL.canonical(zero)
    assert (zero == 0).all()
