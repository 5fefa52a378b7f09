"""RANSAC's sampler: every minimal sample is equally probable (Fischler and Bolles, 1981)."""

from __future__ import annotations

from typing import Any

from bansac.compiled.jit import inner_kernel
from bansac.engine.sampling.distinct import contains
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import next_index

__all__ = ["draw", "sample_uniform"]


@inner_kernel
def sample_uniform(rng: Words, n: int, sample: Ints) -> None:
    """Draw ``sample.size`` distinct indices below ``n``; all subsets are equally probable."""
    drawn = 0
    while drawn < sample.size:
        candidate = next_index(rng, n)
        if not contains(sample, drawn, candidate):
            sample[drawn] = candidate
            drawn += 1


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample."""
    sample_uniform(rng, data.shape[1], sample)
