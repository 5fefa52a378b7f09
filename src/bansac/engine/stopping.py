"""Stopping criteria; ``STOPS`` lists them with their traits.

For every new best model, a criterion computes the required number of samples. A restart ends as soon as one of its
criteria is met. Its functions are those of :class:`Stop`.

BANSAC's criterion is not a function. The loop checks it against the probabilities after every update.

The paper checks the criteria at each iteration, as ``preset="paper"`` does. By default no criterion ends a restart with
a network before its 20th update (``min_updates``). BANSAC's criterion assumes that points are below tau because the
classifications have excluded them. At the start only the prior can have done so: if all scores are small and below tau,
the restart would end at its first model. The bounds of RANSAC and PROSAC do not hold either while the network still
changes the sampling. An update is a vote on every point. After 20 updates, points are below tau because of evidence,
whatever their prior. By then the support of a random model is also known (``bansac.engine.state.FULL_MODELS``).

Degenerate samples give no update. If most samples are degenerate, as in a scene with one plane, the bounds (but not
BANSAC's criterion) may end the restart once there are five classifications C^k for each update that is asked for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.maths.arrays import Bools, Floats, Ints

StopName = Literal["bansac", "ransac", "sprt", "prosac"]

# PROSAC: the probability beta that a point agrees with a bad model, and the level psi of the non-randomness test.
_CHANCE_RATE = 0.05
_LEVEL = 0.05


@inlined
def all_inlier_probability(inliers: int, n: int, sample_size: int) -> float:
    """Return the probability that a uniform sample without replacement contains inliers only.

    It is prod (I - i) / (N - i). The usual (I / N)^m requires too few samples (Schoenberger et al., 2025).
    """
    probability = 1.0
    for i in range(sample_size):
        probability *= (inliers - i) / (n - i) if inliers > i else 0.0
    return probability


@inner_kernel
def ransac_iterations(inliers: int, n: int, sample_size: int, confidence: float) -> float:
    """Return the number of samples needed for an all-inlier one with probability ``confidence`` (Fischler and Bolles).

    It is at least 1, although the formula gives less if a single sample is enough.
    """
    probability = all_inlier_probability(inliers, n, sample_size)
    if probability <= 0:
        return np.inf
    if probability >= 1:
        return 1.0
    samples = math.log1p(-confidence) / math.log1p(-probability)
    return samples if samples > 1.0 else 1.0


def required_by_ransac(
    is_inlier: Bools, ranking: Ints, history: Floats, progress: Any, indices: Ints, sample_size: int, confidence: float
) -> float:
    """Return the required number of samples for the inliers of the best model."""
    return ransac_iterations(progress.best_inliers, is_inlier.size, sample_size, confidence)


@kernel
def prepare_prosac(n: int, sample_size: int) -> Ints:
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


def required_by_prosac(
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


@inlined
def _test_exponent(epsilon: float, test: Floats) -> float:
    """Return the root h > 0 of eps (delta_i / eps_i)^h + (1 - eps) ((1 - delta_i) / (1 - eps_i))^h = 1.

    ``A_i^-h`` is the probability that test i (``test``) rejects a model with inlier ratio ``epsilon`` (Chum and Matas,
    2008, eq. 17). If the test expects more inliers than the model has, there is no positive root. Then a good model is
    always rejected, and the exponent is 0.
    """
    log_inlier = math.log(test[1] / test[0])
    log_outlier = math.log((1 - test[1]) / (1 - test[0]))
    if epsilon * log_inlier + (1 - epsilon) * log_outlier >= 0:
        return 0.0
    h, excess, slope = 0.5, -1.0, 0.0
    while excess < 0:
        h *= 2
        excess, slope = _excess(epsilon, h, log_inlier, log_outlier)
    lower = h - excess / slope  # Newton's method descends to the root of a convex function
    while lower < h:
        h = lower
        excess, slope = _excess(epsilon, h, log_inlier, log_outlier)
        lower = h - excess / slope
    return h if h > 0 else 0.0


@inlined
def _excess(epsilon: float, h: float, log_inlier: float, log_outlier: float) -> tuple[float, float]:
    """Return the left side of the equation minus 1, and its derivative with respect to h."""
    inlier, outlier = epsilon * math.exp(h * log_inlier), (1 - epsilon) * math.exp(h * log_outlier)
    return inlier + outlier - 1, inlier * log_inlier + outlier * log_outlier


def required_by_sprt(
    is_inlier: Bools, ranking: Ints, history: Floats, progress: Any, indices: Ints, sample_size: int, confidence: float
) -> float:
    """Return the number of samples that SPRT requires (Chum and Matas, 2008, section 3.2).

    A sample is successful if it contains inliers only and its model passes the test. The probability is
    P_g (1 - A_i^-h_i). The samples so far have missed a better model with probability eta. The bound is the number of
    samples at which eta falls to 1 - confidence. The samples so far include those before the first test, whose models
    could not be rejected.
    """
    inliers, n, iterations = progress.best_inliers, is_inlier.size, int(progress.iterations)
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
        test = history[i]
        passes = 1 - math.exp(-test[2] * _test_exponent(epsilon, test))
        log_eta += test[3] * math.log1p(-good * passes)
        tested += test[3]
    log_eta += (iterations - tested) * math.log1p(-good)
    remaining = math.log1p(-confidence) - log_eta
    if remaining >= 0:
        return np.float64(iterations)
    if passes <= 0:
        return np.inf
    return iterations + remaining / math.log1p(-good * passes)


@dataclass(frozen=True)
class Stop:
    """A stopping criterion, built in or the user's.

    Parameters
    ----------
    name : str
        Its name, which is the ``stop_reason`` of a run that it ends.
    required_iterations : callable
        ``required_iterations(is_inlier, ranking, history, progress, indices, sample_size, confidence) -> float``
        returns the required number of samples, or inf if the criterion gives no bound. It is compiled. ``is_inlier`` is
        the mask of the best model. ``ranking`` lists the indices of the points by decreasing quality (empty without
        scores). ``history`` has a row for each sequential test (epsilon, delta, log A, samples tested). ``progress`` is
        the progress of the run (``bansac.engine.state.PROGRESS``). PROSAC's criterion also writes
        ``progress.subset_limit``, the size of the largest set that PROSAC draws from.
    prepare : callable, optional
        ``prepare(n, sample_size) -> indices`` returns the memory of the criterion, at most N + 1 numbers of type int64.
    order : bool
        Whether it needs the ranking of the points by quality.
    verification : bool
        Whether it needs SPRT verification.
    adaptive : bool
        Whether it needs the dynamic Bayesian network.
    """

    name: str
    required_iterations: Callable[..., float] | None = field(repr=False)  # None for BANSAC's
    prepare: Callable[[int, int], Ints] | None = field(default=None, repr=False)
    order: bool = False
    verification: bool = False
    adaptive: bool = False


# The order is that of the checks: if two criteria are met at once, the first one is the stop reason.
STOPS = {
    "bansac": Stop("bansac", None, adaptive=True),
    "ransac": Stop("ransac", required_by_ransac),
    "sprt": Stop("sprt", required_by_sprt, verification=True),
    "prosac": Stop("prosac", required_by_prosac, prepare_prosac, order=True),
}

MAX_CRITERIA = len(STOPS)
"""Largest number of criteria of a run that give a required number of samples."""
