"""The support that chance gives: models of random samples of rearranged data, for few data and for lists.

The false alarms of :mod:`.false_alarms` take the probability of a random inlier of the tested model for all models. For
matches of one list it is too large: the true model alone maps many points of a list to others. Here models of random
minimal samples of rearranged matches show what chance gives. Matches are rearranged in two ways:

* "neighbours": the second points of near matches in another order, which keeps lists, grids and clusters;
* "displacements": those from the common motion of matches that the model does not explain, which keeps a search window.
  Each is the third corner of a triangle over two of them (:mod:`.null_model`). If they are few, the second points are
  uniform in their box.

:func:`log_nfa_of_rates` is for errors of several components. The share of rearranged matches within t of model j is its
rate alpha_j(t). For n matches, samples of m and J samples, the expected number of models with k inliers is

    NFA(k, t) = C(n, m) / J sum_j P(Bin(n - m, alpha_j(t)) >= k - m)

Models that explain most inliers of the tested model repeat it and do not count.

For epipolar geometries this sum is too large, because degenerate models have high rates. :func:`log_tail` compares the
support with the largest ones of searches of rearranged matches. Let alpha(t) be the mean rate. The surprise of h
matches within t beside a sample is

    S(h, t) = -h log alpha(t) - log C(n - m, h)

The surprise of a model is the largest one over the distances of the support. It is the negative log of a probability,
so its tail falls as exp(-S). The largest surprise of a search has thus a Gumbel distribution with the scale 1, and that
of c times as many samples is larger by log c. Models of many matches in a search window differ in their rates, so that
the scale is larger. It is estimated from the searches, with a weight that grows with the number of matches.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.evidence.common_motion import fit_motion
from bansac.evidence.false_alarms import SIGNIFICANT, binomial_tail, log_factorials
from bansac.evidence.null_model import REARRANGED, turn
from bansac.maths.arrays import Bools, Floats, Ints
from bansac.maths.rng import draw_distinct, fixed_rng
from bansac.problems.problem import Problem

NEAR = 3.0
"""Data within this number of thresholds are near a model."""

# Sets of rearranged matches, and samples of each for the rates. The largest numbers of models of a set, and of matches,
# for the tail.
_SETS, _SAMPLES, _MODELS, MOST_SEARCHED = 10, 60, 1500, 200
# Number of bits of a coordinate of a cell on a space-filling curve, and of matches in a block.
_BITS, _BLOCK = 10, 3


class Matches(NamedTuple):
    """The matches that count, in the frame of the problem, and their distances from the tested model there.

    ``first`` and ``second`` are the channels of the first points and all others.
    """

    problem: Problem
    data: Floats
    distances: Floats
    threshold: float
    first: list[int]
    second: list[int]

    @property
    def inliers(self) -> Bools:
        """The mask of the inliers of the tested model."""
        return self.distances <= self.threshold


def as_matches(problem: Problem, data: Floats, distances: Floats, threshold: float, first: tuple[int, ...]) -> Matches:
    """Return matches (channels x N) with distances in the unit of the data; ``first`` are the channels of a point."""
    normalised, transform = data.copy(), np.zeros(1 + 2 * problem.channels)
    transform[0] = 1.0
    if problem.normalise is not None:
        problem.normalise(normalised, transform)
    scale, second = float(transform[0]), [channel for channel in range(problem.channels) if channel not in first]
    return Matches(problem, normalised, scale * distances, scale * threshold, list(first), second)


def log_nfa_of_rates(matches: Matches, exact: float) -> float:
    """Return the log of the smallest number of false alarms; distances below ``exact`` thresholds are due to rounding.

    The largest value of the ways to rearrange counts, or the first one that is not significant.
    """
    problem, n, m = matches.problem, matches.distances.size, matches.problem.sample_size
    beside = int(np.count_nonzero(matches.inliers)) - m
    if beside < 1:
        return math.inf
    sizes = m + np.unique(np.minimum(2 ** np.arange(beside.bit_length() + 1), beside))
    distances = np.append(np.minimum(_distances(matches, sizes, exact), matches.threshold), matches.threshold)
    volumes = (distances / matches.threshold) ** problem.traits.codimension
    few = np.random.default_rng(0).permutation(n)[:REARRANGED] if n > REARRANGED else np.arange(n)
    some = matches._replace(data=np.take(matches.data, few, axis=1), distances=matches.distances[few])
    near, table = (NEAR * matches.threshold) ** 2, log_factorials(n)
    choices = math.log(sizes.size) + table[n] - table[m] - table[n - m] - math.log(_SETS * _SAMPLES)
    worst = -math.inf
    for sets in _rearranged(some, _SETS):
        hits, _ = _measure(problem, sets, some.data[:, some.inliers], near, distances, _SAMPLES)
        log_sum = _log_sum_of_tails(hits, volumes, sets.shape[2] - m, sizes - m, n - m, _SETS * _SAMPLES)
        worst = max(worst, choices + log_sum)
        if worst >= SIGNIFICANT:
            break
    return worst


def log_tail(matches: Matches, exact: float, level: float) -> float:
    """Return the log of the probability that a search of rearranged matches has the surprise of the tested model.

    The number of its samples is that of all samples, or the default of the problem if that is smaller. The largest
    value of the ways to rearrange counts, or the first one from ``level`` on.
    """
    problem, n, m = matches.problem, matches.distances.size, matches.problem.sample_size
    sizes, table, worst = np.arange(m + 1, np.count_nonzero(matches.inliers) + 1), log_factorials(n), -math.inf
    if sizes.size == 0:
        return 0.0
    distances, samples, hits = _distances(matches, sizes, exact), _MODELS // problem.max_models, np.arange(n - m + 1)
    more = math.log(max(min(math.comb(n, m), problem.default_max_iterations) / samples, 1.0))
    for sets in _rearranged(matches, _SETS):
        found, owners = _measure(problem, sets, matches.data[:, :0], 0.0, distances, samples)
        rates = (found.sum(axis=0) + 1.0) / (found.shape[0] * (n - m) + 1.0)
        surprises = -hits * np.log(rates)[:, None] - (table[n - m] - table[hits] - table[n - m - hits])
        columns, largest = np.arange(sizes.size), np.zeros(len(sets))
        np.maximum.at(largest, owners, surprises[columns, found].max(axis=1))
        scale = 1.0 + n / MOST_SEARCHED * max(float(largest.std(ddof=1)) * math.sqrt(6.0) / math.pi - 1.0, 0.0)
        excess = (surprises[columns, sizes - m].max() - largest.mean()) / scale
        worst = max(worst, more - np.euler_gamma - excess)
        if worst >= level:
            break
    return worst


def _distances(matches: Matches, sizes: Ints, exact: float) -> Floats:
    """Return the distances within which models of samples have supports of these sizes, for that of the tested model.

    A model that is fitted to k inliers has smaller residuals than one of m of them.
    """
    support = np.sort(matches.distances[matches.inliers])[sizes - 1]
    distances = support * np.sqrt(sizes / (sizes - matches.problem.sample_size))
    return np.asarray(np.maximum.accumulate(np.maximum(distances, exact * matches.threshold)))


def count_mirrored(matches: Matches, distances: Floats) -> Ints:
    """Return the largest support beside its sample, within each distance, of some models of mirrored matches.

    Half of the samples are inliers of the tested model: a wrong motion of mirrored matches has right ones near a plane.
    """
    inliers = matches.inliers
    sets = np.repeat(np.take(matches.data, np.argsort(~inliers, kind="stable"), axis=1)[None], 2, axis=0)
    sets[:, matches.second[-1]] *= -1.0
    few = np.array([max(np.count_nonzero(inliers), matches.problem.sample_size), inliers.size])
    hits, _ = _measure(matches.problem, sets, matches.data[:, :0], 0.0, distances, _SAMPLES, few)
    return np.asarray(hits.max(axis=0, initial=0))


# Rearrange


def _rearranged(matches: Matches, copies: int) -> Iterator[Floats]:
    """Yield the matches rearranged in each way (copies x channels x N)."""
    yield _neighbours(matches, copies)
    if len(matches.first) == len(matches.second):
        yield _displacements(matches, copies)


def _neighbours(matches: Matches, copies: int) -> Floats:
    """Return the matches (copies x channels x N) with the second points of blocks of near matches in a circle.

    A block are matches in a row on a space-filling curve (Morton, 1966) through the first points, from a random origin.
    """
    sets, x, rng = np.repeat(matches.data[None], copies, axis=0), matches.data[matches.first], np.random.default_rng(0)
    low, extent, n = x.min(axis=1, keepdims=True), max(float(np.ptp(x, axis=1).max()), 1e-300), x.shape[1]
    origins, orders = rng.uniform(0.0, 1.0, (len(x), copies, 1)), np.empty((copies, n), int)
    whole = n // _BLOCK * _BLOCK
    cells = ((((x - low) / extent)[:, None] + origins) * 2.0 ** (_BITS - 1)).astype(np.int64)
    curves = np.argsort(_interleave(cells), axis=1, kind="stable")
    blocks = rng.permuted(curves[:, :whole].reshape(copies, -1, _BLOCK), axis=2)
    for circle in (blocks, curves[:, None, whole:]):
        rolled = np.roll(circle, 1, axis=2).reshape(copies, -1)
        np.put_along_axis(orders, circle.reshape(copies, -1), rolled, axis=1)
    sets[:, matches.second] = matches.data[matches.second][:, orders].swapaxes(0, 1)
    return sets


def _interleave(cells: Ints) -> Ints:
    """Return the numbers of cells (dimensions x ..., below 2 ** _BITS) on the curve of Morton."""
    numbers = np.zeros(cells.shape[1:], np.int64)
    for bit in range(_BITS):
        for k, cell in enumerate(cells):
            numbers |= (cell >> bit & 1) << len(cells) * bit + k
    return numbers


def _displacements(matches: Matches, copies: int) -> Floats:
    """Return the matches (copies x channels x N) with the displacements of those that the model does not explain.

    If these are few, the displacements of all show the window of an epipolar geometry; those of a map are its own.
    """
    x, y, rng = matches.data[matches.first], matches.data[matches.second], np.random.default_rng(0)
    sets, shape = np.repeat(matches.data[None], copies, axis=0), (copies, x.shape[1])
    common = x + np.median(y - x, axis=1, keepdims=True)
    if len(matches.data) == 4:
        motion = fit_motion(np.ascontiguousarray(matches.data)).reshape(2, 3)
        common = motion[:, :2] @ x + motion[:, 2:]
    others, is_map = (y - common)[:, ~matches.inliers], matches.problem.traits.codimension > 1
    is_small = others.shape[1] * (others.shape[1] - 1) < 2 * x.shape[1]  # pairs of them would repeat
    if is_small and is_map:
        places = rng.uniform(y.min(axis=1)[:, None, None], y.max(axis=1)[:, None, None], (len(y), *shape))
    else:
        others = y - common if is_small else others
        one, other = (others[:, rng.integers(0, others.shape[1], shape)] for _ in range(2))
        places = common[:, None] + 0.5 * (one + other + turn(other - one, one.shape))
    sets[:, matches.second] = places.swapaxes(0, 1)
    return sets


# Measure


def _measure(
    problem: Problem,
    sets: Floats,
    explained: Floats,
    near: float,
    distances: Floats,
    samples: int,
    drawn: Ints | None = None,
) -> tuple[Ints, Ints]:
    """Return the matches within each distance of each model (models x distances), and the set of each model.

    The models are those of ``samples`` random samples of each set, of its first ``drawn`` matches or of all. Those with
    half of the ``explained`` matches within the root of ``near`` do not count.
    """
    drawn = np.full(len(sets), sets.shape[2]) if drawn is None else drawn
    most = len(sets) * samples * problem.max_models
    hits, owners = np.empty((most, distances.size), np.int64), np.empty(most, np.int64)
    work = np.empty((problem.max_models, problem.model_size)), np.empty(problem.scratch_size)
    sample, explained = np.empty(problem.sample_size, np.int64), np.ascontiguousarray(explained)
    squares = distances * distances
    count = _write_hits(problem.of_samples, sets, explained, near, squares, samples, drawn, *work, sample, hits, owners)
    return hits[:count], owners[:count]


@kernel
def _write_hits(
    functions: Any,
    sets: Floats,
    explained: Floats,
    near: float,
    squares: Floats,
    samples: int,
    drawn: Ints,
    models: Floats,
    scratch: Floats,
    sample: Ints,
    hits: Ints,
    owners: Ints,
) -> int:
    """Write what ``_measure`` returns for squared distances, and return the number of models."""
    rng, n, count = fixed_rng(), sets.shape[2], 0
    residuals, others = np.empty(n), np.empty(explained.shape[1])
    for k in range(sets.shape[0]):
        data = sets[k]
        for _ in range(samples):
            draw_distinct(rng, drawn[k], sample, 0, sample.size)
            for row in range(functions.solve(data, sample, models, scratch)):
                model = models[row]
                functions.residuals(explained, model, 0, others.size, others)
                repeats = 0
                for i in range(others.size):
                    repeats += 1 if others[i] <= near else 0
                if 0 < others.size <= 2 * repeats or not functions.is_valid(data, model, sample):
                    continue
                functions.residuals(data, model, 0, n, residuals)
                for c in range(sample.size):
                    residuals[sample[c]] = np.inf
                _count_within(residuals, squares, hits[count])
                owners[count] = k
                count += 1
    return count


@inner_kernel
def _count_within(residuals: Floats, squares: Floats, hits: Ints) -> None:
    """Write the number of residuals within each square, in ascending order."""
    last = squares.size - 1
    for k in range(squares.size):
        hits[k] = 0
    for i in range(residuals.size):
        if residuals[i] <= squares[last]:
            low, high = 0, last
            while low < high:
                middle = (low + high) // 2
                if residuals[i] <= squares[middle]:
                    high = middle
                else:
                    low = middle + 1
            hits[low] += 1
    for k in range(1, squares.size):
        hits[k] += hits[k - 1]


def _log_sum_of_tails(hits: Ints, volumes: Floats, rearranged: int, needed: Ints, n: int, samples: int) -> float:
    """Return the smallest log of sum_j P(Bin(n, alpha_j) >= needed) over the distances.

    alpha_j is the share of hits of model j among the rearranged matches. The mean number of hits of all models, if
    below 1, replaces one of them. It is at least that at the last distance times the volume within a distance, which is
    in ``volumes``. Without a model nothing is known: inf.
    """
    if len(hits) == 0:
        return math.inf
    means, totals = np.minimum(hits.mean(axis=0), 1.0), []
    means = np.maximum(means, (means[-1] + 0.5 / samples) * volumes)
    for column, mean, need in zip(hits.T, means, needed.tolist(), strict=False):
        counts = np.bincount(column)
        values = np.flatnonzero(counts)
        alphas = np.minimum((np.maximum(values - 1.0, 0.0) + mean) / (rearranged + 1.0), 1.0)
        totals.append(float(counts[values] @ [binomial_tail(need, n, alpha) for alpha in alphas.tolist()]))
    return math.log(max(min(totals), 1e-300))
