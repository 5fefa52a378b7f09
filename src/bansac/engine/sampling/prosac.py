"""PROSAC: samples from a growing set of the best-ranked points (Chum and Matas, CVPR 2005).

U_n is the set of the n points of highest quality. Of T_N uniform samples of all N points, T_n on average lie in U_n::

    T_n = T_N prod_{i < m} (n - i) / (N - i)

PROSAC draws the same number of samples from U_n, but the best-ranked points first. The samples T'_{n-1} + 1 to T'_n are
those that lie in U_n and not in U_{n-1}. So they contain the n-th point and m - 1 of the n - 1 points before it. T'_n
is T_n with every increase rounded up.

The paper's listing has the two branches of this rule swapped, which contradicts its own derivation. Here the n-th point
is in the sample while the set grows. After the growth has ended, all m points are drawn from U_n.
"""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import draw_distinct

# T_N: after this number of samples PROSAC is equal to RANSAC (the value of the paper).
TOTAL_DRAWS = 200_000

# An increase that is a whole number except for rounding errors must not be rounded up to the next one.
_ROUNDING = 1e-11


@kernel
def growth_function(sample_size: int, total_draws: int, growth: Ints) -> None:
    """Fill ``growth`` (N + 1 numbers) with T'_n, the number of samples up to which the set has n points.

    T'_m = 1 and T'_{n+1} = T'_n + ceil(T_{n+1} - T_n), with 0 below the sample size m; T_N = ``total_draws``, and N is
    at least m. From T_N downwards T_n = T_{n+1} (n + 1 - m) / (n + 1), which is exact where the increases are large.
    """
    n = growth.size - 1
    expected = np.float64(total_draws)
    while n > sample_size:
        increase = math.ceil(expected * sample_size / n * (1.0 - _ROUNDING))
        growth[n] = increase if increase > 1 else 1  # never 0, even if T_n is too small for a float
        expected *= (n - sample_size) / n
        n -= 1
    for n in range(sample_size):
        growth[n] = 0
    growth[sample_size] = 1
    for n in range(sample_size + 1, growth.size):
        growth[n] += growth[n - 1]


@inlined
def grow_subset(growth: Ints, draws: int, subset: int, limit: int) -> int:
    """Return the size n of the set for sample number ``draws``: the first n with T'_n >= draws, up to ``limit``."""
    n = subset if subset < limit else limit
    while draws > growth[n] and n < limit:
        n += 1
    return n


@inner_kernel
def complete_by_prosac(rng: Words, memory: Ints, limit: int, sample: Ints, known: int | np.int64) -> None:
    """Fill the sample with the ranks (0: the best) of sample number t of PROSAC, and update the size of the set.

    The first ``known`` ranks (none or one) are already in the sample and stay. A known rank replaces a freely drawn
    rank, or is the forced rank n - 1.
    """
    growth, m = memory[2:], sample.size
    n = growth.size - 1
    draws, subset = memory[0], memory[1]
    if draws <= TOTAL_DRAWS:
        n = grow_subset(growth, draws, subset if subset > m else m, limit)
        memory[1] = n
        if draws <= growth[n]:
            n -= 1
            if known == 0 or sample[0] != n:
                sample[known] = n
                known += 1
    draw_distinct(rng, n, sample, known, m)


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return an empty array; and the number of samples so far, the size of the set (at first 0), and T'_0 to T'_N."""
    indices = np.zeros(setup.data.shape[1] + 3, np.int64)
    growth_function(setup.sample_size, TOTAL_DRAWS, indices[2:])
    return np.empty(0), indices


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample; after ``TOTAL_DRAWS`` samples, a uniform sample of all points.

    ``progress.subset_limit`` (n* in m, ..., N) is the largest size of the set; the stopping criterion may lower it.
    """
    indices[0] += 1
    complete_by_prosac(rng, indices, progress.subset_limit, sample, 0)
    for i in range(sample.size):
        sample[i] = ranking[sample[i]]
