"""PROSAC: the growth function in exact arithmetic, and which datum is forced at which sample."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.engine.sampling import prosac
from bansac.engine.sampling.prosac import TOTAL_DRAWS, growth_function
from tests.engine.sampling.helpers import Prosac, compile_draw, draw_samples, equally_frequent, fits, subsets
from tests.reference import sampling as reference

sample_prosac = compile_draw(prosac)


def grow(n, m, total=TOTAL_DRAWS):
    growth = np.full(n + 1, -1, np.int64)
    growth_function(m, total, growth)
    return growth


def draw(growth, state, m, count, *, seed=1, ranking=None):
    """Return the ranks of ``count`` samples, one row a sample."""
    n = len(growth) - 1
    ranking = np.arange(n) if ranking is None else ranking
    memory = {"ranking": ranking, "indices": np.append(state.counts, growth), "subset_limit": state.limit}
    samples = draw_samples(lambda rng, sample: sample_prosac(rng, sample, **memory), m, count, seed)
    state.counts[:] = memory["indices"][:2]
    return np.argsort(ranking)[samples]


def test_growth_function_by_hand():
    # N = 5, m = 2, T_N = 40: T_n = 4 C(n, 2) = 4, 12, 24, 40 for n = 2, ..., 5, with the increases 8, 12, 16.
    assert grow(5, 2, 40).tolist() == [0, 0, 1, 9, 21, 37]
    # T_N = 1: every increase is rounded up to 1.
    assert grow(5, 2, 1).tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(("n", "m"), [(2000, 4), (2000, 7), (300, 2), (500, 5), (57, 3)])
def test_growth_function_is_exact(n, m):
    assert grow(n, m).tolist() == reference.growth_function(n, m, TOTAL_DRAWS)


@pytest.mark.parametrize(("n", "m"), [(12, 5), (16, 5), (49_999, 1)])
def test_whole_numbers_are_not_rounded_up(n, m):
    # As many samples as there are different ones: T_n = C(n, m).
    increases = [math.comb(k, m - 1) for k in range(m, n)]
    assert grow(n, m, math.comb(n, m))[m:].tolist() == np.cumsum([1, *increases]).tolist()


@given(st.integers(1, 8), st.integers(0, 100), st.integers(1, 300_000))
def test_growth_function_agrees_with_exact_arithmetic(m, extra, total):
    n = m + extra
    growth = grow(n, m, total)
    assert growth[: m + 1].tolist() == [0] * m + [1]
    for subset in range(m, n):
        exact = reference.expected_samples(subset + 1, n, m, total) - reference.expected_samples(subset, n, m, total)
        # A fraction that is a whole number up to rounding may go either way.
        assert math.ceil(exact * (1 - 1e-9)) <= growth[subset + 1] - growth[subset] <= math.ceil(exact)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(0, 20), st.integers(1, 500), st.integers(0, 2**32), st.data())
def test_every_sample_holds_the_forced_datum_and_better_ones(m, extra, total, seed, data):
    n = m + extra
    growth = grow(n, m, total)
    state = Prosac(n)
    ranking = np.random.default_rng(seed).permutation(n)
    change = data.draw(st.integers(0, 60), "sample before which the limit drops")
    lower = data.draw(st.integers(m, n), "new limit")
    for t in range(1, 101):
        if t == change:
            state.limit = lower
        sample = draw(growth, state, m, 1, seed=seed + t, ranking=ranking)[0].tolist()
        assert fits(sample, *reference.prosac_choice(t, growth.tolist(), m, state.limit))
        assert state.counts[0] == t


def test_subsets_get_as_many_samples_as_the_growth_function_says():
    n, m = 12, 3
    growth = grow(n, m, 300)
    samples = draw(growth, Prosac(n), m, int(growth[n]))
    newest = Counter(samples.max(axis=1).tolist())
    assert newest == {rank: growth[rank + 1] - growth[rank] for rank in range(m - 1, n)}
    # But for T'_m = 1 and the rounding, as many samples lie in each subset as among uniform samples.
    expected = [float(reference.expected_samples(subset, n, m, 300)) for subset in range(n + 1)]
    for subset in range(m, n + 1):
        inside = int(np.count_nonzero(samples.max(axis=1) < subset))
        assert 0 <= (inside - 1) - (expected[subset] - expected[m]) < subset - m + 1


def test_the_others_are_uniform():
    growth = np.array([0, 0, 0, 1, 1, 1, 10**6])  # samples 2 to 10^6 hold the sixth datum
    samples = draw(growth, Prosac(6), 3, 3001)[1:]
    assert np.all(samples.max(axis=1) == 5)
    assert equally_frequent([frozenset(s) - {5} for s in samples.tolist()], subsets(range(5), 2))


def test_samples_are_free_where_growth_has_stopped():
    growth = grow(50, 3, 2000)
    state = Prosac(50, limit=6)
    samples = draw(growth, state, 3, int(growth[6]) + 3000)[int(growth[6]) :]
    assert state.counts[1] == 6
    assert equally_frequent(map_to_sets(samples), subsets(range(6), 3))


def test_after_all_draws_samples_are_uniform():
    growth = grow(6, 2)
    state = Prosac(6, draws=TOTAL_DRAWS - 1, limit=3)
    assert draw(growth, state, 2, 1).max() < 3
    assert equally_frequent(map_to_sets(draw(growth, state, 2, 3000)), subsets(range(6), 2))


def map_to_sets(samples):
    return [frozenset(sample) for sample in samples.tolist()]
