"""The number of false alarms: against its formula, and what it calls significant."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.evidence.false_alarms import SIGNIFICANT, log_binomial_tail, log_choose, log_nfa


@given(st.integers(2, 60), st.integers(1, 8), st.integers(1, 10), st.data())
def test_it_is_the_smallest_over_all_supports(n, m, models, data):
    size = data.draw(st.integers(0, n))
    alpha = np.sort(data.draw(st.lists(st.floats(1e-9, 1.0), min_size=size, max_size=size)))
    terms = [
        math.log(models * max(n - m, 1) * math.comb(n, k) * math.comb(k, m)) + (k - m) * math.log(alpha[k - 1])
        for k in range(m + 1, size + 1)
    ]
    assert log_nfa(alpha, n, m, models) == pytest.approx(min(terms, default=math.inf), abs=1e-6)


def test_support_of_the_sample_alone_is_never_significant():
    assert log_nfa(np.full(7, 1e-12), 1000, 7, 3) == math.inf


def test_exactness_counts():
    rough, exact = np.full(12, 0.2), np.append(np.full(11, 1e-4), 0.2)
    assert log_nfa(rough, 15, 4, 1) > SIGNIFICANT > log_nfa(exact, 15, 4, 1)


@pytest.mark.parametrize("n", [200, 10_000, 1_000_000])
def test_the_average_of_chance_is_not_significant(n):
    k = n // 100
    alpha = np.arange(1, k + 1) / n  # the expected number within each distance
    assert log_nfa(alpha, n, 4, 1) > 0


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
