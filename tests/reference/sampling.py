"""The samplers, written out from the papers: which data a sample must hold, and from which the others are drawn."""

import itertools
import math
from fractions import Fraction

import numpy as np

from bansac.maths.extent import GRID
from tests.reference.loop_parts import near_box


def expected_samples(subset, n, m, total):
    """T_n: how many of ``total`` uniform samples of all ``n`` data lie in the first ``subset`` on average."""
    return Fraction(total * math.comb(subset, m), math.comb(n, m))


def growth_function(n, m, total):
    """T'_0, ..., T'_N in exact arithmetic; the first m are 0."""
    growth = [0] * m + [1]
    for subset in range(m, n):
        increase = expected_samples(subset + 1, n, m, total) - expected_samples(subset, n, m, total)
        growth.append(growth[-1] + math.ceil(increase))
    return growth


def prosac_choice(t, growth, m, limit):
    """Ranks that sample number t must hold, and ranks from which the others are drawn.

    The samples numbered T'_{n-1} + 1 to T'_n are those of U_n that are not in U_{n-1}.
    """
    for n in range(m, limit + 1):
        if t <= growth[n]:
            return {n - 1}, set(range(n - 1))
    return set(), set(range(limit))


class ProgressiveNapsac:
    """P-NAPSAC as far as it is not random; ``points`` is N x channels, the best first."""

    def __init__(self, points, m, growth):
        n = len(points)
        self.points, self.m, self.n = points, m, n
        self.bounds = near_bounds(points.T)
        self.global_growth = growth
        self.growth = growth_function(n - 1, m - 1, min(20 * n, math.comb(n - 1, m - 1)))
        self.centre_growth = growth_function(n, 1, 20 * n)
        self.t = 0
        self.hits = [0] * n
        self.sizes = [m - 1] * n

    def next(self):
        """Number the next sample and return what it must hold, from which the others are drawn, and if it is local.

        None where the centre is drawn at random, which is so for a few samples only.
        """
        self.t += 1
        if self.t > 20 * self.n:
            return *prosac_choice(self.t, self.global_growth, self.m, self.n), False
        forced, _ = prosac_choice(self.t, self.centre_growth, 1, self.n)
        if not forced:
            return None
        (centre,) = forced
        self.hits[centre] += 1
        while self.hits[centre] > self.growth[self.sizes[centre]] and self.sizes[centre] < self.n - 1:
            self.sizes[centre] += 1
        k = self.sizes[centre]
        for cells in (16, 8, 4, 2):
            neighbours = [i for i in range(self.n) if i != centre and self._same_cell(i, centre, cells)]
            if len(neighbours) >= k and k <= max(10, self.m - 1):
                return {centre, neighbours[k - 1]}, set(neighbours[: k - 1]), True
        must, pool = prosac_choice(self.t, self.global_growth, self.m, self.n)
        return must | {centre}, pool - {centre}, False

    def count_hits(self, sample):
        """Count the hits of a local sample; that of its centre is counted already."""
        forced, _ = prosac_choice(self.t, self.centre_growth, 1, self.n)
        for i in set(sample) - forced:
            self.hits[i] += 1

    def _same_cell(self, i, j, cells):
        low, high = self.bounds
        return all(
            cell(self.points[i, c], low[c], high[c], cells) == cell(self.points[j, c], low[c], high[c], cells)
            for c in range(self.points.shape[1])
        )


def near_bounds(rows):
    """Bounds of the near values of each row, which has a unit of its own."""
    return np.concatenate([near_box(row[None], GRID) for row in rows], axis=1)


def cell(x, low, high, cells):
    """Number of the cell of ``x`` on an axis that is cut into equal cells; a far value is in the first or last cell."""
    return 0 if low == high else max(0, min(int((x - low) / (high - low) * cells), cells - 1))


def neighbours_within(data, centre, squared_radius):
    """Data whose distance from the centre, over all channels, is at most the radius."""
    squares = ((data - data[:, [centre]]) ** 2).sum(axis=0)
    return {i for i in range(data.shape[1]) if i != centre and squares[i] <= squared_radius}


def most_probable_choice(priority, m):
    """Data that are in every sample of the m largest priorities, and those that tie for the other places."""
    last = sorted(priority, reverse=True)[m - 1]
    return {i for i, p in enumerate(priority) if p > last}, {i for i, p in enumerate(priority) if p == last}


def failure_posteriors(probabilities):
    """P(i is an inlier | not all are), by summing over all states of independent data."""
    inlier = [Fraction(0)] * len(probabilities)
    total = Fraction(0)
    exact = [Fraction(p) for p in probabilities]
    for states in itertools.product((True, False), repeat=len(exact)):
        if all(states):
            continue
        joint = math.prod(p if state else 1 - p for p, state in zip(exact, states, strict=True))
        total += joint
        inlier = [value + joint * state for value, state in zip(inlier, states, strict=True)]
    return [float(value / total) for value in inlier]


def beta_moments(density_exponents):
    """Mean and variance of the density mu^(a-1) (1 - mu)^(b-1) on (0, 1), by the midpoint rule."""
    a, b = density_exponents
    mu = (np.arange(200_000) + 0.5) / 200_000
    density = np.exp((a - 1) * np.log(mu) + (b - 1) * np.log1p(-mu))
    mean = (mu * density).sum() / density.sum()
    return mean, ((mu - mean) ** 2 * density).sum() / density.sum()
