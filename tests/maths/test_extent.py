"""The box of points without far ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.maths.extent import GRID, UNIT, near_box
from tests.reference import loop_parts as reference


@given(st.integers(1, 300), st.integers(0, 2**31), st.sampled_from([GRID, UNIT]), st.sampled_from([1, 3, 9]))
def test_it_agrees_with_its_definition(n, seed, reach, power):
    data = np.random.default_rng(seed).normal(0, 1, (3, n)) ** power * [[1], [5], [1e-3]]
    np.testing.assert_array_equal(near_box(data, reach), reference.near_box(data, reach))


def test_ordinary_data_have_the_box_of_all():
    for seed in range(20):
        data = np.random.default_rng(seed).uniform(0, [[640], [480]], (2, 200))
        np.testing.assert_array_equal(near_box(data, GRID), [data.min(axis=1), data.max(axis=1)])


@pytest.mark.parametrize("far", [1, 3, 10])
@pytest.mark.parametrize("distance", [1e4, -1e6, 1e100])
def test_far_points_are_left_out(far, distance):
    data = np.random.default_rng(far).uniform(0, 500, (2, 100))
    data[:, :far] = distance
    near = data[:, far:]
    np.testing.assert_array_equal(near_box(data, GRID), [near.min(axis=1), near.max(axis=1)])


def test_a_value_that_most_points_share_makes_no_other_far():
    data = np.array([[2.0] * 90 + [3.0] * 10])
    assert near_box(data, GRID).tolist() == [[2.0], [3.0]]
