"""The number of false alarms (NFA) of an a-contrario model: whether chance explains the support of a model.

Under the null hypothesis the n points or matches have no structure. Each of them has a residual of at most t with
probability alpha(t), independent of the others. A sample of m points gives at most s models. The expected number of
models with some k points within t is at most

    NFA(k, t) = s (n - m) C(n, k) C(k, m) alpha(t)^(k - m)

where n - m is the number of values of k that are tried (Moisan and Stival, IJCV 2004; Moulon, Monasse and Marlet,
ACCV 2012). The NFA bounds the probability that any model has this support. So it also bounds that of the best model of
a run of any length. The test takes the minimum over all k, where t is the k-th smallest residual. A few inliers with
small residuals can be as significant as many with large residuals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bansac.numeric.arrays import Floats
from bansac.numeric.jit import inlined

__all__ = ["SIGNIFICANT", "log_binomial_tail", "log_choose", "log_false_alarms", "log_nfa"]

# Log of the NFA below which a model is significant. It is as low as 1e-4, because a refined model may have slightly
# more support than every model of a sample.
SIGNIFICANT = math.log(1e-4)

_log_factorials = np.zeros(1)


def log_nfa(alpha: Floats, n: int, sample_size: int, max_models: int) -> float:
    """Return the log of the smallest number of false alarms over all support sizes k.

    Parameters
    ----------
    alpha : (K,) ndarray
        ``alpha[k - 1]`` is the probability that a random match has at most the k-th smallest residual of the support.
    n : int
        Number of points; K of them are in the support.
    sample_size : int
        Number of points in a minimal sample.
    max_models : int
        Largest number of models of a sample.

    Returns
    -------
    float
        Below ``SIGNIFICANT`` if the model is significant; inf if the support is not larger than a sample.
    """
    m, largest = sample_size, alpha.size
    if largest <= m:
        return math.inf
    return float(log_false_alarms(np.arange(m + 1, largest + 1), alpha[m:], n, m, max_models).min())


def log_false_alarms(k: Any, alpha: Any, n: int, sample_size: int, max_models: int) -> Any:
    """Return log NFA(k, t); ``k`` > ``sample_size`` and ``alpha`` are numbers or arrays."""
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
    """Return a table of log k! for k = 0, ..., at least n."""
    global _log_factorials
    if _log_factorials.size <= n:
        _log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1.0, 2 * n + 1024))))
    return _log_factorials


@inlined
def log_binomial_tail(k: int, n: int, p: float) -> float:
    """Return an upper bound of log P(X >= k) for a binomial X with n trials of probability p (Chernoff and Hoeffding).

    The bound is -n KL(k / n || p), the exponential rate of the tail. P is smaller by a factor of about sqrt(n).
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
