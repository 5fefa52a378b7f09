"""Uniform samples: distinct indices, all of them equally probable."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.sampling.distinct import draw_distinct
from bansac.maths.rng import seed_rng


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 2**32))
def test_uniform_samples_are_distinct_and_in_range(size, extra, seed):
    sample = np.empty(size, np.int64)
    draw_distinct(seed_rng(seed), size + extra, sample, np.int64(0), size)
    assert len(set(sample.tolist())) == size
    assert sample.min() >= 0
    assert sample.max() < size + extra


def test_uniform_samples_have_equal_probabilities():
    rng, sample = seed_rng(3), np.empty(2, np.int64)
    counts = dict.fromkeys(itertools.permutations(range(4), 2), 0)
    for _ in range(12_000):
        draw_distinct(rng, 4, sample, np.int64(0), 2)
        counts[tuple(sample.tolist())] += 1
    # 1000 expected for each ordered pair; four standard deviations are 121.
    assert all(abs(count - 1000) < 121 for count in counts.values())
