"""BaySAC: the most probable all-inlier sample, and the update by its failure (Botterill et al., BMVC 2009).

The sample consists of the m points of highest inlier probability. If its model is not the right one, the sample
contains an outlier. Let the points be independent, and let Q be the product of the P_j of the sample. Then Bayes' rule
gives for a point i of the sample::

    P(i in I | failure) = (P(i in I) - P(i in I and no outlier in the sample)) / P(failure) = (P_i - Q) / (1 - Q)

because a sample without outliers has i in I. All other points keep their probabilities. After this step the points of
the sample are no longer independent. BaySAC treats them as independent, so it is a naive Bayes method.
"""

from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.engine.dbn import clip_prior
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import next_index


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


def learn_from_failure(rng: Words, numbers: Floats, indices: Ints, sample: Ints) -> None:
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


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the prior inlier probabilities, and an empty array."""
    n = setup.data.shape[1]
    prior = np.full(n, 0.5) if setup.prior is None else setup.prior.copy()
    return prior, np.empty(0, np.int64)


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample."""
    sample_most_probable(rng, numbers, sample)


def probabilities(numbers: Floats, indices: Ints) -> Floats:
    """Return the inlier probabilities."""
    return numbers
