"""xoshiro256++ against its definition in Python integers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.maths.rng import derive_seed, fixed_rng, next_index, next_uint64, seed_rng, shuffle, step
from tests.engine.sampling.helpers import draw_samples, equally_frequent
from tests.processes import run_python

MASK = 2**64 - 1


draw, draw_index, start_again = kernel(next_uint64), kernel(next_index), kernel(fixed_rng)


@kernel
def draw_many(state, out):
    a, b, c, d = state[0], state[1], state[2], state[3]
    for k in range(out.size):
        out[k], a, b, c, d = step(a, b, c, d)
    state[0], state[1], state[2], state[3] = a, b, c, d


def rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def reference(state):
    """Blackman and Vigna's generator, step by step."""
    s = [int(word) for word in state]
    while True:
        yield (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)


@given(st.integers(0, MASK))
def test_the_generator_is_xoshiro(seed):
    state = seed_rng(seed)
    expected = reference(state.copy())
    first = next(expected)  # the generator reads the state now
    assert [int(draw(state)) for _ in range(20)] == [first, *(next(expected) for _ in range(19))]


def test_a_state_in_registers_gives_the_same_numbers():
    one, other, out = seed_rng(5), seed_rng(5), np.empty(50, np.uint64)
    draw_many(one, out)
    assert out.tolist() == [int(draw(other)) for _ in range(50)]
    assert np.array_equal(one, other)


def test_the_fixed_generator_is_that_of_seed_0_every_time():
    state = start_again()
    draw(state)
    assert np.array_equal(start_again(), seed_rng(0))


def test_seeding_is_splitmix64():
    # The first outputs of SplitMix64 for the seed 1234567, from its authors' page.
    assert seed_rng(1234567).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
    ]


@given(st.integers(0, MASK), st.integers(1, 10_000))
def test_indices_are_in_range(seed, n):
    state = seed_rng(seed)
    assert all(0 <= draw_index(state, n) < n for _ in range(20))


@given(st.integers(0, MASK), st.integers(0, 200))
def test_a_shuffle_is_a_permutation(seed, n):
    order = np.empty(n, np.int64)
    shuffle(seed_rng(seed), order)
    assert sorted(order.tolist()) == list(range(n))


def test_shuffles_of_three_are_equally_probable():
    orders = draw_samples(shuffle, 3, 6000, seed=5)
    assert equally_frequent(list(map(tuple, orders.tolist())), itertools.permutations(range(3)))


def test_a_derived_seed_is_a_word_of_splitmix64():
    """The generator of ``seed`` gives as its first output the seed of another one, whose outputs are the seeds."""
    first = int(seed_rng(7)[0])
    words = [derive_seed((7 + 0x9E3779B97F4A7C15) & MASK, index) for index in range(4)]
    assert words == [int(word) for word in seed_rng(first)]


@pytest.mark.slow
def test_plain_python_wraps_around_in_silence():
    code = "from bansac.maths.rng import *; s = seed_rng(0); print([int(next_index(s, 9)) for _ in range(50)])"
    run = run_python("-W", "error", "-c", code, NUMBA_DISABLE_JIT="1")
    state = seed_rng(0)
    assert run.stdout.strip() == str([int(next_index(state, 9)) for _ in range(50)]), run.stderr
