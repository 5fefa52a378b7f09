"""Curves that points do not determine: straight points, lower degrees; and curves that they determine."""

import numba
import numpy as np
import pytest

import bansac
from bansac.evidence import curvature
from bansac.evidence.significance import MeasuredModel
from bansac.maths.flat import flat_distances
from bansac.problems.circle import CIRCLE
from bansac.problems.line import LINE
from bansac.problems.polynomial import polynomial
from tests.reference import curves as reference

whole_search = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a minute as plain Python: whole searches")

SEEDS = range(20)
UNDETERMINED = "undetermined_curvature"


def turned(rng, points, noise, outliers=0.0):
    """Return points (N, 2) in a random direction with noise, and uniform outliers in place of a share."""
    angle, n = rng.uniform(0, np.pi), round(len(points) * (1 - outliers))
    c, s = np.cos(angle), np.sin(angle)
    moved = points[:n] @ np.array([[c, s], [-s, c]]) + rng.normal(0, noise, (n, 2)) + 700.0
    return np.vstack([moved, rng.uniform(moved.min(axis=0), moved.max(axis=0), (len(points) - n, 2))])


def straight(rng, n):
    return np.column_stack([rng.uniform(-500, 500, n), np.zeros(n)])


def arc(rng, n, degrees, ratio=1.0):
    """Return points on an arc of an ellipse with the semi-axes 500 and 500 ``ratio``."""
    t = rng.uniform(0, 2 * np.pi) + np.radians(degrees) * rng.uniform(0, 1, n)
    return 500 * np.column_stack([np.cos(t), ratio * np.sin(t)])


def configurations(fit, make):
    """Return the number of successes and those of them that are undetermined."""
    results = [fit(make(np.random.default_rng(seed)), seed=seed) for seed in SEEDS]
    successes = [result for result in results if result.success]
    assert all(("fits as well" in result.message) >= (result.configuration == UNDETERMINED) for result in results)
    return len(successes), sum(result.configuration == UNDETERMINED for result in successes)


@whole_search
@pytest.mark.parametrize("fit", [bansac.fit_circle, bansac.fit_ellipse])
@pytest.mark.parametrize(("n", "noise", "outliers"), [(20, 1.0, 0.0), (50, 10.0, 0.0), (100, 0.1, 0.3), (500, 1, 0.3)])
def test_straight_points_determine_no_curve(fit, n, noise, outliers):
    successes, undetermined = configurations(fit, lambda rng: turned(rng, straight(rng, n), noise, outliers))
    assert successes >= 18
    assert undetermined >= successes - 2


@whole_search
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_a_degree_that_is_too_high_is_said(degree):
    def make(rng):
        x = rng.uniform(-1, 1, 100)
        coefficients = rng.uniform(1, 2, degree)
        return np.column_stack([x, np.polynomial.Polynomial(coefficients)(x) + rng.normal(0, 0.03, 100)])

    def fit(points, seed):
        return bansac.fit_polynomial(points, degree, seed=seed)

    successes, undetermined = configurations(fit, make)
    assert successes >= 18
    assert undetermined >= successes - 2
    result = bansac.fit_polynomial(make(np.random.default_rng(1)), degree, seed=1)
    assert f"; a polynomial of degree {degree - 1} fits as well, so the inliers do not determine" in result.message


@whole_search
@pytest.mark.parametrize(
    ("fit", "make"),
    [
        (bansac.fit_circle, lambda rng: turned(rng, arc(rng, 50, 60), 2.5)),
        (bansac.fit_circle, lambda rng: turned(rng, arc(rng, 50, 30), 2.5)),
        (bansac.fit_circle, lambda rng: turned(rng, arc(rng, 100, 360), 2.5, 0.5)),
        (bansac.fit_circle, lambda rng: arc(rng, 50, 60)),
        (bansac.fit_ellipse, lambda rng: turned(rng, arc(rng, 50, 180, 0.5), 2.5)),
        (bansac.fit_ellipse, lambda rng: turned(rng, arc(rng, 50, 240, 0.3), 2.5, 0.3)),
        (bansac.fit_ellipse, lambda rng: turned(rng, arc(rng, 100, 360, 0.03), 2.5)),
        (bansac.fit_ellipse, lambda rng: arc(rng, 50, 360, 0.5)),
    ],
)
def test_curved_points_determine_their_curve(fit, make):
    successes, undetermined = configurations(fit, make)
    assert successes >= 19
    assert undetermined == 0


def measured(problem, points, model, threshold):
    residuals = problem.distances(np.ascontiguousarray(points.T), model, 1.0)
    inliers = residuals <= threshold
    return MeasuredModel(model, threshold, residuals, inliers, int(inliers.sum()))


def test_the_distances_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2)) * [3.0, 1.0] + 1e4
    members = np.arange(30) < 20
    centred = points[members] - points[members].mean(axis=0)
    normal = np.linalg.svd(centred)[2][1]
    line = np.append(normal, -normal @ points[members].mean(axis=0))
    found = flat_distances(points.T, members)
    np.testing.assert_allclose(found, reference.line_distances(line, points), atol=1e-9)
    for degree in (0, 1, 4):
        curve = reference.fit_polynomial(points[members], np.ones(20), degree)
        expected = np.abs(curve(points[:, 0]) - points[:, 1])
        np.testing.assert_allclose(
            polynomial(degree + 1).traits.limit.distances(points.T, members), expected, rtol=1e-6
        )


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_the_scale_of_points_does_not_matter(scale):
    rng = np.random.default_rng(3)
    for points, expected in ((arc(rng, 40, 90), ""), (straight(rng, 40) + 500.0, "line")):
        points = scale * (points + rng.normal(0, 1.0, points.shape))
        if expected:
            model = scale * np.array([0.0, 1e6, 1e6])
            model[1] += points[:, 1].mean()
        else:
            model = scale * np.array([0.0, 0.0, 500.0])
        of = measured(CIRCLE, points, model, 4.0 * scale)
        with np.errstate(all="ignore"):
            assert curvature.find_simpler_curve(CIRCLE, points.T, of) == expected


def test_other_models_have_no_simpler_curve():
    points = np.column_stack([np.linspace(0, 1, 20), np.linspace(0, 1, 20)])
    of = measured(LINE, points, np.array([0.5**0.5, -(0.5**0.5), 0.0]), 0.01)
    assert curvature.find_simpler_curve(LINE, points.T, of) == ""
    of = measured(polynomial(2), points, np.array([0.0, 1.0, 0.0]), 0.01)
    assert curvature.find_simpler_curve(polynomial(2), points.T, of) == "polynomial of degree 1"
