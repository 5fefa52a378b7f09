"""RANSAC's sampler: every minimal sample is equally probable (Fischler and Bolles, 1981)."""

from typing import Any

import numpy as np

from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import draw_distinct


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample."""
    draw_distinct(rng, data.shape[1], sample, np.int64(0), sample.size)
