"""Tests of paired differences: which of many cells are worse.

A cell has the losses of one variant on the same scenes as another one. Without an effect, their signs are random. The
sign-flip test compares the sum of the losses with the sums for all signs (Fisher, The Design of Experiments, 1935). Of
flags it is McNemar's exact test.

A cell with k losses that are not zero has a p-value of 2^-k at least. Cells that can never be significant need no
correction (Tarone, A modified Bonferroni method for discrete data, Biometrics, 1990). Holm's method corrects for the
others (A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics, 1979).
"""

import itertools
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from scipy.stats import binomtest, permutation_test  # type: ignore[import-untyped]

from bansac.maths.arrays import Floats

Cell = TypeVar("Cell")

LEVEL = 0.05
"""Probability that any cell is found without an effect."""

# Number of signs that are drawn for losses of different sizes; fewer are all taken, and the test is exact.
_DRAWS = 20_000


def significant_cells(losses: Mapping[Cell, Floats]) -> dict[Cell, float]:
    """Return the cells whose mean loss is significantly positive, with their p-values, the smallest first."""
    least = {cell: 0.5 ** np.count_nonzero(values) for cell, values in losses.items()}
    count = next(k for k in itertools.count(1) if sum(p <= LEVEL / k for p in least.values()) <= k)
    tested = {cell: sign_flip_test(losses[cell]) for cell, p in least.items() if p <= LEVEL / count}
    found: dict[Cell, float] = {}
    for cell in sorted(tested, key=lambda cell: tested[cell]):
        if tested[cell] > LEVEL / (len(tested) - len(found)):
            break
        found[cell] = tested[cell]
    return found


def sign_flip_test(losses: Floats) -> float:
    """Return the p-value of a positive mean of paired differences.

    Examples
    --------
    >>> sign_flip_test(np.array([1.0, 1.0, 1.0, 0.0])), sign_flip_test(np.array([0.5, 0.2, -0.1]))
    (0.125, 0.25)
    """
    losses = losses[losses != 0.0]
    sizes = np.abs(losses)
    if not losses.size or sizes.min() == sizes.max():
        positive = int(np.sum(losses > 0.0))
        return float(binomtest(positive, losses.size, alternative="greater").pvalue) if losses.size else 1.0
    settings = {"permutation_type": "samples", "alternative": "greater", "n_resamples": _DRAWS, "rng": 0}
    return float(permutation_test((losses,), np.mean, **settings).pvalue)
