"""Linear fit and canonical form of the essential matrix, and the oriented constraint on fundamental matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)
is_valid = kernel(FUNDAMENTAL.is_valid)


@given(seeds)
def test_fit_gives_the_nearest_essential_matrix_of_the_eight_point_solution(seed):
    rng = np.random.default_rng(seed)
    data, _, _ = reference.random_scene(rng, 60)
    data += rng.normal(0, 1e-3, data.shape)
    weights = rng.uniform(0.1, 1, 60) * (rng.uniform(size=60) < 0.7)
    model = fit_data(ESSENTIAL, weights, data.T)
    U, _, Vt = np.linalg.svd(reference.eight_point(data, weights))
    assert reference.distance_up_to_scale(model, U @ np.diag([1, 1, 0]) @ Vt) < 1e-5
    assert np.linalg.svd(model.reshape(3, 3))[1] == pytest.approx([1, 1, 0], abs=1e-9)


@given(seeds, st.floats(0.0, 1e-2))
def test_canonical_is_the_nearest_matrix_with_those_singular_values(seed, noise):
    rng = np.random.default_rng(seed)
    U, _, Vt = np.linalg.svd(rng.normal(size=(3, 3)))
    E = rng.uniform(0.01, 100) * (U @ np.diag([1, 1, 0]) @ Vt + noise * rng.normal(size=(3, 3)))
    model = E.ravel().copy()
    ESSENTIAL.canonical(model)
    U, _, Vt = np.linalg.svd(E)
    nearest = (U[:, :2] @ Vt[:2]).ravel()
    np.testing.assert_allclose(model, nearest * np.sign(model @ nearest), atol=1e-9)


def test_canonical_of_a_matrix_of_rank_one_is_finite():
    model = np.outer([1.0, 2.0, 3.0], [0.5, 0.0, 1.0]).ravel()
    ESSENTIAL.canonical(model)
    assert np.linalg.svd(model.reshape(3, 3))[1] == pytest.approx([1, 1, 0], abs=1e-12)


def test_fit_declines_fewer_than_eight_matches():
    data, _, _ = reference.random_scene(np.random.default_rng(6), 20)
    assert fit_data(ESSENTIAL, np.arange(20) < 7, data.T) is None


@given(seeds)
def test_the_oriented_constraint_agrees_with_its_definition(seed):
    rng = np.random.default_rng(seed)
    data = rng.uniform(-1, 1, (4, 7))
    for F in solve_sample(FUNDAMENTAL, data.T).reshape(-1, 3, 3):
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
