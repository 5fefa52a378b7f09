"""The bound of RANSAC with the sequential test."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.stopping.ransac import ransac_iterations
from bansac.engine.stopping.sprt import _test_exponent, sprt_iterations


def history(*rows):
    return np.array(rows, dtype=np.float64)


def test_sprt_bound_without_wrong_rejections_is_ransacs():
    # log A = inf: no good model is ever rejected, and the samples so far count as in RANSAC.
    rows = history((0.5, 0.05, math.inf, 10))
    assert sprt_iterations(50, 100, 4, 0.99, rows, 10) == pytest.approx(ransac_iterations(50, 100, 4, 0.99))


def test_sprt_bound_asks_for_more_samples_than_ransac():
    rows = history((0.5, 0.05, math.log(20.0), 10))
    plain = ransac_iterations(50, 100, 4, 0.99)
    bound = sprt_iterations(50, 100, 4, 0.99, rows, 10)
    # At the designed inlier ratio h = 1: a good model is rejected with probability 1 / A = 1 / 20.
    good = 50 * 49 * 48 * 47 / (100 * 99 * 98 * 97)
    assert bound == pytest.approx(math.log(0.01) / math.log1p(-good * 19 / 20), rel=1e-6)
    assert plain < bound < 1.2 * plain


def test_sprt_bound_of_two_tests_worked_by_hand():
    # 100 samples under a test that never rejects a good model, then a test with 1 / A = .1 at its own epsilon.
    rows = history((0.3, 0.05, math.inf, 100), (0.5, 0.05, math.log(10.0), 0))
    good = 50 * 49 / (100 * 99)
    missed = 100 * math.log1p(-good)
    expected = 100 + (math.log(0.001) - missed) / math.log1p(-good * 0.9) if missed > math.log(0.001) else 100
    assert sprt_iterations(50, 100, 2, 0.999, rows, 100) == pytest.approx(expected)


def test_sprt_bound_is_reached_once_enough_was_seen():
    rows = history((0.5, 0.05, math.log(100.0), 5000))
    assert sprt_iterations(50, 100, 4, 0.99, rows, 5000) == 5000


def test_a_test_that_asks_for_more_inliers_than_there_are_never_ends():
    # The test was designed for 90 % inliers; a model with 20 % is rejected for sure.
    rows = history((0.9, 0.3, math.log(100.0), 3))
    assert sprt_iterations(20, 100, 2, 0.99, rows, 3) == math.inf


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(1e-3, 0.9))
def test_the_exponent_solves_its_equation(epsilon, of_test, share):
    delta = min(share * of_test, 0.3)
    h = _test_exponent(epsilon, np.array([of_test, delta, 5.0, 10.0]))
    logs = np.log([delta / of_test, (1 - delta) / (1 - of_test)])
    weights = np.array([epsilon, 1 - epsilon])
    if weights @ logs >= 0:  # no positive root
        assert h == 0.0
    elif h >= 1000:  # a root beyond what is looked for
        assert weights @ np.exp(h * logs) <= 1
    else:
        assert h >= 0
        assert weights @ np.exp(h * (1 + 1e-9) * logs) >= 1 - 1e-12
        assert weights @ np.exp(h * (1 - 1e-9) * logs) <= 1 + 1e-12
