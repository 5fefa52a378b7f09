"""PROSAC's stopping criterion: maximality and non-randomness (Chum and Matas, CVPR 2005, section 2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bansac.engine.stopping.ransac import all_inlier_probability, ransac_iterations
from bansac.numeric.arrays import Bools, Floats, Ints
from bansac.numeric.jit import inner_kernel, kernel

__all__ = ["nonrandom_supports", "prepare", "prosac_iterations", "required_iterations"]

# The probability that a point agrees with a bad model, and the level of the test that its support is not random (beta
# and psi).
_CHANCE_RATE = 0.05
_LEVEL = 0.05


@kernel
def nonrandom_supports(sample_size: int, supports: Ints) -> None:
    """Write into ``supports[n]`` how many inliers among the best n data are no product of chance, for PROSAC's stop.

    The smallest I with P(m + B >= I) < psi, where B ~ Binomial(n - m, beta) counts the chance inliers outside of the
    sample (Chum and Matas, 2005, eq. 9; the exponent of 1 - beta there has a misprint). ``supports`` has N + 1 entries;
    those below m are not written. One more point raises the tail P(B >= j) by beta P(B = j - 1), so one pass does it.
    """
    odds = _CHANCE_RATE / (1 - _CHANCE_RATE)
    j = 1  # of the tail P(B >= j)
    below = 1.0  # P(B = j - 1)
    tail = 0.0
    for n in range(sample_size, supports.size):
        trials = n - sample_size
        if trials > 0:
            # from trials - 1 to trials: first the tail, then P(B = j - 1)
            tail += _CHANCE_RATE * below
            below *= (1 - _CHANCE_RATE) * trials / (trials - j + 1)
        while tail >= _LEVEL:
            below *= odds * (trials - j + 1) / j  # P(B = j)
            tail -= below
            j += 1
        supports[n] = sample_size + j


@inner_kernel
def prosac_iterations(
    is_inlier: Bools, ranking: Ints, nonrandom: Ints, sample_size: int, confidence: float
) -> tuple[float, int]:
    """Return how many samples PROSAC asks for, and the number n* of best data that ask for the fewest.

    Of the sets of the n best data whose inliers are no chance (non-randomness), the one with the most inliers for its
    size needs the fewest samples (maximality; Chum and Matas, 2005, section 2.2). ``ranking`` lists the data by
    decreasing quality; ``nonrandom`` comes from ``nonrandom_supports``. Infinity where chance explains every set.

    A set must hold half of the data. The paper leaves the smallest one open; with a hundred of the best matches, as
    some implementations have it, a blurred model that holds for them ends the run much too early.
    """
    n = is_inlier.size
    smallest = (n + 1) // 2 if (n + 1) // 2 > sample_size else sample_size
    inliers = 0
    highest = 0.0
    best_inliers, best_size = 0, n
    for rank in range(n):
        agrees = is_inlier[ranking[rank]]
        inliers += 1 if agrees else 0
        size = rank + 1
        if size < smallest or not (agrees or size == smallest) or inliers < nonrandom[size]:
            continue
        probability = all_inlier_probability(inliers, size, sample_size)
        if probability > highest:
            highest = probability
            best_inliers, best_size = inliers, size
    return ransac_iterations(best_inliers, best_size, sample_size, confidence), best_size


def prepare(n: int, sample_size: int) -> Ints:
    """Return the supports that are not random, for sets of 0, ..., n data."""
    supports = np.empty(n + 1, np.int64)
    nonrandom_supports(sample_size, supports)
    return supports


def required_iterations(
    is_inlier: Bools, ranking: Ints, history: Floats, progress: Any, indices: Ints, sample_size: int, confidence: float
) -> float:
    """Return the number of samples for the inliers of the best model; limit the set that PROSAC draws from."""
    bound, size = prosac_iterations(is_inlier, ranking, indices, sample_size, confidence)
    progress.subset_limit = size
    return bound
