"""PROSAC's bound: supports that are no chance, and the set of best data that asks for the fewest samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.stopping.prosac import nonrandom_supports, prepare, prosac_iterations
from bansac.engine.stopping.ransac import ransac_iterations
from tests.reference import loop_parts as reference


def supports(sample_size, n):
    table = np.zeros(n + 1, np.int64)
    nonrandom_supports(sample_size, table)
    return table


@pytest.mark.parametrize(("sample_size", "n"), [(1, 40), (4, 60), (7, 120)])
def test_supports_that_are_no_chance_follow_the_binomial_tail(sample_size, n):
    found = supports(sample_size, n)
    assert found[sample_size:].tolist() == [
        reference.nonrandom_support(k, sample_size) for k in range(sample_size, n + 1)
    ]


def test_the_criterion_prepares_these_supports():
    assert prepare(60, 4)[4:].tolist() == supports(4, 60)[4:].tolist()


def test_supports_that_are_no_chance_worked_by_hand():
    # One datum besides the sample agrees by chance with probability .05, which is not below psi = .05; two of two with
    # .0025, and one of two with .0975.
    assert supports(3, 5)[3:].tolist() == [4, 5, 5]


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
    bound, size = prosac_iterations(is_inlier, ranking, supports(m, n), m, confidence)
    expected = reference.prosac_iterations(is_inlier, ranking, m, confidence)
    assert bound == pytest.approx(expected, rel=1e-9)
    assert 1 <= size <= n
    if math.isfinite(bound):
        assert bound == pytest.approx(ransac_iterations(int(is_inlier[ranking[:size]].sum()), size, m, confidence))


def test_prosac_needs_fewer_samples_where_the_best_data_are_inliers():
    # 60 of 200 data are inliers: all of them first, or spread evenly over the order.
    first = np.arange(200) < 60
    spread = np.arange(200) % 10 < 3
    order, table = np.arange(200), supports(4, 200)
    plain = ransac_iterations(60, 200, 4, 0.99)
    best, size = prosac_iterations(first, order, table, 4, 0.99)
    assert size == 100
    assert best == pytest.approx(ransac_iterations(60, 100, 4, 0.99))
    assert best < plain / 10
    even, _ = prosac_iterations(spread, order, table, 4, 0.99)
    assert even == pytest.approx(plain, rel=0.2)


def test_prosac_never_ends_on_what_chance_explains():
    is_inlier = np.arange(200) % 40 == 39
    assert prosac_iterations(is_inlier, np.arange(200), supports(4, 200), 4, 0.99)[0] == math.inf
