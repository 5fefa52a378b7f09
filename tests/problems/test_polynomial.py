"""Polynomial curves against numpy.polynomial."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config
from numpy.polynomial import Polynomial

import bansac
from bansac.problems import polynomial as module
from bansac.problems.polynomial import MAX_DEGREE, polynomial
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import curves as reference

seeds = st.integers(0, 2**32 - 1)
degrees = st.integers(1, MAX_DEGREE)


def solve_points(points):
    """Return the coefficients of the curve through all ``points``, or None."""
    models = solve_sample(polynomial(len(points) - 1), points)
    return models[0] if len(models) else None


@settings(deadline=None, max_examples=30)
@given(seed=seeds, degree=degrees)
def test_solve_interpolates(seed, degree):
    rng = np.random.default_rng(seed)
    x = np.linspace(-1.0, 1.0, degree + 1) + rng.uniform(-0.05, 0.05, degree + 1)
    points = np.column_stack([x, rng.normal(size=degree + 1)])
    order = rng.permutation(degree + 1)
    assert reference.polynomial_distances(solve_points(points[order]), points).max() < 1e-8


@pytest.mark.parametrize("degree", range(1, MAX_DEGREE + 1))
def test_a_repeated_abscissa_gives_no_curve(degree):
    for offset in (0.0, 1e6):
        points = np.column_stack([np.arange(degree + 1.0) + offset, np.arange(degree + 1.0)])
        assert solve_points(points) is not None
        points[0, 0] = points[-1, 0]
        assert solve_points(points) is None


@settings(deadline=None, max_examples=30)
@given(seed=seeds, degree=degrees, n=st.integers(9, 40))
def test_fit_is_numpy_s_weighted_least_squares(seed, degree, n):
    rng = np.random.default_rng(seed)
    x = np.linspace(2.0, 5.0, n) + rng.uniform(-0.02, 0.02, n)
    points, weights = np.column_stack([x, rng.normal(size=n)]), rng.uniform(0.1, 1.0, n)
    wanted = reference.fit_polynomial(points, weights, degree)
    np.testing.assert_allclose(Polynomial(fit_data(polynomial(degree), weights, points))(x), wanted(x), atol=1e-4)


def test_fit_ignores_weight_zero_and_needs_enough_abscissae():
    x = np.arange(10.0)
    points = np.column_stack([x, 1.0 + 2.0 * x - x**2])
    points[7:, 1] += 100.0
    weights = np.where(x < 7, 1.0, 0.0)
    np.testing.assert_allclose(fit_data(polynomial(2), weights, points), [1.0, 2.0, -1.0], atol=1e-12)
    assert fit_data(polynomial(1), np.zeros(10), points) is None
    for degree in range(1, 7):
        too_few = points.copy()
        too_few[:, 0] = x % degree + 1e3
        assert fit_data(polynomial(degree), np.ones(10), too_few) is None


def test_normalise_keeps_coincident_points_finite():
    data, transform = np.full((2, 4), 3.0), np.empty(5)
    module.normalize(data, transform)
    assert (data == 0.0).all()
    assert transform[0] == 1.0


def test_one_problem_a_degree_one_function_for_all():
    assert polynomial(3) is polynomial(np.int64(3))
    assert polynomial(3).model_shape == (4,)
    assert polynomial(3).solve is polynomial(4).solve


@pytest.mark.parametrize("degree", [0, 9, 2.0, 2.5, "2", True, None])
def test_a_bad_degree_is_named(degree):
    for call in (polynomial, lambda degree: bansac.fit_polynomial(np.zeros((30, 2)), degree, threshold=0.1)):
        with pytest.raises(ValueError, match="degree must be an integer from 1 to 8, got"):
            call(degree)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, the searches take seconds each")
def test_coefficients_that_do_not_represent_the_curve_are_the_reason_of_a_failure():
    t = np.linspace(-1, 1, 200)
    points = np.column_stack([1.7e9 + 1e3 * t, t - t**3 + np.random.default_rng(0).normal(0, 0.01, 200)])
    result = bansac.fit_polynomial(points, 3)
    assert not result.success
    assert "move the origin of coordinates nearer to the data" in result.message
    assert bansac.fit_polynomial(points - [1.7e9, 0], 3).success
