"""The number of false alarms: against its formula, and what it calls significant."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.evidence.false_alarms import SIGNIFICANT, log_binomial_tail, log_choose, log_nfa


def nfa_of_one_kind(alpha, n, m, models):
    """Return the NFA of points that follow no neighbours."""
    return log_nfa(alpha, alpha, np.zeros(alpha.size, np.bool_), (n, 0), m, models)


@given(st.integers(2, 60), st.integers(1, 8), st.integers(1, 10), st.data())
def test_it_is_the_smallest_over_all_supports(n, m, models, data):
    size = data.draw(st.integers(0, n))
    alpha = np.sort(data.draw(st.lists(st.floats(1e-9, 1.0), min_size=size, max_size=size)))
    terms = [
        math.log(models * max(n - m, 1) * math.comb(n, k) * math.comb(k, m)) + (k - m) * math.log(alpha[k - 1])
        for k in range(m + 1, size + 1)
    ]
    assert nfa_of_one_kind(alpha, n, m, models) == pytest.approx(min(terms, default=math.inf), abs=1e-6)


@given(st.integers(1, 6), st.data())
def test_two_kinds_are_counted_apart(m, data):
    follows = np.array(data.draw(st.lists(st.booleans(), max_size=40)), np.bool_)
    first = np.sort(data.draw(st.lists(st.floats(1e-6, 1.0), min_size=follows.size, max_size=follows.size)))
    following = np.minimum(3 * first, 1.0)
    n = int(np.sum(~follows)) + data.draw(st.integers(0, 20)), int(np.sum(follows)) + data.draw(st.integers(0, 20))
    terms = []
    for k in range(m + 1, follows.size + 1):
        k2 = int(follows[:k].sum())
        k1 = k - k2
        free = min(k1, m)
        kind1 = math.log(math.comb(n[0], k1)) + (k1 - free) * math.log(first[k - 1])
        kind2 = math.log(math.comb(n[1], k2)) + (k2 - (m - free)) * math.log(following[k - 1])
        tests = 2 * max(sum(n) - m, 1) * (n[1] + 1) * math.comb(k, m)
        terms.append(math.log(tests) + kind1 + min(kind2, 0.0))
    assert log_nfa(first, following, follows, n, m, 2) == pytest.approx(min(terms, default=math.inf), abs=1e-6)


def test_neighbours_that_prove_nothing_cost_little():
    exact, useless = np.full(30, 1e-4), np.ones(30)
    alone = log_nfa(exact[:15], useless[:15], np.zeros(15, np.bool_), (30, 0), 4, 1)
    beside = log_nfa(exact, useless, np.arange(30) % 2 == 1, (30, 30), 4, 1)
    assert alone < beside < alone + 12 < SIGNIFICANT


def test_support_of_the_sample_alone_is_never_significant():
    assert nfa_of_one_kind(np.full(7, 1e-12), 1000, 7, 3) == math.inf


def test_exactness_counts():
    rough, exact = np.full(12, 0.2), np.append(np.full(11, 1e-4), 0.2)
    assert nfa_of_one_kind(rough, 15, 4, 1) > SIGNIFICANT > nfa_of_one_kind(exact, 15, 4, 1)


@pytest.mark.parametrize("n", [200, 10_000, 1_000_000])
def test_the_average_of_chance_is_not_significant(n):
    k = n // 100
    alpha = np.arange(1, k + 1) / n  # the expected number within each distance
    assert nfa_of_one_kind(alpha, n, 4, 1) > 0


@given(st.integers(1, 120), st.integers(0, 120), st.floats(0.001, 0.9))
def test_the_bound_is_above_the_exact_tail_and_not_far(n, k, p):
    k = min(k, n)
    terms = [math.log(math.comb(n, i)) + i * math.log(p) + (n - i) * math.log1p(-p) for i in range(k, n + 1)]
    exact = max(terms) + math.log(math.fsum(math.exp(term - max(terms)) for term in terms))
    bound = log_binomial_tail(k, n, p)
    assert bound >= min(exact, 0.0) - 1e-9
    assert bound <= exact + math.log(8 * math.sqrt(n))


@given(st.integers(0, 500), st.integers(0, 500))
def test_binomial_coefficients(n, k):
    k = min(k, n)
    assert log_choose(n, k) == pytest.approx(math.log(math.comb(n, k)), abs=1e-9)


def test_tail_at_the_borders():
    assert log_binomial_tail(0, 10, 0.5) == 0
    assert log_binomial_tail(10, 10, 0.5) == pytest.approx(10 * math.log(0.5))
    assert log_binomial_tail(3, 10, 0.0) == -math.inf
