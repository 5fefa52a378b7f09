"""Planes of space against total least squares by SVD and known answers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bansac
from bansac.problems.plane import PLANE
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import space


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_fit_is_total_least_squares(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * rng.uniform(0.1, 3, 3)
    weights = rng.uniform(size=12) * (rng.uniform(size=12) < 0.8)
    weights[:4] = 1.0
    expected, found = space.plane(points, weights), fit_data(PLANE, weights, points)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-6)


def test_points_on_a_line_have_no_plane():
    line = np.arange(6.0)[:, None] * [1, 2, -1] + 3
    assert fit_data(PLANE, np.ones(6), line) is None
    assert fit_data(PLANE, np.zeros(6), line) is None
    assert len(solve_sample(PLANE, line[:3])) == 0
    spread = np.random.default_rng(0).normal(0, 0.01, (50, 3)) + np.linspace(0, 10, 50)[:, None] * [1, 2, -1]
    result = bansac.fit_plane(spread, threshold=0.1)
    assert not result.success
    assert "lie on a line" in result.message
