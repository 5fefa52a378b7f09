"""RANSAC's sampler: every minimal sample is equally probable (Fischler and Bolles, 1981)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.engine.sampling.distinct import contains
from bansac.numeric.jit import inner_kernel
from bansac.numeric.rng import next_index

__all__ = ["draw", "sample_uniform"]


@inner_kernel
def sample_uniform(rng: NDArray[np.uint64], n: int, sample: NDArray[np.int64]) -> None:
    """Draw ``sample.size`` distinct indices below ``n``, all subsets being equally probable (RANSAC)."""
    drawn = 0
    while drawn < sample.size:
        candidate = next_index(rng, n)
        if not contains(sample, drawn, candidate):
            sample[drawn] = candidate
            drawn += 1


def draw(
    rng: NDArray[np.uint64],
    data: NDArray[np.float64],
    odds: NDArray[np.float64],
    ranking: NDArray[np.int64],
    progress: Any,
    numbers: NDArray[np.float64],
    indices: NDArray[np.int64],
    sample: NDArray[np.int64],
) -> None:
    """Draw the next sample."""
    sample_uniform(rng, data.shape[1], sample)
