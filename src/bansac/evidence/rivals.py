"""Rivals: another model that the data support beside the best one.

The search keeps the hypotheses that its restarts led to (``bansac.engine.restarts``). One of them is a rival if it has
inliers of its own, which are not near the best model: at least a share of the inliers of the best, more than chance
explains. The same share is enough for a finer model that does not explain the inliers of the best one: the best
then fits two structures, at a threshold as large as their distance. A model of large noise, with a much larger
threshold than the best one, is no rival.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.evidence.false_alarms import log_nfa
from bansac.evidence.null_model import measure_far
from bansac.evidence.random_models import NEAR
from bansac.evidence.significance import MeasuredModel, is_significant
from bansac.maths.arrays import Bools, Floats
from bansac.problems.problem import Problem

SAME = 0.9
"""Two models are the same if the intersection of their inlier sets is at least this share of the union."""

RIVAL = 0.25
"""A rival needs this share of the inliers of the best hypothesis, and so does a plane of several."""

FINER = 0.5
"""A structure in a mixture has a threshold below this share of that of the mixture."""

# Number of standard deviations by which a finer model has more data near it.
_MORE = 3.0

# A model with a threshold above these numbers of thresholds and of noise limits of the best one is no rival: its
# inliers may be outliers that were searched within a window. An overlay has less noise than the scene behind it.
_COARSER, _NOISIER = 4.0, 2.0


def significance_over_thresholds(
    problem: Problem, data: Floats, smallest: float, model: Floats, threshold: float
) -> float:
    """Return -log NFA of a flat model over all thresholds up to its own, to compare models of different noise.

    Matches are rearranged with any others, not with neighbours. Few of these residuals are small. So the probability of
    one below the distance of the first percent is that of the volume within it. Residuals below ``smallest`` are raised
    to it. A single point or match has no chance to be compared with: -inf.
    """
    if data.shape[1] < 2:
        return -np.inf
    residuals = np.sort(problem.distances(data, model))
    residuals = np.maximum(residuals[residuals <= threshold], smallest)
    null_model = measure_far(problem, data, model)
    k = null_model.far.size // 100
    anchor = max(float(null_model.far[k]), smallest)
    volume = (k + 1) / (null_model.far.size + 1) * (residuals / anchor) ** problem.traits.codimension
    alpha = np.where(residuals < anchor, np.maximum(volume, null_model.resolution), null_model.probability(residuals))
    return -log_nfa(alpha, data.shape[1], problem.sample_size, problem.max_models)


def is_rival(problem: Problem, data: Floats, best: MeasuredModel, model: Floats, threshold: float) -> bool:
    """Return whether a flat model with a threshold is a rival of the best one; lengths are in the unit of the data."""
    if threshold > max(_COARSER * best.threshold, _NOISIER * best.noise):
        return False
    is_finer = threshold <= FINER * best.threshold and _is_finer(problem, data, best, model, threshold)
    return is_finer or _has_own(problem, data, best, model, threshold)


def _is_finer(problem: Problem, data: Floats, best: MeasuredModel, model: Floats, threshold: float) -> bool:
    """Return whether a model of less noise has enough inliers and does not explain those of the best model."""
    distances = problem.distances(data, model)
    explained = np.count_nonzero(distances[best.inliers] <= best.threshold)
    enough = np.count_nonzero(distances <= threshold) >= RIVAL * best.num_inliers
    return bool(enough and explained < SAME * best.num_inliers) and has_more_near(distances, best.residuals, threshold)


def _has_own(problem: Problem, data: Floats, best: MeasuredModel, model: Floats, threshold: float) -> bool:
    """Return whether a model has enough inliers that are not near the best model, more than chance explains."""
    others = np.ascontiguousarray(data[:, best.residuals > NEAR * best.threshold])
    own = int(np.count_nonzero(problem.distances(others, model) <= threshold))
    enough = own > problem.sample_size and own >= RIVAL * best.num_inliers
    return enough and is_significant(problem, others, model, threshold, noise=best.noise)


@inner_kernel
def are_same(first: Bools, second: Bools, inliers: int, others: int) -> bool:
    """Return whether two models with these masks and numbers of inliers are the same."""
    both = 0
    for k in range(first.size):
        both += 1 if first[k] and second[k] else 0
    return both >= SAME * (inliers + others - both)


def is_same(first: Bools, second: Bools) -> bool:
    """Return whether two models with these masks of inliers are the same."""
    both = int(np.count_nonzero(first & second))
    return both >= SAME * (int(np.count_nonzero(first)) + int(np.count_nonzero(second)) - both)


def is_between(residuals: Floats, codimension: int) -> bool:
    """Return whether a model lies between its inliers, with these residuals: few are near it, beyond chance.

    The residuals of noise are not denser farther off, and those of a compromise of two structures are. So the numbers
    are compared in two equal volumes, which the median residual limits.
    """
    median = np.median(residuals) if residuals.size else 0.0
    within = np.count_nonzero(residuals <= median)
    near = np.count_nonzero(residuals <= median * 0.5 ** (1.0 / codimension))
    return bool(within - 2 * near > _MORE * math.sqrt(within))


def has_more_near(distances: Floats, others: Floats, threshold: float) -> bool:
    """Return whether more data are within a threshold of a model than of another one, beyond chance (McNemar, 1947).

    A model of large noise has nearly as many there as one that is fitted to them.
    """
    near, near_other = distances <= threshold, others <= threshold
    gained, lost = np.count_nonzero(near & ~near_other), np.count_nonzero(near_other & ~near)
    return bool(gained - lost > _MORE * math.sqrt(gained + lost))
