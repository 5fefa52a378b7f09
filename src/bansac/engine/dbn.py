r"""The dynamic Bayesian network: one belief per point, updated by the classification of each iteration's best model.

The network of a point (sec:probability_model) has the hidden states x^0, ..., x^k (inlier or outlier) and the evidence
c^1, ..., c^k. Under a Markov assumption of order m, exact inference is a recursion over the joint belief of the last m
states (eq:Phi, eq:Phi_2, eq:Phi_3)::

    belief(x^k, ...) = sum over the oldest x of P(x^k | c, x^{k-1}, ..., x^{k-m}) P(c | x^{k-1}) belief(x^{k-1}, ...)

with P(c = inlier | x = inlier) = gamma and P(c = inlier | x = outlier) = 1 - gamma. The first m - 1 updates use the
tables of the lower orders (eq:phi_markov_blanket_2, eq:phi_markov_blanket_3). The belief is normalised at every step,
because the products of the paper underflow after some hundred updates.

For order 1 an update is a fractional-linear map of the odds r = belief(inlier) / belief(outlier). The state is stored
as these odds, because a probability could not return from a rounded 1. For all orders, sampling and stopping read the
odds of x^k. The odds have single precision, which halves the time of an update. Slope, start, product and sum of an
update are rounded, and none of them is negative. So the relative error of the odds grows by at most 2e-7 per update.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.compiled.jit import inlined, inner_kernel, kernel
from bansac.engine.option_fields import Default
from bansac.maths.arrays import Bools, Floats, Singles

# Bounds of the odds, far from the limits of single precision: an update changes odds by a factor of at most some 1e6.
MIN_ODDS = np.float32(1e-30)
MAX_ODDS = np.float32(1e30)
MIN_PRIOR = 1e-6  # of a prior probability and of gamma

# tab:prob_C, tab:cpt_2nd_markov and tab:cpt_3rd_markov. Axes: x^{k-1}, ..., x^{k-j}, c^k; index 1 is inlier.
PAPER_CPT: tuple[Any, ...] = (
    ((0.0, 0.2), (1.0, 1.0)),
    (((0.0, 0.1), (0.1, 0.2)), ((0.7, 0.9), (0.8, 1.0))),
    (
        (((0.0, 0.05), (0.1, 0.2)), ((0.3, 0.1), (0.2, 0.3))),
        (((0.2, 0.4), (0.5, 0.6)), ((0.7, 0.9), (0.8, 1.0))),
    ),
)


def pack_cpt(cpt: Sequence[Any] | Default, order: int) -> Floats:
    """Return the conditional probability tables of orders 1 to ``order`` for the kernels; row j - 1 is table j, flat.

    Table j has j + 1 axes of length 2 (x^{k-1}, ..., x^{k-j}, c^k); by default the tables are the paper's. A table that
    is missing, has a wrong shape, or has entries that are not probabilities, raises a ValueError.
    """
    if not np.iterable(cpt):
        raise ValueError(f"cpt must be a sequence of tables, got {cpt!r}")
    tables = PAPER_CPT[:order] if isinstance(cpt, str) and cpt == "default" else tuple(cpt)
    if len(tables) != order:
        raise ValueError(f"cpt must hold one table for each of the orders 1 to {order}, got {len(tables)} tables")
    packed = np.zeros((order, 2 ** (order + 1)))
    for j, table in enumerate(tables, start=1):
        try:
            values = np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"cpt[{j - 1}] must be an array of numbers, got {table!r}") from None
        if values.shape != (2,) * (j + 1):
            raise ValueError(f"cpt[{j - 1}] must have shape {(2,) * (j + 1)}, got {values.shape}")
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"cpt[{j - 1}] must hold probabilities in [0, 1], got {values.tolist()}")
        packed[j - 1, : values.size] = values.ravel()
    return packed


def gamma_1(inlier_ratio: Floats) -> Floats:
    """Leaky ReLU of the inlier ratio (supplement, first function of the section on the CPTs)."""
    ratio = np.asarray(inlier_ratio, dtype=np.float64)
    return np.where(ratio < 0.7143, 0.62 * ratio + 0.5, 0.2 * ratio + 0.8)


@inlined
def clip_prior(probability: float) -> float:
    """Clip a prior probability, or gamma, off 0 and 1."""
    raised = probability if probability > MIN_PRIOR else MIN_PRIOR
    return raised if raised < 1.0 - MIN_PRIOR else 1.0 - MIN_PRIOR


def gamma_2(inlier_ratio: Floats) -> Floats:
    """Sigmoid of the inlier ratio (second function); as printed, it inverts the evidence for ratios below .37."""
    ratio = np.asarray(inlier_ratio, dtype=np.float64)
    return np.asarray(0.5 / (0.5 + np.exp(-10.0 * (ratio - 0.3))))


def gamma_3(inlier_ratio: Floats) -> Floats:
    """Hyperbolic tangent of three times the inlier ratio (third function)."""
    return np.tanh(3.0 * np.asarray(inlier_ratio, dtype=np.float64))


_GAMMAS = {function.__name__: function for function in (gamma_1, gamma_2, gamma_3)}


def tabulate_gamma(gamma: str | Callable[[Floats], Any], n: int) -> Floats:
    """Evaluate gamma for 0, ..., n inliers among n points, clamped to [1e-6, 1 - 1e-6].

    Without the clamp, gamma_1(1) = 1 and gamma_3(0) = 0 would lead to a normalisation 0 / 0. A user's function that
    does not return one probability for every inlier ratio is a ValueError.
    """
    return _tabulate_named(gamma, n) if isinstance(gamma, str) else _tabulate(gamma, n)


@functools.lru_cache(maxsize=16)
def _tabulate_named(name: str, n: int) -> Floats:
    return _tabulate(_GAMMAS[name], n)


def _tabulate(function: Callable[[Floats], Any], n: int) -> Floats:
    """Evaluate a function as :func:`tabulate_gamma` does."""
    values = np.asarray(function(np.arange(n + 1) / max(n, 1)), dtype=np.float64)
    if values.shape != (n + 1,):
        raise ValueError(f"gamma must return an array of the shape of its argument, {(n + 1,)}, got {values.shape}")
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("gamma must return probabilities in [0, 1] for every inlier ratio in [0, 1]")
    return np.clip(values, MIN_PRIOR, 1 - MIN_PRIOR)


def initial_odds(prior: Floats) -> tuple[Singles, bool]:
    """Return the odds of the clipped prior probabilities, and whether the priors differ."""
    clipped = prior.clip(MIN_PRIOR, 1.0 - MIN_PRIOR)
    return (clipped / (1.0 - clipped)).astype(np.float32), bool(np.ptp(prior) > 0.0)


def probabilities_from_odds(odds: Singles) -> Floats:
    """Return P(x = inlier) for odds of inlier over outlier."""
    ratios = odds.astype(np.float64)
    return ratios / (1.0 + ratios)


@inlined
def _clamp_odds(odds: Any) -> Any:
    return min(max(odds, MIN_ODDS), MAX_ODDS)  # one instruction each; conditional expressions take twice the time


@kernel
def update_first_order(
    odds: Singles, belief: Floats, is_inlier: Bools, gamma: float, cpt: Floats, updates: int, work: Floats
) -> None:
    """Update the odds of every point by one classification (alg:pseudo-code).

    With a = P(c | x^{k-1} = I), b = P(c | x^{k-1} = O), p = P(x^k = I | c, I) and q = P(x^k = I | c, O)::

        r' = (p a r + q b) / ((1 - p) a r + (1 - q) b)

    In the paper's table p is 1: an inlier stays an inlier. Then r' = a / ((1 - q) b) r + q / (1 - q), which needs no
    division per point.

    ``belief``, ``updates`` and ``work`` are not used; the signature is that of ``update_higher_order``.
    """
    table = cpt[0]
    if table[2] == 1.0 and table[3] == 1.0:
        out_slope = np.float32((1 - gamma) / ((1 - table[0]) * gamma))
        out_start = np.float32(table[0] / (1 - table[0]))
        in_slope = np.float32(gamma / ((1 - table[1]) * (1 - gamma)))
        in_start = np.float32(table[1] / (1 - table[1]))
        _apply_lines(odds, is_inlier, in_slope, in_start, out_slope, out_start)
        return
    for n in range(odds.size):
        vote, r = is_inlier[n], np.float64(odds[n])
        a, b = (gamma, 1 - gamma) if vote else (1 - gamma, gamma)
        p, q = (table[3], table[1]) if vote else (table[2], table[0])
        odds[n] = _clamp_odds((p * a * r + q * b) / ((1 - p) * a * r + (1 - q) * b))


@inner_kernel
def _apply_lines(
    odds: Singles,
    is_inlier: Bools,
    in_slope: np.float32,
    in_start: np.float32,
    out_slope: np.float32,
    out_start: np.float32,
) -> None:
    """Replace the odds r of every point by slope * r + start, with the slope and the start of its classification.

    It is a separate function, because in its caller the choice would be made in double precision and then converted.
    """
    for n in range(odds.size):
        vote = is_inlier[n]
        odds[n] = _clamp_odds((in_slope if vote else out_slope) * odds[n] + (in_start if vote else out_start))


@inner_kernel
def start_belief(belief: Floats, odds: Singles) -> None:
    """Write the belief over x^0, outlier and inlier, into the first two rows of ``belief`` (2 ** order x N)."""
    for n in range(odds.size):
        ratio = np.float64(odds[n])
        q = 1.0 / (1.0 + ratio)
        belief[0, n], belief[1, n] = q, ratio * q


@kernel
def update_higher_order(
    odds: Singles, belief: Floats, is_inlier: Bools, gamma: float, cpt: Floats, updates: int, work: Floats
) -> None:
    """Update the joint belief of every point by one classification, for any order (eq:Phi_2, eq:Phi_3).

    ``belief`` is 2 ** order x N. Its rows run over (x^{k-1}, x^{k-2}, ...); the newest state is the highest bit of the
    row number. ``updates`` is the number of updates before this one. At first fewer than ``order`` states exist, and
    the belief grows. Later, the oldest state is summed out. ``work`` is scratch of 2 ** (order + 1) numbers.
    """
    order = cpt.shape[0]
    known = updates + 1 if updates < order else order  # states in the belief, hence the order of the table to use
    grown = known + 1 if known < order else order  # states in the belief after the update
    table = cpt[known - 1]
    rows = 1 << known
    newest = rows >> 1
    for n in range(odds.size):
        vote = 1 if is_inlier[n] else 0
        for joint in range(2 * rows):
            work[joint] = 0.0
        for past in range(rows):
            agrees = (past >= newest) == (vote == 1)
            evidence = (gamma if agrees else 1 - gamma) * belief[past, n]
            p = table[2 * past + vote]
            kept = past if grown > known else past >> 1
            work[kept] += (1 - p) * evidence
            work[kept + (1 << (grown - 1))] += p * evidence
        half = 1 << (grown - 1)
        p_outlier = 0.0
        p_inlier = 0.0
        for row in range(half):
            p_outlier += work[row]
            p_inlier += work[half + row]
        total = p_outlier + p_inlier  # at least the smallest gamma
        for row in range(2 * half):
            share = work[row] / total
            belief[row, n] = share if share > MIN_ODDS else MIN_ODDS  # a belief of exactly 0 would stay 0
        odds[n] = _clamp_odds(p_inlier / p_outlier)


@inner_kernel
def summarize(odds: Singles, bits: NDArray[np.int32], tau: float) -> tuple[float, np.int64]:
    """Return the largest odds, and the number of points with an inlier probability below ``tau`` (O-tilde).

    ``bits`` is ``odds.view(np.int32)``. Positive floats have the order of their bit patterns. A maximum of integers
    vectorises, which a maximum of floats does not, and takes a tenth of the time. All numbers have 32 bits for the
    longest SIMD vectors.
    """
    limit = np.float32(tau / (1 - tau))
    one, zero = np.int32(1), np.int32(0)
    largest = bits[0]
    below = zero
    for n in range(odds.size):
        below = np.int32(below + (one if odds[n] < limit else zero))
        largest = bits[n] if bits[n] > largest else largest
    return np.float64(np.int32(largest).view(np.float32)), np.int64(below)
