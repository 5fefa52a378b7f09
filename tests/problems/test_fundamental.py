"""The oriented epipolar constraint on the fundamental matrices of seven matches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.problems.fundamental import FUNDAMENTAL
from tests.problems.in_loop import solve_sample
from tests.reference import epipolar as reference

is_valid = kernel(FUNDAMENTAL.is_valid)
seeds = st.integers(0, 2**32)


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
