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
from bansac.maths.arrays import Bools, Floats

# Log of the NFA below which a model is significant. It is as low as 1e-4, because a refined model may have slightly
# more support than every model of a sample, and because up to four tests are made.
SIGNIFICANT = math.log(1e-4)

_log_factorials = np.zeros(1)


def log_nfa(
    first: Floats, following: Floats, follows: Bools, n: tuple[int, int], sample_size: int, max_models: int
) -> float:
    """Return the log of the smallest number of false alarms over all support sizes k; inf if no k exceeds a sample.

    A point that follows a neighbour agrees with the model more often than the first of its neighbours. So both kinds
    are counted apart: C(n, k) alpha^k is the product over the kinds. It is at most 1 for points that follow.

    ``first[k - 1]`` is the probability that a point that follows no neighbour has at most the k-th smallest residual of
    the support, ``following[k - 1]`` the same for a point that follows one. ``follows[k - 1]`` says whether the point
    with the k-th smallest residual follows one. ``n`` are the numbers of points that follow none, and that do. A sample
    of ``sample_size`` points has at most ``max_models`` models. The model is significant below ``SIGNIFICANT``.
    """
    table = _log_factorial_table(n[0] + n[1])
    return math.log(max_models) + _smallest_log_nfa(first, following, follows, n, sample_size, table)


@kernel
def _smallest_log_nfa(
    first: Floats, following: Floats, follows: Bools, n: tuple[int, int], m: int, table: Floats
) -> float:
    """Return the minimum for one model of a sample; ``table`` has the logs of the factorials."""
    smallest, k_following = np.inf, 0
    for k in range(1, follows.size + 1):
        k_following += 1 if follows[k - 1] else 0
        if k > m:
            k_first = k - k_following
            free = min(k_first, m)  # the points of the sample agree in any case
            others = _choose(table, n[1], k_following) + (k_following - (m - free)) * math.log(following[k - 1])
            subsets = _choose(table, n[0], k_first) + (k_first - free) * math.log(first[k - 1])
            smallest = min(smallest, _choose(table, k, m) + subsets + min(others, 0.0))
    return smallest + math.log(max(n[0] + n[1] - m, 1) * (n[1] + 1.0))


@inlined
def _choose(table: Floats, n: int, k: int) -> float:
    """Return log C(n, k) from a table of log factorials."""
    logarithm: float = table[n] - table[n - k] - table[k]
    return logarithm


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
