"""What the tests of several samplers need: a record in the place of the run's, and tests of equal probability."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from bansac.engine.state import make_record

RUN = np.dtype([("draws", np.int64), ("subset", np.int64), ("subset_limit", np.int64)], align=True)


def start_run(n, draws=0, limit=None):
    """Return the samplers' part of a run."""
    return make_record(RUN, draws=draws, subset_limit=n if limit is None else limit)


def fits(sample, must, pool):
    """Say whether the sample holds distinct data, all that it must hold, and no other than those of the pool."""
    chosen = set(sample)
    return len(chosen) == len(sample) and must <= chosen <= must | pool


def equally_frequent(outcomes, possible):
    """Say whether exactly the possible outcomes occur, each as often as chance lets expect (4.5 deviations)."""
    counts = Counter(outcomes)
    possible = list(possible)
    p = 1 / len(possible)
    deviation = np.sqrt(len(outcomes) * p * (1 - p))
    return set(counts) == set(possible) and all(
        abs(count - len(outcomes) * p) < 4.5 * deviation for count in counts.values()
    )


def subsets(items, size):
    """Return all subsets of one size, as frozen sets."""
    return [frozenset(chosen) for chosen in itertools.combinations(sorted(items), size)]
