"""BaySAC and AR: the sample consists of the points of highest priority, which falls if the sample fails.

BaySAC (Botterill et al., BMVC 2009) takes the most probable sample. If its model is not the right one, the sample
contains an outlier. Let the points be independent, and let Q be the product of the P_j of the sample. Then Bayes' rule
gives for a point i of the sample::

    P(i in I | failure) = (P(i in I) - P(i in I and no outlier in the sample)) / P(failure) = (P_i - Q) / (1 - Q)

because a sample without outliers has i in I. All other points keep their probabilities. After this step the points of
the sample are no longer independent. BaySAC treats them as independent, so it is a naive Bayes method.

AR is the adaptive reordering sampler (Wei, Matas and Barath, ICCV 2023). The inlier probability of a point has a Beta
prior. Its mean is the given prior, and its variance is the same for all points. An unsuccessful sample counts as one
failed trial of each of its points. After n failures the posterior is Beta(a, b + n), with
the mean (arXiv 2111.14093)::

    E(mu | n failures) = a / (a + b + n)

The priority is this mean plus a small random number, so points of equal mean take turns. A new random number is drawn
only when the priority changes, so the order of all other points stays the same.
"""

from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel, kernel, plain
from bansac.engine.dbn import MIN_PRIOR, clip_prior
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import next_index, next_uint64, unit_fraction

# Variance of the Beta prior.
VARIANCE = 0.01

# Smallest a + b. A Beta distribution of mean mu has a variance below mu (1 - mu), which is smaller than VARIANCE near 0
# and 1. At its first failure a sure point falls to 4 / 5, as by Bayes' rule in a sample of five (see baysac).
_MIN_CONCENTRATION = 4.0

# Largest absolute value of the random number that is added to a priority.
PERTURBATION = 0.01


@inner_kernel
def sample_most_probable(rng: Words, priority: Floats, sample: Ints) -> None:
    """Fill the sample with the points of largest ``priority``; ties for the last places are broken at random."""
    m = sample.size
    last = _find_largest(priority, sample)
    ties = 0
    for n in range(priority.size):
        ties += 1 if priority[n] == last else 0
    places = 0
    for i in range(m):
        places += 1 if priority[sample[i]] == last else 0
    if ties == places:
        return
    n = 0
    while places > 0:  # selection sampling (Knuth, volume 2, section 3.4.2, algorithm S)
        if priority[n] == last:
            if next_index(rng, ties) < places:
                sample[m - places] = n
                places -= 1
            ties -= 1
        n += 1


@inlined
def _find_largest(priority: Floats, sample: Ints) -> float:
    """Fill the sample with points of largest priority in descending order; return the smallest of these priorities."""
    m = sample.size
    last = -np.inf
    for n in range(priority.size):
        value = priority[n]
        if n < m or value > last:
            place = n if n < m else m - 1
            end = place
            while place > 0 and priority[sample[place - 1]] < value:
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = n
            last = priority[sample[end]]
    return last


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample; the first of the ``numbers`` are the priorities of the points."""
    sample_most_probable(rng, numbers[: data.shape[1]], sample)


def start_baysac(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the prior inlier probabilities, and an empty array."""
    prior = np.full(setup.data.shape[1], 0.5) if setup.prior is None else setup.prior.copy()
    return prior, np.empty(0, np.int64)


def fail_baysac(rng: Words, numbers: Floats, indices: Ints, sample: Ints) -> None:
    """Update the inlier probabilities of the points of a failed sample, in place.

    Probabilities are clipped off 0 and 1, as for BANSAC. A point at 0 would stay there, and a sample of points at 1
    could not fail.
    """
    product = 1.0
    for i in range(sample.size):
        product *= clip_prior(numbers[sample[i]])
    for i in range(sample.size):
        point = sample[i]
        numbers[point] = clip_prior((clip_prior(numbers[point]) - product) / (1.0 - product))


def probabilities_baysac(numbers: Floats, indices: Ints) -> Floats:
    """Return the inlier probabilities."""
    return numbers


@kernel
def start_priority(rng: Words, prior: Floats, priority: Floats) -> None:
    """Write the perturbed prior probabilities to ``priority``."""
    for n in range(prior.size):
        priority[n] = prior[n] + _perturbation(rng)


@inlined
def _posterior_mean(prior: Any, draws: Any) -> Any:
    """Return a / (a + b + n), where a + b = mean (1 - mean) / variance - 1 and a = mean (a + b).

    Priors are clipped off 0 and 1, as for BANSAC. Kernels pass numbers, Python passes arrays.
    """
    mean = np.minimum(np.maximum(prior, MIN_PRIOR), 1.0 - MIN_PRIOR)
    concentration = np.maximum(mean * (1.0 - mean) / VARIANCE - 1.0, _MIN_CONCENTRATION)
    return mean * concentration / (concentration + draws)


@inlined
def _perturbation(rng: Words) -> float:
    """Return a uniform random number in [-PERTURBATION, PERTURBATION]."""
    return PERTURBATION * (2.0 * (unit_fraction(next_uint64(rng))) - 1.0)


def start_ar(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the first priorities followed by the priors, and the numbers of failures."""
    n = setup.data.shape[1]
    numbers = np.empty(2 * n)
    numbers[n:] = 0.5 if setup.prior is None else setup.prior
    start_priority(setup.rng, numbers[n:], numbers[:n])
    return numbers, np.zeros(n, np.int64)


def fail_ar(rng: Words, numbers: Floats, indices: Ints, sample: Ints) -> None:
    """Count one more failure of each point of the sample, and update the priorities."""
    for i in range(sample.size):
        n = sample[i]
        indices[n] += 1
        numbers[n] = _posterior_mean(numbers[indices.size + n], indices[n]) + _perturbation(rng)


def probabilities_ar(numbers: Floats, indices: Ints) -> Floats:
    """Return the posterior means, without perturbation."""
    return np.asarray(plain(_posterior_mean)(numbers[indices.size :], indices))
