"""What the tests of several samplers need: the state of PROSAC, and tests of equal probability."""

import itertools
from collections import Counter

import numpy as np

from bansac.compiled.jit import kernel
from bansac.engine.state import PROGRESS
from bansac.maths.rng import seed_rng
from tests.engine.builder import make_record

UNUSED = {"data": np.empty((0, 0)), "odds": np.empty(0, np.float32), "numbers": np.empty(0)}
UNUSED |= dict.fromkeys(("ranking", "indices"), np.empty(0, np.int64))


def compile_draw(module):
    """Return ``draw(rng, sample, subset_limit, largest_odds)`` of the module of a sampler; it also takes its arrays."""
    compiled = kernel(module.draw)

    def draw(rng, sample, *, subset_limit=0, largest_odds=0.0, **arrays):
        progress = make_record(PROGRESS, subset_limit=subset_limit, largest_odds=largest_odds)
        compiled(rng=rng, progress=progress, sample=sample, **UNUSED | arrays)

    return draw


def draw_samples(draw, m, count, seed=1):
    """Return ``count`` samples of m data, one after the other by ``draw(rng, sample)``."""
    rng, sample = seed_rng(seed), np.empty(m, np.int64)
    samples = np.empty((count, m), np.int64)
    for i in range(count):
        draw(rng, sample)
        samples[i] = sample
    return samples


class Prosac:
    """The state of PROSAC: ``counts``, the samples so far and the size of the set, and where growth ends."""

    def __init__(self, n, draws=0, limit=None):
        self.counts = np.array([draws, 0])
        self.limit = n if limit is None else limit


def fits(sample, must, pool):
    """Say whether the sample holds distinct data, all that it must hold, and no other than those of the pool."""
    chosen = set(sample)
    return len(chosen) == len(sample) and must <= chosen <= must | pool


def equally_frequent(outcomes, possible):
    """Say whether exactly the possible outcomes occur, each as often as chance lets expect (4 deviations)."""
    counts = Counter(outcomes)
    possible = list(possible)
    p = 1 / len(possible)
    deviation = np.sqrt(len(outcomes) * p * (1 - p))
    return set(counts) == set(possible) and all(
        abs(count - len(outcomes) * p) < 4 * deviation for count in counts.values()
    )


def subsets(items, size):
    """Return all subsets of one size, as frozen sets."""
    return [frozenset(chosen) for chosen in itertools.combinations(sorted(items), size)]
