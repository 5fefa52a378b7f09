"""Damped least squares: the minimum is that of the normal equations, with and without damping."""

import numpy as np
import pytest

from bansac.estimate.damped_least_squares import minimize

A, B = np.random.default_rng(0).normal(size=(20, 3)), np.random.default_rng(1).normal(size=20)


def residuals(x):
    return A @ x + 0.1 * np.sin(x).sum() - B


def evaluate(x):
    r, J = residuals(x), A + 0.1 * np.cos(x)
    return r @ r, lambda: (J.T @ J, J.T @ r)


@pytest.mark.parametrize("damping", [0.0, 1e-3])
def test_both_methods_end_where_the_gradient_vanishes(damping):
    x, normal = minimize(np.zeros(3), evaluate, np.add, damping=damping, steps=100, least_gain=1e-15)
    found, gradient = evaluate(x)[1]()
    np.testing.assert_allclose(gradient, 0, atol=1e-7)
    np.testing.assert_array_equal(normal, found)


def test_without_damping_a_step_of_no_gain_is_not_taken():
    start = np.linalg.lstsq(A, B, rcond=None)[0]

    def linear(x):
        r = A @ x - B
        return r @ r, lambda: (A.T @ A, A.T @ r)

    np.testing.assert_array_equal(minimize(start, linear, np.add, damping=0.0)[0], start)
    np.testing.assert_allclose(minimize(np.zeros(3), linear, np.add, damping=0.0)[0], start, rtol=1e-9)
