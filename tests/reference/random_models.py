"""Models of samples of rearranged matches, measured one match after the other."""

import math

import numpy as np

from bansac.maths.rng import fixed_rng, next_index


def measure_slowly(problem, sets, explained, near, distances, samples):
    """Return the number of matches within each distance of each model, and the set of each model."""
    rng, hits, owners = fixed_rng(), [], []
    for owner, data in enumerate(sets):
        for _ in range(samples):
            sample = draw(rng, data.shape[1], problem.sample_size)
            for model in solve(problem, data, sample):
                repeats = np.sum(problem.distances(explained, model) ** 2 <= near)
                if explained.shape[1] and 2 * repeats >= explained.shape[1]:
                    continue
                others = np.delete(problem.distances(data, model), sample)
                hits.append([np.sum(others <= distance) for distance in distances])
                owners.append(owner)
    return np.array(hits).reshape(-1, len(distances)), np.array(owners)


def log_tail_slowly(problem, sets, support, samples, more):
    """Return the log of the tail of the surprise of a support, in ascending order, over searches of some sets."""
    m, n = problem.sample_size, sets.shape[2]
    distances = [support[k - 1] * math.sqrt(k / (k - m)) for k in range(m + 1, len(support) + 1)]
    distances = [max(distances[: k + 1]) for k in range(len(distances))]
    hits, owners = measure_slowly(problem, sets, np.empty((problem.channels, 0)), 0.0, distances, samples)
    rates = [(column.sum() + 1) / (len(column) * (n - m) + 1) for column in hits.T]

    def surprise(counts):
        values = zip(counts, rates, strict=True)
        return max(-count * math.log(rate) - math.log(math.comb(n - m, count)) for count, rate in values)

    largest = [max((surprise(row) for row in hits[owners == k]), default=0.0) for k in range(len(sets))]
    return more + np.mean(largest) - np.euler_gamma - surprise(range(1, len(distances) + 1))


def draw(rng, n, size):
    """Return a sample of distinct indices: each is drawn until it is new."""
    sample = []
    while len(sample) < size:
        index = int(next_index(rng, n))
        if index not in sample:
            sample.append(index)
    return np.array(sample)


def solve(problem, data, sample):
    """Return the valid models of a sample."""
    models = np.empty((problem.max_models, problem.model_size))
    count = getattr(problem.solve, "py_func", problem.solve)(data, sample, models, np.empty(problem.scratch_size))
    is_valid = problem.is_valid or (lambda data, model, sample: True)
    return [model for model in models[:count] if getattr(is_valid, "py_func", is_valid)(data, model, sample)]


def log_sum_of_tails_slowly(hits, volumes, rearranged, needed, n, samples):
    """Return the smallest log of the sum over models of the binomial tails with their rates."""
    values, last = [], min(hits[:, -1].mean(), 1) + 0.5 / samples
    for column, volume, need in zip(hits.T[: len(needed)], volumes, needed, strict=False):
        mean = max(min(column.mean(), 1), last * volume)
        rates = [(max(h - 1, 0) + mean) / (rearranged + 1) for h in column]
        values.append(math.log(max(sum(binomial_tail_slowly(need, n, min(rate, 1.0)) for rate in rates), 1e-300)))
    return min(values)


def binomial_tail_slowly(k, n, p):
    """Return P(X >= k) for a binomial X; 1 if k is at most n p."""
    if k <= n * p:
        return 1.0
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
