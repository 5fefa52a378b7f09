"""The problem of the essential matrix: linear fit and canonical form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.problems.essential import ESSENTIAL
from tests.problems.in_loop import fit_data
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)


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
