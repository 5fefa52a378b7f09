"""AR, the adaptive reordering sampler: points of failed samples lose priority (Wei, Matas and Barath, ICCV 2023).

The inlier probability of a point has a Beta prior. Its mean is the given prior, and its variance is the same for all
points. An unsuccessful sample counts as one failed trial of each of its points. After n failures the posterior is
Beta(a, b + n), with the mean (arXiv 2111.14093)::

    E(mu | n failures) = a / (a + b + n)

The sample consists of the m points of highest priority. The priority is this mean plus a small random number, so points
of equal mean take turns. A new random number is drawn only when the priority changes, so the order of all other points
stays the same.
"""

from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import inlined, kernel, plain
from bansac.engine.dbn import MIN_PRIOR
from bansac.engine.sampling.baysac import sample_most_probable
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import next_uint64, unit_fraction

# Variance of the Beta prior.
VARIANCE = 0.01

# Smallest a + b. A Beta distribution of mean mu has a variance below mu (1 - mu), which is smaller than VARIANCE near 0
# and 1. At its first failure a sure point falls to 4 / 5, as by Bayes' rule in a sample of five (see baysac).
_MIN_CONCENTRATION = 4.0

# Largest absolute value of the random number that is added to a priority.
PERTURBATION = 0.01


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


class Memory(NamedTuple):
    """The arrays of the sampler, each of length N."""

    prior: Floats
    priority: Floats
    failures: Ints


@inlined
def views(numbers: Floats, indices: Ints) -> Memory:
    """Return the arrays that ``numbers`` (2 N) and ``indices`` (N) hold."""
    return Memory(numbers[: indices.size], numbers[indices.size :], indices)


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the memory with the priors and the first priorities."""
    n = setup.data.shape[1]
    numbers, indices = np.empty(2 * n), np.zeros(n, np.int64)
    memory = plain(views)(numbers, indices)
    memory.prior[:] = 0.5 if setup.prior is None else setup.prior
    start_priority(setup.rng, memory.prior, memory.priority)
    return numbers, indices


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw the next sample."""
    sample_most_probable(rng, views(numbers, indices).priority, sample)


def learn_from_failure(rng: Words, numbers: Floats, indices: Ints, sample: Ints) -> None:
    """Count one more failure of each point of the sample, and update the priorities."""
    memory = views(numbers, indices)
    for i in range(sample.size):
        n = sample[i]
        memory.failures[n] += 1
        memory.priority[n] = _posterior_mean(memory.prior[n], memory.failures[n]) + _perturbation(rng)


def probabilities(numbers: Floats, indices: Ints) -> Floats:
    """Return the posterior means, without perturbation."""
    memory = plain(views)(numbers, indices)
    return np.asarray(plain(_posterior_mean)(memory.prior, memory.failures))
