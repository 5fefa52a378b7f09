"""BANSAC's sampler: points are drawn with weights that grow with their inlier probabilities (sec:weighted_sampling).

The first odds come from the prior (``bansac.engine.frame``): 1 for BANSAC, those of P^0 for P-BANSAC.
"""

import math
from typing import Any

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints, Singles, Words
from bansac.maths.rng import contains, next_uint64, step, unit_fraction

ACTIVATION_CODES = {"rho_1": 1, "rho_2": 2, "rho_3": 3, "rho_4": 4}

_U32 = np.uint64(32)


@inlined
def activation(code: int, p: float) -> float:
    """Return the sampling weight rho_1(p) to rho_4(p) of the supplement, for the inlier probability ``p``."""
    if code == 1:
        return 100.0 * p
    if code == 2:
        return 100.0 * p if p > 0.3 else 10.0 * p
    exponential = math.exp(-10.0 * (p - 0.5) if code == 3 else 2.0 * p)
    if code == 3:
        return 100.0 / (1.0 + exponential)
    return 130.0 * (1.0 - 2.0 / (exponential + 1.0))  # tanh


@inner_kernel
def _weight(odds: np.float32 | float, code: int, floor: float) -> float:
    """Return the sampling weight of a point, at least the floor."""
    ratio = np.float64(odds)
    weight = activation(code, ratio / (1.0 + ratio))
    return weight if weight > floor else floor


def start(setup: SamplerInput) -> tuple[Floats, Ints]:
    """Return the floor of the weights, and the code of the activation."""
    return np.array([setup.weight_floor]), np.array([ACTIVATION_CODES[setup.activation]])


def draw(
    rng: Words, data: Floats, odds: Singles, ranking: Ints, progress: Any, numbers: Floats, indices: Ints, sample: Ints
) -> None:
    """Draw distinct indices one after the other, with probabilities proportional to ``max(rho(p), floor)``.

    This is rejection sampling. A uniform candidate is accepted with the probability of its weight over the largest
    weight. The largest weight is that of the largest odds, because every rho increases with p. A candidate that is
    already in the sample is rejected, so points are drawn without replacement. If none of N candidates is accepted, one
    pass over all weights is no more expensive than further candidates, and draws the point. The distribution is the
    same.
    """
    code, floor, n = indices[0], numbers[0], odds.size
    heaviest = _weight(progress.largest_odds, code, floor)
    a, b, c, d = rng[0], rng[1], rng[2], rng[3]
    for drawn in range(sample.size):
        accepted = np.int64(-1)
        for _ in range(n):
            bits, a, b, c, d = step(a, b, c, d)
            candidate = np.int64(((bits >> _U32) * np.uint64(n)) >> _U32)
            height = unit_fraction(bits << _U32) * heaviest
            ratio = np.float64(odds[candidate])
            if code == 1:  # 100 p > height without a division
                below = height < floor or height * (1.0 + ratio) < 100.0 * ratio
            else:
                below = height < _weight(ratio, code, floor)
            if below and not contains(sample, drawn, candidate):
                accepted = candidate
                break
        if accepted < 0:
            rng[0], rng[1], rng[2], rng[3] = a, b, c, d
            accepted = _draw_exactly(rng, odds, code, floor, sample, drawn)
            a, b, c, d = rng[0], rng[1], rng[2], rng[3]
        sample[drawn] = accepted
    rng[0], rng[1], rng[2], rng[3] = a, b, c, d


@inner_kernel
def _draw_exactly(rng: Words, odds: Singles, code: int, floor: float, sample: Ints, drawn: int) -> np.int64:
    """Draw one index by the cumulative sum of the weights of all points that are not yet in the sample."""
    total = 0.0
    for n in range(odds.size):
        total += _weight(odds[n], code, floor)
    for i in range(drawn):
        total -= _weight(odds[sample[i]], code, floor)
    remaining = unit_fraction(next_uint64(rng)) * total
    last = np.int64(0)
    for n in range(odds.size):
        if contains(sample, drawn, n):
            continue
        last = np.int64(n)
        remaining -= _weight(odds[n], code, floor)
        if remaining < 0:
            break
    return last
