"""Literal versions of scoring, SPRT and the stopping bounds."""

import math
from fractions import Fraction

import numpy as np


def classify(residuals, squared_threshold):
    return np.array([bool(r <= squared_threshold) for r in residuals], dtype=np.bool_)


def inliers(residuals, weights, squared_threshold):
    return sum(float(w) for r, w in zip(residuals, weights, strict=True) if r <= squared_threshold)


def msac(residuals, weights, squared_threshold):
    pairs = zip(residuals, weights, strict=True)
    return sum(w * (1 - float(r) / float(squared_threshold)) for r, w in pairs if r <= squared_threshold)


def magsac(residuals, weights, squared_threshold):
    """One minus the loss over its maximum (Barath et al., 2020, eq. 7), its integrals by Simpson's rule."""
    quantile = math.sqrt(13.276704135987624)  # the .99 quantile of chi with 4 degrees of freedom
    sigma = math.sqrt(squared_threshold) / quantile

    def integral(a, low, high):
        """Integral of t^(a - 1) exp(-t), with t = s^2."""
        s = np.linspace(math.sqrt(low), math.sqrt(high), 101)
        values = 2 * s ** (2 * a - 1) * np.exp(-(s**2))
        return (s[1] - s[0]) / 3 * (values[0] + 4 * values[1:-1:2].sum() + 2 * values[2:-2:2].sum() + values[-1])

    def loss(squared):
        u = squared / (2 * sigma**2)
        tail = integral(1.5, u, quantile**2 / 2)
        return sigma**2 / 2 * integral(2.5, 0.0, u) + squared / 4 * tail

    largest = loss(squared_threshold)
    pairs = zip(residuals, weights, strict=True)
    return sum(w * (1 - loss(float(r)) / largest) for r, w in pairs if r <= squared_threshold)


def evaluate(block_score, residuals, weights, squared_threshold, to_beat, order):
    """Score of a model, None as soon as the weights of the blocks to come cannot bring it above ``to_beat``."""
    score, remaining = 0.0, sum(map(float, weights))
    for block in order:
        score += block_score(residuals[block], weights[block], squared_threshold)
        remaining -= sum(map(float, weights[block]))
        if score + remaining <= to_beat:
            return None
    return score


def near_box(data, reach):
    """Smallest and largest value of each row within ``reach`` widths of the widest middle of 70 %."""
    size = min(data.shape[1], 100)
    tail = int(0.15 * size)
    ordered = np.sort(data[:, np.arange(size) * data.shape[1] // size], axis=1)
    middles = ordered[:, [tail, -1 - tail]]
    limit = reach * np.ptp(middles, axis=1).max() or math.inf
    near = [row[(row >= low - limit) & (row <= high + limit)] for row, (low, high) in zip(data, middles, strict=True)]
    return np.array([[row.min() for row in near], [row.max() for row in near]])


def box_density(x, y, radius, reach):
    """Number of points in the 3 x 3 cells of area pi radius^2 around each point, by looking at all pairs.

    The radius is a share of the diagonal of the box of the near points. Far points are moved to its border.
    """
    low, high = near_box(np.array([x, y]), reach)
    cell = math.sqrt(math.pi) / 3 * radius * (math.dist(low, high) or 1.0)
    column = np.floor((x.clip(low[0], high[0]) - low[0]) / cell)
    row = np.floor((y.clip(low[1], high[1]) - low[1]) / cell)
    return np.array(
        [np.count_nonzero((abs(column - c) <= 1) & (abs(row - r) <= 1)) for c, r in zip(column, row, strict=True)]
    )


def ransac_iterations(inliers, n, m, confidence):
    """Smallest real k >= 1 with (1 - P)^k <= 1 - confidence."""
    p = float(Fraction(math.comb(inliers, m), math.comb(n, m)))  # the share of all-inlier samples among all
    if p == 0:
        return math.inf
    return 1.0 if p == 1 else max(1.0, math.log(1 - confidence) / math.log1p(-p))


def likelihood_ratio(inside, epsilon, delta):
    """Likelihood of "bad" over "good" after each datum (Matas and Chum, 2005, eq. 1)."""
    ratio = 1.0
    course = []
    for agrees in inside:
        ratio *= delta / epsilon if agrees else (1 - delta) / (1 - epsilon)
        course.append(ratio)
    return course


def decision_threshold(epsilon, delta, solver_cost, models_per_sample):
    """A with A = K + log A, by bisection."""
    information = (1 - delta) * math.log((1 - delta) / (1 - epsilon)) + delta * math.log(delta / epsilon)
    k = solver_cost * information / models_per_sample + 1
    low, high = k, 10 * k + 100
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < k + math.log(middle) else (low, middle)
    return low


def nonrandom_support(n, m, beta=0.05, psi=0.05):
    """Smallest I with P(I inliers or more by chance, those of the sample included) < psi (PROSAC, eq. 9)."""
    for support in range(m, n + 2):
        tail = sum(math.comb(n - m, i - m) * beta ** (i - m) * (1 - beta) ** (n - i) for i in range(support, n + 1))
        if tail < psi:
            return support
    raise AssertionError("the tail of n + 1 is empty")


def prosac_iterations(is_inlier, ranking, m, confidence):
    """Fewest samples over all sets of at least half of the data, the best first, whose support is no chance."""
    n = len(ranking)
    bounds = [math.inf]
    for size in range(max(m, (n + 1) // 2), n + 1):
        support = int(np.sum(is_inlier[ranking[:size]]))
        if support >= nonrandom_support(size, m):
            bounds.append(ransac_iterations(support, size, m, confidence))
    return min(bounds)
