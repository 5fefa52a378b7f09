"""PROSAC's stopping criterion: maximality and non-randomness (Chum and Matas, CVPR 2005, section 2.2)."""

from typing import Any

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.stopping.ransac import all_inlier_probability, ransac_iterations
from bansac.maths.arrays import Bools, Floats, Ints

# The probability beta that a point agrees with a bad model, and the level psi of the non-randomness test.
_CHANCE_RATE = 0.05
_LEVEL = 0.05


@kernel
def prepare(n: int, sample_size: int) -> Ints:
    """Return the smallest non-random numbers of inliers for sets of 0, ..., n points; those below m are undefined.

    For k points it is the smallest I with P(m + B >= I) < psi, where B ~ Binomial(k - m, beta) is the number of chance
    inliers outside of the sample (Chum and Matas, 2005, eq. 9; the exponent of 1 - beta there has a misprint). One more
    point increases the tail P(B >= j) by beta P(B = j - 1), so one pass is enough.
    """
    supports = np.empty(n + 1, np.int64)
    odds = _CHANCE_RATE / (1 - _CHANCE_RATE)
    j = 1  # index of the tail P(B >= j)
    below = 1.0  # P(B = j - 1)
    tail = 0.0
    for size in range(sample_size, n + 1):
        trials = size - sample_size
        if trials > 0:
            # from trials - 1 to trials: first the tail, then P(B = j - 1)
            tail += _CHANCE_RATE * below
            below *= (1 - _CHANCE_RATE) * trials / (trials - j + 1)
        while tail >= _LEVEL:
            below *= odds * (trials - j + 1) / j  # P(B = j)
            tail -= below
            j += 1
        supports[size] = sample_size + j
    return supports


def required_iterations(
    is_inlier: Bools, ranking: Ints, history: Floats, progress: Any, indices: Ints, sample_size: int, confidence: float
) -> float:
    """Return the number of samples that PROSAC requires, and limit the set that it draws from to the best one.

    Only sets of the n best points whose number of inliers is not random are considered (non-randomness). The set with
    the highest probability of an all-inlier sample requires the fewest samples (maximality; Chum and Matas, 2005,
    section 2.2). The number is inf if chance explains the inliers of every set.

    A set must contain at least half of the points. The paper does not specify the smallest set. If it is the hundred
    best matches, as in some implementations, an inaccurate model that fits them ends the run much too early.
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
        if size < smallest or not (agrees or size == smallest) or inliers < indices[size]:
            continue
        probability = all_inlier_probability(inliers, size, sample_size)
        if probability > highest:
            highest = probability
            best_inliers, best_size = inliers, size
    progress.subset_limit = best_size
    return ransac_iterations(best_inliers, best_size, sample_size, confidence)
