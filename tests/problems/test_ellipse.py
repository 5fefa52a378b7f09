"""Ellipses: conics against literal references, and known centres and axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.compiled.jit import plain
from bansac.problems import ellipse
from bansac.problems.ellipse import ELLIPSE, centre_and_axes, conic_of
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import space


def points_of(x, y, a, b, angle, t):
    """Return the points of an ellipse at parameters ``t``."""
    u, v = a * np.cos(t), b * np.sin(t)
    return np.column_stack([x + np.cos(angle) * u - np.sin(angle) * v, y + np.sin(angle) * u + np.cos(angle) * v])


def test_a_conic_has_the_centre_and_the_axes_it_was_made_of():
    truth = np.array([3.0, -2.0, 5.0, 1.5, 2.5])
    conic = conic_of(truth)
    np.testing.assert_allclose(centre_and_axes(conic), truth)
    assert ELLIPSE.distances(points_of(*truth, np.arange(5)).T.copy(), conic).max() < 1e-12
    ellipse.canonical(same := conic.copy())
    np.testing.assert_allclose(same, conic)


def test_small_axes_are_axes_and_zero_is_none():
    truth = np.array([0.3, -0.2, 0.02, 0.01, 0.4])
    np.testing.assert_allclose(centre_and_axes(conic_of(truth)), truth)
    for axes in ([0.0, 1.0], [1.0, 0.0], [-1.0, 1.0], [np.nan, 1.0]):
        assert (conic_of(np.array([0.0, 0.0, *axes, 0.0])) == 0.0).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_fit_has_the_least_sum_of_squares(seed):
    rng = np.random.default_rng(seed)
    a, ratio = rng.uniform([0.5, 0.2], [2, 0.95])
    points = points_of(*rng.uniform(-1, 1, 2), a, ratio * a, rng.uniform(0, np.pi), rng.uniform(0, 7, 30))
    points += rng.normal(0, 0.01, (30, 2))
    weights = rng.uniform(0.1, 1, 30)
    expected, model = space.conic(points, weights), fit_data(ELLIPSE, weights, points)
    if model is not None:
        np.testing.assert_allclose(model * np.sign(model @ expected), expected, atol=1e-5)
        centre = centre_and_axes(model)[:2]
        assert space.sampson(model, points_of(*centre, 1e3, 1e3, 0, np.arange(3))).min() > 0  # positive outside


def test_what_is_no_ellipse_gives_none():
    t = np.linspace(-2, 2, 5)
    for x, y in ((t, t), (t, t * t), (np.cosh(t), np.sinh(t)), (np.ones(5), np.ones(5))):
        assert len(solve_sample(ELLIPSE, np.column_stack([x, y]))) == 0
        assert fit_data(ELLIPSE, np.ones(5), np.column_stack([x, y])) is None
    assert fit_data(ELLIPSE, np.zeros(5), np.zeros((5, 2))) is None
    assert not ellipse.project(np.array([1.0, 0, 1, 0, 0, 1]), np.empty(ELLIPSE.scratch_size))  # x^2 + y^2 = -1


def test_a_hyperbola_is_no_ellipse_whatever_its_sign():
    for coefficients in (
        [1.0, 3.0, 1.0, 0.0, 0.0, 1.0],
        [1.0, 3.0, 1.0, 0.0, 0.0, -1.0],
        [1.0, 0.0, -1.0, 0.0, 0.0, 1.0],
    ):
        for sign in (1.0, -1.0):
            assert not plain(ellipse.orient)(sign * np.array(coefficients))


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("angle", [0.0, 0.5, np.pi / 4, np.pi / 2])
def test_the_limit_of_a_thin_ellipse_is_an_axis_ratio_whatever_the_scale(scale, angle):
    for ratio, found in ((500.0, True), (650.0, False)):
        conic = scale * conic_of(np.array([0.1, 0.2, ratio, 1.0, angle]))
        assert plain(ellipse.orient)(conic) == found
        assert plain(ellipse.orient)(-conic) == found
