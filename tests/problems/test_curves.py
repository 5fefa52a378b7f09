"""Lines, circles, ellipses, polynomials and planes against plain fits and known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config
from numpy.polynomial import Polynomial

import bansac
from bansac.compiled.jit import plain
from bansac.problems import ellipse
from bansac.problems import polynomial as module
from bansac.problems.circle import CIRCLE
from bansac.problems.ellipse import ELLIPSE, centre_and_axes, conic_of
from bansac.problems.line import LINE, canonical
from bansac.problems.plane import PLANE
from bansac.problems.polynomial import MAX_DEGREE, polynomial
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import curves, space

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=30)

X, T, ONES = np.linspace(0.0, 1.0, 20), np.linspace(-2.0, 2.0, 5), np.ones(20)
STEEP, PARABOLA = np.column_stack([X, 2.0 * X]), np.column_stack([X, X**2])
SPACE_LINE = np.arange(6.0)[:, None] * [1, 2, -1] + 3
DIAGONAL = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, -9.0]])
NO_ELLIPSES = [np.column_stack(xy) for xy in ((T, T), (T, T * T), (np.cosh(T), np.sinh(T)), np.ones((2, 5)))]

DEGENERATE_SAMPLES = [
    *((LINE, [point, point]) for point in ([0.0, 0.0], [1.0, 2.0], [1e6, 1e6], [np.nan, 0.0])),
    (CIRCLE, [[0.0, 1.0], [1.0, 2.0], [3.0, 4.0]]),
    (CIRCLE, [[0.0, 1.0], [1.0, 2.0], [0.0, 1.0]]),
    (CIRCLE, [[np.nan, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    (CIRCLE, np.ones((3, 2))),
    *((ELLIPSE, points) for points in NO_ELLIPSES),
    (PLANE, SPACE_LINE[:3]),
]
UNDETERMINED_FITS = [
    (LINE, DIAGONAL, np.zeros(4)),
    (LINE, DIAGONAL, [0, 1, 0, 0]),
    (LINE, np.full((4, 2), 1e6 / 3), ONES[:4]),
    (LINE, [[0, 0], [1, 0], [1, 1], [0, 1]], ONES[:4]),
    *((CIRCLE, points + offset, ONES) for points in (STEEP, 0.0 * STEEP) for offset in (0.0, 1e6)),
    *((CIRCLE, PARABOLA, np.arange(20) < used) for used in (0, 2)),
    *((ELLIPSE, points, ONES[:5]) for points in NO_ELLIPSES),
    (ELLIPSE, np.zeros((5, 2)), np.zeros(5)),
    (polynomial(1), PARABOLA, np.zeros(20)),
    # As many abscissae as the degree, which are far from 0.
    *((polynomial(d), np.column_stack([np.arange(20) % d + 1e3, X]), ONES) for d in range(1, MAX_DEGREE + 1)),
    (PLANE, SPACE_LINE, ONES[:6]),
    (PLANE, SPACE_LINE, np.zeros(6)),
]


def name_of(value):
    return getattr(value, "name", "")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("problem", "points"), DEGENERATE_SAMPLES, ids=name_of)
def test_degenerate_samples_have_no_model(problem, points, scale):
    assert len(solve_sample(problem, scale * np.array(points))) == 0


@pytest.mark.parametrize(("problem", "points", "weights"), UNDETERMINED_FITS, ids=name_of)
def test_undetermined_fits_leave_the_model_alone(problem, points, weights):
    assert fit_data(problem, weights, points) is None


@few
@given(seed=seeds, n=st.integers(2, 30), offset=st.sampled_from([0.0, 1e3]))
def test_the_line_is_that_of_total_least_squares(seed, n, offset):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * [3.0, 0.5] @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + offset
    weights = rng.uniform(0.1, 1.0, n)
    models = fit_data(LINE, weights, points), space.hyperplane(points, weights)
    np.testing.assert_allclose(*(curves.line_distances(model, points) ** 2 for model in models), atol=1e-8)


@pytest.mark.parametrize("offset", [1.0, 1e6 / 3])
def test_points_that_differ_by_rounding_have_no_line(offset):
    points = np.full((4, 2), offset)
    points[:2, 0] = np.nextafter(offset, np.inf)
    assert len(solve_sample(LINE, points[[0, 2]])) == 0
    assert fit_data(LINE, np.ones(4), points) is None
    assert fit_data(LINE, np.full(4, 1e3), points) is None
    points[:2, 0] = offset * (1 + 1e-9)
    canonical(line := fit_data(LINE, np.ones(4), points))
    np.testing.assert_allclose(line, [0.0, 1.0, -offset])


def points_of(x, y, a, b, angle, t):
    """Return the points of an ellipse at parameters ``t``."""
    u, v = a * np.cos(t), b * np.sin(t)
    return np.column_stack([x + np.cos(angle) * u - np.sin(angle) * v, y + np.sin(angle) * u + np.cos(angle) * v])


def arc(rng, n, extent, noise):
    """Return points near a circle of radius 2 about (3, -1), over ``extent`` radians."""
    return points_of(3.0, -1.0, 2.0, 2.0, 0.0, rng.uniform(0.0, extent, n)) + rng.normal(0.0, noise, (n, 2))


def test_points_of_weight_zero_are_ignored():
    rng, used = np.random.default_rng(0), np.arange(40) < 20
    on_arc = np.vstack([arc(rng, 20, 1.0, 0.0), rng.normal(size=(20, 2))])
    on_centre = np.where(used[:, None], on_arc, [3.0, -1.0])  # which has no direction
    on_parabola = np.column_stack([X, 1.0 + 2.0 * X - X**2 + 100.0 * (X > 0.7)])
    for problem, points, weights, expected, tolerance in (
        (LINE, DIAGONAL, [1.0, 2.0, 1.0, 0.0], [-(0.5**0.5), 0.5**0.5, 0.0], 1e-15),
        (CIRCLE, on_arc, used, [3.0, -1.0, 2.0], 1e-9),
        (CIRCLE, on_centre, used, [3.0, -1.0, 2.0], 1e-9),
        (polynomial(2), on_parabola, X < 0.7, [1.0, 2.0, -1.0], 1e-12),
    ):
        model = fit_data(problem, weights, points)
        if problem.canonical is not None:
            problem.canonical(model)
        np.testing.assert_allclose(model, expected, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_nearly_collinear_points_have_a_circle(scale):
    assert len(solve_sample(CIRCLE, scale * np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1e-3]]))) == 1


def excess(points, weights, offset, start):
    """Return the cost of the fit to moved points as a share of that of many Gauss-Newton steps, less 1."""
    model = fit_data(CIRCLE, weights, points + offset) - [offset, offset, 0]
    wanted = curves.fit_circle(points, weights, model if start is None else start)
    cost, best = ((weights * curves.circle_distances(m, points) ** 2).sum() for m in (model, wanted))
    return (cost - 1e-18) / best - 1


@few
@given(seed=seeds, n=st.integers(5, 40), extent=st.floats(0.6, 6.28), offset=st.sampled_from([0.0, 1e3]))
def test_the_circle_minimises_the_geometric_distance(seed, n, extent, offset):
    rng = np.random.default_rng(seed)
    points, weights = arc(rng, n, extent, 0.002), rng.uniform(0.1, 1.0, n)
    assert excess(points, weights, offset, np.array([3.0, -1.0, 2.0])) <= 1e-4


# In one of 1500 such scenes the steps end up to 2 % above the minimum, so the examples are fixed.
@settings(max_examples=30, derandomize=True)
@given(seed=seeds, extent=st.floats(2.0, 6.28))
def test_the_circle_minimises_the_geometric_distance_of_far_points(seed, extent):
    # The noise is a fifth of the radius: the algebraic fit, from which the steps start, is far from the minimum.
    rng = np.random.default_rng(seed)
    assert excess(arc(rng, 40, extent, 0.4), rng.uniform(0.1, 1.0, 40), 0.0, None) <= 1e-4


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


@few
@given(seed=seeds)
def test_the_conic_has_the_least_sum_of_squares(seed):
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


def test_an_ellipse_without_points_has_no_projection():
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


def solve_points(points):
    """Return the coefficients of the curve through all ``points``, or None."""
    models = solve_sample(polynomial(len(points) - 1), points)
    return models[0] if len(models) else None


@few
@given(seed=seeds, degree=st.integers(1, MAX_DEGREE))
def test_the_polynomial_of_a_sample_interpolates(seed, degree):
    rng = np.random.default_rng(seed)
    x = np.linspace(-1.0, 1.0, degree + 1) + rng.uniform(-0.05, 0.05, degree + 1)
    points = np.column_stack([x, rng.normal(size=degree + 1)])
    order = rng.permutation(degree + 1)
    assert curves.polynomial_distances(solve_points(points[order]), points).max() < 1e-8


@pytest.mark.parametrize("degree", range(1, MAX_DEGREE + 1))
def test_a_repeated_abscissa_gives_no_curve(degree):
    for offset in (0.0, 1e6):
        points = np.column_stack([np.arange(degree + 1.0) + offset, np.arange(degree + 1.0)])
        assert solve_points(points) is not None
        points[0, 0] = points[-1, 0]
        assert solve_points(points) is None


@few
@given(seed=seeds, degree=st.integers(1, MAX_DEGREE), n=st.integers(9, 40))
def test_the_polynomial_is_that_of_numpy_s_weighted_least_squares(seed, degree, n):
    rng = np.random.default_rng(seed)
    x = np.linspace(2.0, 5.0, n) + rng.uniform(-0.02, 0.02, n)
    points, weights = np.column_stack([x, rng.normal(size=n)]), rng.uniform(0.1, 1.0, n)
    wanted = curves.fit_polynomial(points, weights, degree)
    np.testing.assert_allclose(Polynomial(fit_data(polynomial(degree), weights, points))(x), wanted(x), atol=1e-4)


def test_normalise_keeps_coincident_points_finite():
    data, transform = np.full((2, 4), 3.0), np.empty(5)
    module.normalise(data, transform)
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


@few
@given(seed=seeds)
def test_the_plane_is_that_of_total_least_squares(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * rng.uniform(0.1, 3, 3)
    weights = rng.uniform(size=12) * (rng.uniform(size=12) < 0.8)
    weights[:4] = 1.0
    expected, found = space.hyperplane(points, weights), fit_data(PLANE, weights, points)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, atol=1e-6)


def test_points_near_a_line_are_no_success():
    spread = np.random.default_rng(0).normal(0, 0.01, (50, 3)) + np.linspace(0, 10, 50)[:, None] * [1, 2, -1]
    result = bansac.fit_plane(spread, threshold=0.1)
    assert not result.success
    assert "lie on a line" in result.message
