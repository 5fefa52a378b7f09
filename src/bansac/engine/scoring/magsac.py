"""MAGSAC++: the score marginalised over the noise scale (Barath, Noskova, Ivashechkin and Matas, CVPR 2020).

The noise scale is unknown, and assumed to be uniform up to sigma_max. For a scale sigma, the residuals r of inliers
have a chi distribution with n degrees of freedom, truncated at its quantile k sigma. With u = r^2 / (2 sigma_max^2) and
U = k^2 / 2 the loss of a residual r <= k sigma_max is, up to a constant factor,

    rho(u) = gamma((n + 1) / 2, u) + u (Gamma((n - 1) / 2, u) - Gamma((n - 1) / 2, U))

with the lower and the upper incomplete gamma function. Beyond k sigma_max it is rho(U). As in the paper, n = 4 because
a match has four coordinates, and k is the .99 quantile. Here k sigma_max is the threshold t, so u = U (r / t)^2. A
point adds 1 - rho(u) / rho(U) to the score, from a table over (r / t)^2.
"""

import math
from typing import Any

import numpy as np

from bansac.maths.arrays import Floats, Reals

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


def block_score(residuals: Reals, weights: Reals, squared_threshold: Any) -> float:
    """Return the weighted sum of 1 - rho / rho_max over the inliers of a block (Barath et al., 2020, eq. 7)."""
    scale = _INTERVALS / squared_threshold
    total = 0.0
    for n in range(residuals.size):
        if residuals[n] <= squared_threshold:
            position = residuals[n] * scale
            k = int(position)
            total += weights[n] * (_TABLE[k] + (position - k) * (_TABLE[k + 1] - _TABLE[k]))
    return total
