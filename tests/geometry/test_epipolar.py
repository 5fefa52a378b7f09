"""The two measures of the error of an epipolar geometry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import plain
from bansac.geometry.epipolar import sampson_residuals, second_epipole, symmetric_residuals
from tests.problems.in_loop import compile_residuals
from tests.reference import epipolar as reference

SIDEWAYS = reference.cross_matrix([1.0, 0, 0])
FORWARD = reference.cross_matrix([0, 0, 1.0])

sampson, symmetric = compile_residuals(sampson_residuals), compile_residuals(symmetric_residuals)


def squared(function, data, E):
    data = np.array(data, np.float64).reshape(4, -1)
    out = np.empty(data.shape[1])
    function(data, E.ravel(), 0, out.size, out)
    return out


def test_distances_to_horizontal_lines_worked_by_hand():
    # The lines are y = y1 and y = y2: each point is .3 from its line. The nearest exact pair shares the way.
    match = [0.5, 0.1, -0.2, 0.4]
    assert squared(symmetric, match, SIDEWAYS) == pytest.approx([2 * 0.3**2])
    assert squared(sampson, match, SIDEWAYS) == pytest.approx([2 * 0.15**2])


def test_distances_to_lines_through_the_origin_worked_by_hand():
    # (1, 0) is .8 from the line through (3, 4); (3, 4) is 4 from the line through (1, 0).
    match = [3.0, 4.0, 1.0, 0.0]
    assert squared(symmetric, match, FORWARD) == pytest.approx([0.8**2 + 4**2])
    assert squared(sampson, match, FORWARD) == pytest.approx([4**2 / (5**2 + 1)])


@pytest.mark.parametrize("match", [[0, 0, 0, 0], [0, 0, 0.3, 0.2], [0.3, 0.2, 0, 0]])
def test_an_epipole_has_no_line_and_is_no_inlier(match):
    # The epipoles of forward motion are the origins. Sampson's distance is 0 if only one of the points is an epipole.
    assert np.isnan(squared(symmetric, match, FORWARD))
    distance = squared(sampson, match, FORWARD)
    assert np.isnan(distance) if not any(match) else distance == 0


@given(seed=st.integers(0, 2**32))
def test_the_symmetric_distance_is_at_least_twice_sampsons(seed):
    rng = np.random.default_rng(seed)
    data, E = rng.uniform(-1, 1, (4, 20)), rng.normal(size=(3, 3))
    assert (squared(symmetric, data, E) >= 4 * squared(sampson, data, E) * (1 - 1e-9)).all()


@pytest.mark.parametrize("vanishing", [None, 0, 1, 2])
def test_the_second_epipole_is_the_left_null_vector_whichever_column_vanishes(vanishing):
    rng = np.random.default_rng(6)
    for _ in range(10):
        e = rng.normal(size=3)
        F = reference.cross_matrix(e) @ rng.normal(size=(3, 3))
        if vanishing is not None:
            F[:, vanishing] = 0.0
        found = np.array(plain(second_epipole)(F.ravel()))
        assert abs(found @ e) == pytest.approx(np.linalg.norm(found) * np.linalg.norm(e))
        assert np.linalg.norm(found) > 0.0
