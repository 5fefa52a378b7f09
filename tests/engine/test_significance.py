"""Support of chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.significance import IN_DOUBT, SIGNIFICANT, chance_rate, log_binomial_tail, log_chance


@given(st.integers(1, 120), st.integers(0, 120), st.floats(0.001, 0.9))
def test_the_bound_is_above_the_exact_tail_and_not_far(n, k, p):
    k = min(k, n)
    terms = [math.log(math.comb(n, i)) + i * math.log(p) + (n - i) * math.log1p(-p) for i in range(k, n + 1)]
    exact = max(terms) + math.log(math.fsum(math.exp(term - max(terms)) for term in terms))
    bound = log_binomial_tail(k, n, p)
    assert bound >= min(exact, 0.0) - 1e-9
    assert bound <= exact + math.log(8 * math.sqrt(n))


def test_tail_at_the_borders():
    assert log_binomial_tail(0, 10, 0.5) == 0
    assert log_binomial_tail(10, 10, 0.5) == pytest.approx(10 * math.log(0.5))
    assert log_binomial_tail(3, 10, 0.0) == -math.inf


def test_rate_leaves_out_the_models_that_are_as_good_as_the_best():
    # Sample of 4: beyond it 2, 0, 1 and 76 data agree; the last is no bad model of a best with 80.
    rate = chance_rate(80, 104, 4, np.array([6, 4, 5, 80]))
    assert rate == pytest.approx(3 * (3 + 1) / (300 + 1))


def test_support_of_the_sample_alone_is_never_significant():
    assert log_chance(4, 1000, 4, 1, 1000, np.array([4, 4])) == 0.0


def test_a_model_of_half_of_the_data_is_significant_and_one_of_a_few_is_not():
    few = np.full(20, 5)
    assert log_chance(50, 100, 4, 1000, 100, few) < IN_DOUBT
    assert log_chance(8, 100, 4, 1000, 100, few) > SIGNIFICANT


def test_perfect_data_are_significant_although_every_model_is_good():
    assert log_chance(100, 100, 4, 20, 100, np.full(20, 100)) < IN_DOUBT


def test_models_tested_raise_the_chance():
    few = np.full(20, 5)
    one, many = (log_chance(20, 100, 4, tested, 100, few) for tested in (1, 1000))
    assert many == pytest.approx(one + math.log(1000))
