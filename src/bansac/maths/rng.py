"""Seeded random numbers for kernels: xoshiro256++ (Blackman and Vigna, 2021). The state is an array of four uint64."""

import functools

import numpy as np
from numba import config

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.maths.arrays import Ints, Words

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_U11, _U17, _U19, _U23, _U32, _U41, _U45 = map(np.uint64, (11, 17, 19, 23, 32, 41, 45))


def seed_rng(seed: int) -> Words:
    """Return the generator state for ``seed``, from SplitMix64 as the authors of xoshiro recommend."""
    return _words(seed).copy()


@functools.lru_cache(maxsize=16)
def _words(seed: int) -> Words:
    return np.array([_mix(seed + i * _STEP) for i in range(1, 5)], np.uint64)


def derive_seed(seed: int, index: int) -> int:
    """Return the 64-bit seed of run ``index`` of a series (SplitMix64 of SplitMix64)."""
    return _mix(_mix(seed) + (index + 1) * _STEP)


def _mix(z: int) -> int:
    """Return the output of SplitMix64 for a state."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


_WORDS_OF_ZERO = seed_rng(0)


@inlined
def fixed_rng() -> Words:
    """Return the state for seed 0, for kernels with a reproducible result."""
    state = np.empty(_WORDS_OF_ZERO.size, np.uint64)
    for k in range(state.size):
        state[k] = _WORDS_OF_ZERO[k]
    return state


@inlined
def step(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return 64 random bits and the state after (a, b, c, d), for loops that keep the state in registers."""
    total = a + d
    result = ((total << _U23) | (total >> _U41)) + a
    shifted = b << _U17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << _U45) | (d >> _U19)
    return result, a, b, c, d


if config.DISABLE_JIT:  # NumPy's scalars warn where integers wrap around
    step = np.errstate(over="ignore")(step)


@inner_kernel
def next_uint64(state: Words) -> np.uint64:
    """Return 64 random bits and advance the generator."""
    result, state[0], state[1], state[2], state[3] = step(state[0], state[1], state[2], state[3])
    return result


@inlined
def next_index(state: Words, n: int | np.int64) -> np.int64:
    """Return a uniform index in [0, n) for n < 2**31; the bias of the multiplication is at most n / 2**32."""
    return np.int64(((next_uint64(state) >> _U32) * np.uint64(n)) >> _U32)


@inlined
def contains(sample: Ints, size: int | np.int64, candidate: int | np.int64) -> bool:
    """Return whether ``candidate`` is among the first ``size`` indices of the sample."""
    equal = False
    for i in range(size):
        equal |= sample[i] == candidate
    return equal


@inner_kernel
def draw_distinct(rng: Words, n: int, sample: Ints, start: int | np.int64, stop: int) -> None:
    """Fill ``sample[start:stop]`` with uniform indices below ``n`` that differ from all before them in the sample.

    At least ``stop - start`` indices below ``n`` must not be in ``sample[:start]``.
    """
    drawn = start
    while drawn < stop:
        candidate = next_index(rng, n)
        if not contains(sample, drawn, candidate):
            sample[drawn] = candidate
            drawn += 1


@inlined
def unit_fraction(bits: np.uint64) -> float:
    """Return the number in [0, 1) whose binary digits are the upper 53 of 64 random bits."""
    return np.float64(bits >> _U11) * 2.0**-53


@kernel
def shuffle(state: Words, permutation: Ints) -> None:
    """Fill ``permutation`` with a random order of 0, ..., N - 1 (Fisher and Yates)."""
    for i in range(permutation.size):
        j = next_index(state, i + 1)
        permutation[i] = permutation[j]
        permutation[j] = i
