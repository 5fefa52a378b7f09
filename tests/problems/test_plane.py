"""Planes of space against total least squares by SVD and known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

import bansac
from bansac.problems import plane
from bansac.problems.plane import PLANE
from tests.problems.in_loop import compile_fit, compile_solve
from tests.reference import space

seeds = st.integers(0, 2**32 - 1)
fit_plane = compile_fit(plane.fit)
solve_plane = compile_solve(plane.solve)
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


def fit(points, weights):
    """Return the plane fitted to points, or None."""
    model, scratch = np.empty(4), np.empty(PLANE.scratch_size)
    return model if fit_plane(np.ascontiguousarray(points.T), weights, model, scratch) else None


@settings(max_examples=30)
@given(seed=seeds)
def test_the_fit_is_total_least_squares(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * rng.uniform(0.1, 3, 3)
    weights = rng.uniform(size=12) * (rng.uniform(size=12) < 0.8)
    weights[:4] = 1.0
    expected, found = space.plane(points, weights), fit(points, weights)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-6)


def test_points_on_a_line_have_no_plane():
    line = np.arange(6.0)[:, None] * [1, 2, -1] + 3
    assert fit(line, np.ones(6)) is None
    assert fit(line, np.zeros(6)) is None
    assert solve_plane(np.ascontiguousarray(line.T), np.arange(3), np.empty((1, 4)), np.empty(0)) == 0
    spread = np.random.default_rng(0).normal(0, 0.01, (50, 3)) + np.linspace(0, 10, 50)[:, None] * [1, 2, -1]
    result = bansac.fit_plane(spread, threshold=0.1)
    assert not result.success
    assert "lie on a line" in result.message
