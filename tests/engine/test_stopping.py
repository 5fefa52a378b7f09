"""The stopping criteria's bounds: of RANSAC, of PROSAC, and of RANSAC with the sequential test."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.engine import stopping
from bansac.engine.state import PROGRESS
from bansac.engine.stopping import _test_exponent, ransac_iterations
from bansac.engine.stopping import prepare_prosac as prepare
from tests.engine.builder import make_record
from tests.reference import loop_parts as reference

required_by_prosac, required_by_sprt = kernel(stopping.required_by_prosac), kernel(stopping.required_by_sprt)


def prosac_iterations(is_inlier, ranking, indices, m, confidence):
    progress = make_record(PROGRESS)
    bound = required_by_prosac(is_inlier, ranking, np.empty((0, 4)), progress, indices, m, confidence)
    return bound, progress["subset_limit"]


def sprt_iterations(inliers, n, m, confidence, rows, iterations):
    progress, unused = make_record(PROGRESS, best_inliers=inliers, iterations=iterations), np.empty(0, np.int64)
    return required_by_sprt(np.empty(n, np.bool_), unused, rows, progress, unused, m, confidence)


@given(st.integers(1, 8), st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.9999))
def test_ransac_bound_is_the_exact_product(m, inliers, outliers, confidence):
    n = inliers + outliers
    if n < m:
        return
    expected = reference.ransac_iterations(inliers, n, m, confidence)
    assert ransac_iterations(inliers, n, m, confidence) == pytest.approx(expected, rel=1e-9)


def test_ransac_bound_worked_by_hand():
    # 5 inliers of 10, sample of 2: P = 5/10 * 4/9 = 2/9; log .01 / log(7/9) = 18.324...
    assert ransac_iterations(5, 10, 2, 0.99) == pytest.approx(math.log(0.01) / math.log(7 / 9))
    assert ransac_iterations(1, 10, 2, 0.99) == math.inf
    assert ransac_iterations(10, 10, 2, 0.99) == 1.0
    assert ransac_iterations(10, 11, 1, 0.9) == 1.0  # .96 by the formula


@pytest.mark.parametrize(("sample_size", "n"), [(1, 40), (4, 60), (7, 120)])
def test_supports_that_are_no_chance_follow_the_binomial_tail(sample_size, n):
    found = prepare(n, sample_size)
    assert found[sample_size:].tolist() == [
        reference.nonrandom_support(k, sample_size) for k in range(sample_size, n + 1)
    ]


def test_supports_that_are_no_chance_worked_by_hand():
    # One datum besides the sample agrees by chance with probability .05, which is not below psi = .05; two of two with
    # .0025, and one of two with .0975.
    assert prepare(5, 3)[3:].tolist() == [4, 5, 5]


@given(
    st.lists(st.booleans(), min_size=1, max_size=120),
    st.integers(1, 4),
    st.sampled_from([0.9, 0.99, 0.999]),
    st.integers(0, 2**32),
)
def test_prosac_bound_is_the_smallest_over_all_sets(mask, m, confidence, seed):
    n = len(mask)
    if n < m:
        return
    ranking = np.random.default_rng(seed).permutation(n)
    is_inlier = np.array(mask)
    bound, size = prosac_iterations(is_inlier, ranking, prepare(n, m), m, confidence)
    expected = reference.prosac_iterations(is_inlier, ranking, m, confidence)
    assert bound == pytest.approx(expected, rel=1e-9)
    assert 1 <= size <= n
    if math.isfinite(bound):
        assert bound == pytest.approx(ransac_iterations(int(is_inlier[ranking[:size]].sum()), size, m, confidence))


def test_prosac_needs_fewer_samples_where_the_best_data_are_inliers():
    # 60 of 200 data are inliers: all of them first, or spread evenly over the order.
    first = np.arange(200) < 60
    spread = np.arange(200) % 10 < 3
    order, table = np.arange(200), prepare(200, 4)
    plain = ransac_iterations(60, 200, 4, 0.99)
    best, size = prosac_iterations(first, order, table, 4, 0.99)
    assert size == 100
    assert best == pytest.approx(ransac_iterations(60, 100, 4, 0.99))
    assert best < plain / 10
    even, _ = prosac_iterations(spread, order, table, 4, 0.99)
    assert even == pytest.approx(plain, rel=0.2)


def test_prosac_never_ends_on_what_chance_explains():
    is_inlier = np.arange(200) % 40 == 39
    assert prosac_iterations(is_inlier, np.arange(200), prepare(200, 4), 4, 0.99)[0] == math.inf


def test_sprt_bound_without_wrong_rejections_is_ransacs():
    # log A = inf: no good model is ever rejected, and the samples so far count as in RANSAC.
    rows = np.array([(0.5, 0.05, math.inf, 10)])
    assert sprt_iterations(50, 100, 4, 0.99, rows, 10) == pytest.approx(ransac_iterations(50, 100, 4, 0.99))


def test_sprt_bound_asks_for_more_samples_than_ransac():
    rows = np.array([(0.5, 0.05, math.log(20.0), 10)])
    plain = ransac_iterations(50, 100, 4, 0.99)
    bound = sprt_iterations(50, 100, 4, 0.99, rows, 10)
    # At the designed inlier ratio h = 1: a good model is rejected with probability 1 / A = 1 / 20.
    good = 50 * 49 * 48 * 47 / (100 * 99 * 98 * 97)
    assert bound == pytest.approx(math.log(0.01) / math.log1p(-good * 19 / 20), rel=1e-6)
    assert plain < bound < 1.2 * plain


def test_sprt_bound_of_two_tests_worked_by_hand():
    # 100 samples under a test that never rejects a good model, then a test with 1 / A = .1 at its own epsilon.
    rows = np.array([(0.3, 0.05, math.inf, 100), (0.5, 0.05, math.log(10.0), 0)])
    good = 50 * 49 / (100 * 99)
    missed = 100 * math.log1p(-good)
    expected = 100 + (math.log(0.001) - missed) / math.log1p(-good * 0.9) if missed > math.log(0.001) else 100
    assert sprt_iterations(50, 100, 2, 0.999, rows, 100) == pytest.approx(expected)


def test_sprt_bound_is_reached_once_enough_was_seen():
    rows = np.array([(0.5, 0.05, math.log(100.0), 5000)])
    assert sprt_iterations(50, 100, 4, 0.99, rows, 5000) == 5000


def test_a_test_that_asks_for_more_inliers_than_there_are_never_ends():
    # The test was designed for 90 % inliers; a model with 20 % is rejected for sure.
    rows = np.array([(0.9, 0.3, math.log(100.0), 3)])
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
