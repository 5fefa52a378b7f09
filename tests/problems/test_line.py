"""Lines against known answers and an SVD."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.problems import line
from tests.problems.in_loop import compile_fit, compile_residuals, compile_solve
from tests.problems.points import columns, fit_points, squared_distances
from tests.reference import curves as reference

solve = compile_solve(line.solve)
residuals = compile_residuals(line.residuals)
fit = compile_fit(line.fit)

seeds = st.integers(0, 2**32 - 1)


def solve_points(points):
    """Return the canonical line through two points, or None."""
    models = np.empty((1, 3))
    if not solve(columns(points), np.arange(2), models, np.empty(0)):
        return None
    line.canonical(models[0])
    return models[0]


def fit_line(points, weights):
    """Return the canonical line fitted to weighted points, or None."""
    model = fit_points(fit, points, weights, 3)
    if model is not None:
        line.canonical(model)
    return model


@pytest.mark.parametrize("point", [[0.0, 0.0], [1.0, 2.0], [1e6, 1e6], [np.nan, 0.0]])
def test_coincident_points_give_no_line(point):
    assert solve_points([point, point]) is None


@settings(deadline=None, max_examples=30)
@given(seed=seeds, n=st.integers(2, 30), offset=st.sampled_from([0.0, 1e3]))
def test_fit_is_total_least_squares(seed, n, offset):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * [3.0, 0.5] @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + offset
    weights = rng.uniform(0.1, 1.0, n)
    model, wanted = fit_line(points, weights), reference.fit_line(points, weights)
    np.testing.assert_allclose(
        squared_distances(residuals, model, points), reference.line_distances(wanted, points) ** 2, atol=1e-8
    )


def test_fit_ignores_weight_zero_and_is_undetermined_without_a_direction():
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, -9.0]])
    np.testing.assert_allclose(fit_line(points, np.array([1.0, 2.0, 1.0, 0.0])), [-(0.5**0.5), 0.5**0.5, 0], atol=1e-15)
    assert fit_line(points, np.zeros(4)) is None
    assert fit_line(points, np.array([0.0, 1.0, 0.0, 0.0])) is None
    assert fit_line(np.full((4, 2), 1e6 / 3), np.ones(4)) is None
    assert fit_line([[0, 0], [1, 0], [1, 1], [0, 1]], np.ones(4)) is None


@pytest.mark.parametrize("offset", [1.0, 1e6 / 3])
def test_points_that_differ_by_rounding_have_no_line(offset):
    points = np.full((4, 2), offset)
    points[:2, 0] = np.nextafter(offset, np.inf)
    assert solve_points(points[[0, 2]]) is None
    assert fit_line(points, np.ones(4)) is None
    assert fit_line(points, np.full(4, 1e3)) is None
    points[:2, 0] = offset * (1 + 1e-9)
    np.testing.assert_allclose(fit_line(points, np.ones(4)), [0.0, 1.0, -offset])
