"""Uniform samples: distinct indices, all of them equally probable."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bansac.maths.rng import draw_distinct, seed_rng
from tests.engine.sampling.helpers import draw_samples, equally_frequent, fits


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 2**32))
def test_uniform_samples_are_distinct_and_in_range(size, extra, seed):
    sample = np.empty(size, np.int64)
    draw_distinct(seed_rng(seed), size + extra, sample, np.int64(0), size)
    assert fits(sample.tolist(), set(), set(range(size + extra)))


def test_uniform_samples_have_equal_probabilities():
    samples = draw_samples(lambda rng, sample: draw_distinct(rng, 4, sample, np.int64(0), 2), 2, 12_000, seed=3)
    assert equally_frequent(list(map(tuple, samples.tolist())), itertools.permutations(range(4), 2))
