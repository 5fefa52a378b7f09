"""Scores: they measure the quality of a model. ``SCORES`` lists them.

A larger score is better. An inlier adds at most its weight to the score, so the remaining points add at most the sum of
their weights. Weights are 1 unless the run has weights (``bansac.evidence.weights``).

MAGSAC++ is the score marginalised over the noise scale (Barath, Noskova, Ivashechkin and Matas, CVPR 2020). The scale
is unknown, and assumed to be uniform up to sigma_max. For a scale sigma, the residuals r of inliers have a chi
distribution with n degrees of freedom, truncated at its quantile k sigma. With u = r^2 / (2 sigma_max^2) and
U = k^2 / 2 the loss of a residual r <= k sigma_max is, up to a constant factor,

    rho(u) = gamma((n + 1) / 2, u) + u (Gamma((n - 1) / 2, u) - Gamma((n - 1) / 2, U))

with the lower and the upper incomplete gamma function. Beyond k sigma_max it is rho(U). As in the paper, n = 4 because
a match has four coordinates, and k is the .99 quantile. Here k sigma_max is the threshold t, so u = U (r / t)^2. A
point adds 1 - rho(u) / rho(U) to the score, from a table over (r / t)^2.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bansac.compiled.jit import plain
from bansac.maths.arrays import Floats, Reals

ScoreName = Literal["inliers", "msac", "magsac++"]

# U: half the .99 quantile of the chi-square distribution with 4 degrees of freedom.
_LIMIT = 0.5 * 13.276704135987624

# Intervals of the table; interpolation between its entries is exact to 1e-5.
_INTERVALS = 512


def _upper(u: float) -> float:
    """Return the upper incomplete gamma function Gamma(3/2, u)."""
    return 0.5 * math.sqrt(math.pi) * math.erfc(math.sqrt(u)) + math.sqrt(u) * math.exp(-u)


def _loss(u: float) -> float:
    """Return rho(u), by gamma(5/2, u) = 3/2 (Gamma(3/2) - Gamma(3/2, u)) - u^(3/2) exp(-u)."""
    lower = 1.5 * (_upper(0.0) - _upper(u)) - u**1.5 * math.exp(-u)
    loss: float = lower + u * (_upper(u) - _upper(_LIMIT))
    return loss


def _tabulate() -> Floats:
    """Return the score of a point at (r / t)^2 = k / ``_INTERVALS`` for k = 0, ..., ``_INTERVALS``, followed by a 0."""
    losses = [_loss(_LIMIT * k / _INTERVALS) for k in range(_INTERVALS + 1)]
    return np.array([*(1 - loss / losses[-1] for loss in losses), 0.0])


_TABLE = _tabulate()


def count_inliers(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the sum of the weights of the inliers of a block: the paper's score (Fischler and Bolles, CACM 1981).

    It is called only if the run has weights, because the loop counts inliers itself.
    """
    total = 0.0
    for n in range(residuals.size):
        total += weights[n] if residuals[n] <= squared_threshold else 0.0
    return total


def msac(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the sum over the inliers of a block of w (1 - r^2 / t^2) (Torr and Zisserman, MLESAC, CVIU 2000)."""
    inverse = 1 / squared_threshold
    total = 0.0
    for n in range(residuals.size):
        total += weights[n] * (1 - residuals[n] * inverse) if residuals[n] <= squared_threshold else 0.0
    return total


def magsac(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the weighted sum of 1 - rho / rho_max over the inliers of a block (Barath et al., 2020, eq. 7)."""
    scale = _INTERVALS / squared_threshold
    total = 0.0
    for n in range(residuals.size):
        if residuals[n] <= squared_threshold:
            position = residuals[n] * scale
            k = int(position)
            total += weights[n] * (_TABLE[k] + (position - k) * (_TABLE[k + 1] - _TABLE[k]))
    return total


@dataclass(frozen=True)
class Score:
    """A score, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    block_score : callable
        ``block_score(residuals, weights, squared_threshold) -> float`` returns the sum of the contributions of the
        points of a block, from their squared residuals and their weights. It is compiled for the problem's number type.
    """

    name: str
    block_score: Callable[[Reals, Reals, Any], float] = field(repr=False)


SCORES = {
    "inliers": Score("inliers", count_inliers),
    "msac": Score("msac", msac),
    "magsac++": Score("magsac++", magsac),
}


def check_block_score(name: str, block_score: Callable[..., Any], precision: str) -> None:
    """Raise a ValueError if a ``block_score`` is not between 0 and the sum of the weights, or not 0 for NaN."""
    function, one = plain(block_score), np.dtype(precision).type(1)
    for weight in (1.0, 0.25):
        weights = np.full(3, weight, precision)
        for squared in (0.0, 0.3, 1.0, 4.0, np.inf, np.nan):
            score = float(function(np.full(3, squared, precision), weights, one))
            if not 0 <= score <= (0 if np.isnan(squared) else 3 * weight):
                raise ValueError(
                    f"score {name!r}: block_score must lie between 0 and the sum of the weights, and be 0 for NaN; for "
                    f"three squared residuals of {squared:g}, weights of {weight:g} and a squared threshold of 1 it is "
                    f"{score:g}"
                )
