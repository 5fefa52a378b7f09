"""The problem of the fundamental matrix: residuals, checks, and the way to normalised coordinates and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.problems.fundamental import FUNDAMENTAL
from tests.problems.in_loop import compile_residuals
from tests.reference import epipolar as reference

solve = kernel(FUNDAMENTAL.solve)
fit = kernel(FUNDAMENTAL.fit)
is_valid = kernel(FUNDAMENTAL.is_valid)
residuals = compile_residuals(FUNDAMENTAL.residuals)
seeds = st.integers(0, 2**32)


def solve_seven(data):
    models, scratch = np.empty((3, 9)), np.empty(FUNDAMENTAL.scratch_size)
    count = solve(data, np.arange(7), models, scratch)
    return models[:count].reshape(count, 3, 3)


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
