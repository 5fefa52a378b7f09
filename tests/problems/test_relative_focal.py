"""The manifold of an unknown focal length: essential matrices, and a range of focal lengths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems.test_every_problem import PROBLEMS, focal_model
from tests.reference import epipolar

names = pytest.mark.parametrize("name", ["one focal length", "shared focal length"])


@names
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), f=st.sampled_from([0.06, 0.5, 1.0, 40.0, 450.0]))
def test_an_essential_matrix_stays_whatever_the_focal_length(name, seed, f):
    problem, (_, model) = PROBLEMS[name], focal_model(name, np.random.default_rng(seed), f)
    same = model.copy()
    assert problem.manifold[2](same, np.empty(problem.scratch_size))
    assert same[9] == f
    assert epipolar.distance_up_to_scale(same[:9], model[:9]) < 1e-9


@names
def test_the_focal_length_moves_without_the_essential_matrix(name):
    problem, (E, model) = PROBLEMS[name], focal_model(name, np.random.default_rng(1), 2.0)
    basis = np.empty((6, 10))
    problem.manifold[1](model, basis)
    np.testing.assert_array_equal(basis[:, 9], [0, 0, 0, 0, 0, 2.0])
    moved = model + 1e-6 * basis[5]  # f grows by the factor 1 + 1e-6
    expected = (
        np.diag([1, 1, moved[9]]) @ E @ (np.diag([1, 1, moved[9]]) if name == "shared focal length" else np.eye(3))
    )
    np.testing.assert_allclose(moved[:9], expected.ravel(), atol=1e-11)
