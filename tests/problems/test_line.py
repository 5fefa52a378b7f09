"""Lines against known answers and an SVD."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.problems.line import LINE, canonical
from tests.problems.in_loop import fit_data, solve_sample
from tests.reference import curves as reference


def fit_line(points, weights):
    """Return the canonical line fitted to weighted points, or None."""
    model = fit_data(LINE, weights, points)
    if model is not None:
        canonical(model)
    return model


@pytest.mark.parametrize("point", [[0.0, 0.0], [1.0, 2.0], [1e6, 1e6], [np.nan, 0.0]])
def test_coincident_points_give_no_line(point):
    assert len(solve_sample(LINE, [point, point])) == 0


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), offset=st.sampled_from([0.0, 1e3]))
def test_fit_is_total_least_squares(seed, n, offset):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * [3.0, 0.5] @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + offset
    weights = rng.uniform(0.1, 1.0, n)
    distances = (reference.line_distances(fit(points, weights), points) for fit in (fit_line, reference.fit_line))
    np.testing.assert_allclose(*(distance**2 for distance in distances), atol=1e-8)


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
    assert len(solve_sample(LINE, points[[0, 2]])) == 0
    assert fit_line(points, np.ones(4)) is None
    assert fit_line(points, np.full(4, 1e3)) is None
    points[:2, 0] = offset * (1 + 1e-9)
    np.testing.assert_allclose(fit_line(points, np.ones(4)), [0.0, 1.0, -offset])
