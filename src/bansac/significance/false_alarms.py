"""Test whether chance explains the support of a model: the number of false alarms (NFA) of an a-contrario model.

Under the hypothesis that the data have no structure, each point or match has a residual of at most t with probability
alpha(t), independent of the others. The number of models through m of n data, s a sample, that have some k data within
t is expected to be at most

    NFA(k, t) = s (n - m) C(n, k) C(k, m) alpha(t)^(k - m)

where n - m counts the values of k that are tried (Moisan and Stival, IJCV 2004; Moulon, Monasse and Marlet, ACCV 2012).
It bounds the probability that any model, and so the best of a run of any length, has that support. The smallest over
all k, with t the k-th residual, weighs the number of inliers against their exactness: a few exact ones count as many
rough ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bansac.numeric.arrays import Floats
from bansac.numeric.jit import inlined

__all__ = ["SIGNIFICANT", "log_binomial_tail", "log_choose", "log_false_alarms", "log_nfa"]

# A model is significant if chance gives its support in less than one search of ten thousand: a refined model may have
# a little more support than every model through a sample.
SIGNIFICANT = math.log(1e-4)

_log_factorials = np.zeros(1)


def log_nfa(alpha: Floats, n: int, sample_size: int, max_models: int) -> float:
    """Return the log of the smallest number of false alarms over the sizes of the support.

    Parameters
    ----------
    alpha : (K,) ndarray
        ``alpha[k - 1]`` is the probability that a random match has at most the k-th smallest residual of the support.
    n, sample_size : int
        Numbers of data, K of them in the support, and of data in a minimal sample.
    max_models : int
        Models that one sample gives at most.

    Returns
    -------
    float
        Below ``SIGNIFICANT`` where the model is no product of chance; inf without more support than a sample.
    """
    m, largest = sample_size, alpha.size
    if largest <= m:
        return math.inf
    return float(log_false_alarms(np.arange(m + 1, largest + 1), alpha[m:], n, m, max_models).min())


def log_false_alarms(k: Any, alpha: Any, n: int, sample_size: int, max_models: int) -> Any:
    """Return log NFA(k, t), for a number or an array of ``k`` > ``sample_size`` and of ``alpha``."""
    m = sample_size
    table = _log_factorial_table(n)
    # C(n, k) C(k, m) = n! / ((n - k)! m! (k - m)!)
    subsets = table[n] - table[n - k] - table[m] - table[k - m]
    return math.log(max_models * max(n - m, 1)) + subsets + (k - m) * np.log(alpha)


@inlined
def log_choose(n: int, k: int) -> float:
    """Return log C(n, k)."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _log_factorial_table(n: int) -> Floats:
    """Return log 0!, ..., log n! or more."""
    global _log_factorials
    if _log_factorials.size <= n:
        _log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1.0, 2 * n + 1024))))
    return _log_factorials


@inlined
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
