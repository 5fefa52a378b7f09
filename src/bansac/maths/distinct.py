"""Distinct random indices, for kernels that draw samples."""

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Ints, Words
from bansac.maths.rng import next_index


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
