"""The stopping criterion of RANSAC with the sequential test (Chum and Matas, PAMI 2008)."""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined
from bansac.engine.stopping.ransac import all_inlier_probability
from bansac.maths.arrays import Bools, Floats, Ints


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


def required_iterations(
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
