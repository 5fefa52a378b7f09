"""RANSAC's sampler: every minimal sample is equally probable (Fischler and Bolles, 1981)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.engine.sampling.distinct import contains
from bansac.numeric.jit import kernel
from bansac.numeric.rng import next_index

__all__ = ["sample_uniform"]


@kernel
def sample_uniform(rng: NDArray[np.uint64], n: int, sample: NDArray[np.int64]) -> None:
    """Draw ``sample.size`` distinct indices below ``n``, all subsets being equally probable (RANSAC)."""
    drawn = 0
    while drawn < sample.size:
        candidate = next_index(rng, n)
        if not contains(sample, drawn, candidate):
            sample[drawn] = candidate
            drawn += 1
