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

import math

import numpy as np

from bansac.compiled.jit import inlined, kernel
from bansac.maths.arrays import Floats

# Log of the NFA below which a model is significant. It is as low as 1e-4, because a refined model may have slightly
# more support than every model of a sample, and because up to four tests are made.
SIGNIFICANT = math.log(1e-4)

_log_factorials = np.zeros(1)


def log_nfa(alpha: Floats, n: int, sample_size: int, max_models: int) -> float:
    """Return the log of the smallest number of false alarms over all support sizes k; inf if no k exceeds a sample.

    ``alpha[k - 1]`` is the probability that a random point of ``n`` has at most the k-th smallest residual of the
    support. A sample of ``sample_size`` points has at most ``max_models`` models. The model is significant below
    ``SIGNIFICANT``.
    """
    return math.log(max_models * max(n - sample_size, 1)) + _smallest(alpha, n, sample_size, log_factorials(n))


@kernel
def _smallest(alpha: Floats, n: int, m: int, table: Floats) -> float:
    """Return the minimum of log (C(n, k) C(k, m) alpha^(k - m)); ``table`` has the logs of the factorials."""
    smallest = np.inf
    for k in range(m + 1, alpha.size + 1):
        subsets = table[n] - table[n - k] - table[m] - table[k - m]  # C(n, k) C(k, m)
        smallest = min(smallest, subsets + (k - m) * math.log(alpha[k - 1]))
    return smallest


@inlined
def log_choose(n: int, k: int) -> float:
    """Return log C(n, k)."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def log_factorials(n: int) -> Floats:
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


@kernel
def binomial_tail(k: int, n: int, p: float) -> float:
    """Return P(X >= k) for a binomial X with n trials of probability p, or 1 if k is at most n p."""
    if k <= n * p:
        return 1.0
    term = math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))
    total, ratio = 0.0, p / (1.0 - p)
    for i in range(k, n + 1):
        total += term
        term *= ratio * (n - i) / (i + 1.0)
        if term < 1e-17 * total:
            break
    return min(total, 1.0)
