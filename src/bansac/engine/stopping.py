"""When to stop: the number of samples that RANSAC, SPRT and PROSAC ask for."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.jit import inlined, kernel

__all__ = [
    "all_inlier_probability",
    "prosac_iterations",
    "ransac_iterations",
    "significant_supports",
    "sprt_iterations",
]

# PROSAC: the probability that a datum agrees with a bad model, and the level of the test that its support is no chance
# (beta and psi, Chum and Matas, 2005, section 2.2).
_CHANCE_RATE = 0.05
_LEVEL = 0.05


@inlined
def all_inlier_probability(inliers: int, n: int, sample_size: int) -> float:
    """Return the probability that a uniform sample without replacement has inliers only.

    It is prod (I - i) / (N - i), not the usual (I / N)^m, which asks for too few samples (Schoenberger et al., 2025).
    """
    probability = 1.0
    for i in range(sample_size):
        probability *= (inliers - i) / (n - i) if inliers > i else 0.0
    return probability


@kernel
def ransac_iterations(inliers: int, n: int, sample_size: int, confidence: float) -> float:
    """Return how many samples contain one of inliers only, with probability ``confidence`` (Fischler and Bolles)."""
    probability = all_inlier_probability(inliers, n, sample_size)
    if probability <= 0:
        return np.inf
    if probability >= 1:
        return 1.0
    return math.log1p(-confidence) / math.log1p(-probability)


@inlined
def _test_exponent(epsilon: float, row: NDArray[np.float64]) -> float:
    """Return the root h > 0 of eps (delta_i / eps_i)^h + (1 - eps) ((1 - delta_i) / (1 - eps_i))^h = 1.

    ``A_i^-h`` is the probability that test i (``row``) rejects a model with inlier ratio ``epsilon`` (Chum and Matas,
    2008, eq. 17). Where the test expects more inliers than the model has there is no positive root, and a good model
    would be rejected for sure: 0.
    """
    log_inlier = math.log(row[1] / row[0])
    log_outlier = math.log((1 - row[1]) / (1 - row[0]))
    if epsilon * log_inlier + (1 - epsilon) * log_outlier >= 0:
        return 0.0
    low, high = 0.0, 1.0
    while high < 1e3 and epsilon * math.exp(high * log_inlier) + (1 - epsilon) * math.exp(high * log_outlier) < 1:
        low = high
        high *= 2
    for _ in range(40):
        middle = 0.5 * (low + high)
        if epsilon * math.exp(middle * log_inlier) + (1 - epsilon) * math.exp(middle * log_outlier) < 1:
            low = middle
        else:
            high = middle
    return low


@kernel
def sprt_iterations(
    inliers: int, n: int, sample_size: int, confidence: float, history: NDArray[np.float64], iterations: int
) -> float:
    """Return how many samples SPRT asks for (Chum and Matas, 2008, section 3.2).

    A sample counts if it has inliers only and its model passes the test, P_g (1 - A_i^-h_i). The samples tested so far
    have missed a better model with probability eta; the bound is where eta falls to 1 - confidence.

    ``history`` has one row a test: epsilon, delta, log A, samples tested. ``iterations`` is the number of samples so
    far, those before the first test included, which had no chance of a wrong rejection.
    """
    good = all_inlier_probability(inliers, n, sample_size)
    if good <= 0:
        return np.inf
    if good >= 1:
        return 1.0
    epsilon = inliers / n
    tested = 0.0
    log_eta = 0.0
    passes = 1.0
    for i in range(history.shape[0]):
        row = history[i]
        passes = 1 - math.exp(-row[2] * _test_exponent(epsilon, row))
        log_eta += row[3] * math.log1p(-good * passes)
        tested += row[3]
    log_eta += (iterations - tested) * math.log1p(-good)
    remaining = math.log1p(-confidence) - log_eta
    if remaining >= 0:
        return np.float64(iterations)
    if passes <= 0:
        return np.inf
    return iterations + remaining / math.log1p(-good * passes)


@kernel
def significant_supports(sample_size: int, supports: NDArray[np.int64]) -> None:
    """Write into ``supports[n]`` how many inliers among the best n data are no product of chance, for PROSAC's stop.

    The smallest I with P(m + B >= I) < psi, where B ~ Binomial(n - m, beta) counts the chance inliers outside of the
    sample (Chum and Matas, 2005, eq. 9; the exponent of 1 - beta there has a misprint). ``supports`` has N + 1 entries;
    those below m are not written. One more datum raises the tail P(B >= j) by beta P(B = j - 1), so one pass does it.
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


@kernel
def prosac_iterations(
    is_inlier: NDArray[np.bool_],
    ranking: NDArray[np.int64],
    significant: NDArray[np.int64],
    sample_size: int,
    confidence: float,
) -> tuple[float, int]:
    """Return how many samples PROSAC asks for, and the number n* of best data that ask for the fewest.

    Of the sets of the n best data whose inliers are no chance (non-randomness), the one with the most inliers for its
    size needs the fewest samples (maximality; Chum and Matas, 2005, section 2.2). ``ranking`` lists the data by
    decreasing quality; ``significant`` comes from ``significant_supports``. Infinity where chance explains every set.

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
        if size < smallest or not (agrees or size == smallest) or inliers < significant[size]:
            continue
        probability = all_inlier_probability(inliers, size, sample_size)
        if probability > highest:
            highest = probability
            best_inliers, best_size = inliers, size
    return ransac_iterations(best_inliers, best_size, sample_size, confidence), best_size
