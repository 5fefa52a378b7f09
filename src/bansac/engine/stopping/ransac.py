"""RANSAC's stopping criterion: the number of uniform samples until one is all-inlier (Fischler and Bolles, 1981)."""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Bools, Floats, Ints


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


def required_iterations(
    is_inlier: Bools, ranking: Ints, history: Floats, progress: Any, indices: Ints, sample_size: int, confidence: float
) -> float:
    """Return the required number of samples for the inliers of the best model."""
    return ransac_iterations(progress.best_inliers, is_inlier.size, sample_size, confidence)
