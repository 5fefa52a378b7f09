"""Test whether the support of a model is significant.

A datum outside the minimal sample agrees with a bad model by chance, so the support of one bad model is binomial. A run
looks at many models and returns the best: the tail is multiplied by the number of models tested (as in the
non-randomness of PROSAC, Chum and Matas, 2005, and of VSAC, Ivashechkin et al., 2021).
"""

from __future__ import annotations

import math

from bansac.numeric.arrays import Ints

__all__ = ["IN_DOUBT", "SIGNIFICANT", "chance_rate", "log_binomial_tail", "log_chance"]

# Bad models are not alike: the best of many has a higher rate of chance inliers than the mean one. On uniform noise a
# factor of 2 lets 3 % of cubic curves pass, one of 3 none of 300 runs of any problem.
_SPREAD = 3.0

# A model is significant if chance gives its support in less than one run of a thousand. Above 1e-12 the rate of chance
# inliers is estimated anew, if the first models are not a fair sample.
SIGNIFICANT = math.log(1e-3)
IN_DOUBT = math.log(1e-12)


def log_chance(
    support: int, n: int, sample_size: int, models_tested: int, chance_n: int, chance_supports: Ints
) -> float:
    """Bound the log of the probability that chance gives the best of ``models_tested`` bad models so much support.

    Parameters
    ----------
    support : int
        Inliers of the model, its sample included.
    n, sample_size, models_tested : int
        Numbers of data, of data in a minimal sample, and of models that the run has looked at.
    chance_n : int
        Number of data from which ``chance_supports`` come.
    chance_supports : (K,) ndarray of int
        Inliers of models that are likely bad, their samples included.

    Returns
    -------
    float
        Below ``SIGNIFICANT`` where the model is no product of chance.
    """
    if support <= sample_size:
        return 0.0
    rate = chance_rate(support, chance_n, sample_size, chance_supports)
    log_tail = log_binomial_tail(support - sample_size, n - sample_size, rate)
    return min(log_tail + math.log(max(models_tested, 1)), 0.0)


def chance_rate(support: int, n: int, sample_size: int, supports: Ints) -> float:
    """Estimate the probability that a datum agrees with a bad model, one inlier being added so that it is never 0.

    A bad model is one with at most half of the support of the best, beyond the sample that fits in any case. Where
    most data are inliers the first models are good already, and there may be no bad one among them.
    """
    beyond = [max(inliers - sample_size, 0) for inliers in supports.tolist()]
    bad = [inliers for inliers in beyond if inliers <= (support - sample_size) / 2]
    trials = max(len(bad), 1) * max(n - sample_size, 1)
    return float(min(_SPREAD * (sum(bad) + 1) / (trials + 1), 1.0))


def log_binomial_tail(k: int, n: int, p: float) -> float:
    """Bound log P(X >= k) for X binomial with n trials of probability p, from above (Chernoff and Hoeffding).

    The bound is -n KL(k / n || p), which is the tail's exponential rate; its error is a factor of some sqrt(n).
    """
    if k <= n * p:
        return 0.0
    if p <= 0 or k > n:
        return -math.inf
    share = k / n
    divergence = share * math.log(share / p)
    if k < n:
        divergence += (1 - share) * math.log((1 - share) / (1 - p))
    return -n * divergence
