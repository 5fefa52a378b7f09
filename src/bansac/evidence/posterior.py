"""Posterior inlier probabilities, from a mixture of inliers and outliers fitted to the residuals.

The residual of an inlier is the length of an error vector. The codimension of the problem is the number of components
of this vector: 1 for the distance from a line or a curve, 2 for the distance between two points. Errors of matches have
heavier tails than the normal distribution. They are modelled by the contaminated normal distribution (Tukey, 1960).
Most errors have the standard deviation sigma, the others several times sigma. Outliers are uniform near the model.

The inlier ratio and sigma are maximum-likelihood estimates. They are computed by expectation maximisation (Dempster,
Laird and Rubin, 1977; for geometric models: Torr and Zisserman, MLESAC, 2000) from the residuals below a multiple of
the threshold. The density of the outliers is measured there and not derived from the image size, so outliers may be
clustered.
"""

import functools
import math

import numpy as np

from bansac.compiled.jit import allocating_kernel, inlined, kernel
from bansac.maths.arrays import Floats

# 80% of the inliers have the standard deviation sigma, 20% have four times sigma. This and the window were chosen on
# real matches, where neither matters much (docs/certainty.md).
_WIDE_SHARE = 0.2
_WIDE = 4

WINDOW = 6.0
"""Residuals up to this number of thresholds are used."""

# Limits of sigma in thresholds. The lower limit keeps sigma positive for exact data. The threshold is at least sigma.
_SMALLEST_SIGMA, _LARGEST_SIGMA = 0.02, 1.0

# Number of bins of the histogram of the residuals.
_BINS = 64

MAX_STEPS = 30
CONVERGED = 0.01
"""Estimates are iterated until they change by less than this share, at most ``MAX_STEPS`` times."""


def inlier_probabilities(residuals: Floats, threshold: float, codimension: int = 1) -> Floats:
    """Return the probability of every point of being an inlier, which decreases with its distance from the model.

    The distance is inf for a point that cannot be an inlier. ``threshold``, the largest distance of an inlier in the
    search, sets the scale of the noise.
    """
    probabilities = np.empty(residuals.size)
    _write_posterior(residuals, threshold, codimension, peak_ratio(codimension), probabilities)
    return probabilities


@functools.cache
def peak_ratio(codimension: int) -> float:
    """Return the ratio of the inlier density at zero error, for a sigma of one threshold, to the outlier density."""
    unit_ball = math.pi ** (codimension / 2) / math.gamma(codimension / 2 + 1)
    return float((2.0 * math.pi) ** (-codimension / 2) * unit_ball * WINDOW**codimension)


@kernel
def _write_posterior(residuals: Floats, threshold: float, codimension: int, peak: float, probabilities: Floats) -> None:
    """Fit the mixture to the residuals near the model and write the posterior of all points.

    ``peak`` is the inlier density at zero error, for a sigma of one threshold, divided by the outlier density in the
    window.
    """
    share, sigma, _ = _fit_mixture(residuals, threshold, codimension, peak)
    exponent = -0.5 / (_WIDE * _WIDE * sigma * sigma)
    factor = share / (1.0 - share) * peak / sigma**codimension
    wide_factor = factor * _WIDE_SHARE / float(_WIDE) ** codimension
    for i in range(residuals.size):
        u = residuals[i] / threshold
        wide = math.exp(exponent * u * u)
        odds = factor * (1.0 - _WIDE_SHARE) * _narrow(wide) + wide_factor * wide
        probabilities[i] = odds / (1.0 + odds)


@allocating_kernel
def inlier_scale(residuals: Floats, threshold: float, codimension: int, peak: float) -> tuple[float, float]:
    """Return the standard deviation of the errors of most inliers, and the number of inliers.

    The standard deviation is that of the narrow normal distribution, between .02 and 1 thresholds. ``peak`` is
    ``peak_ratio(codimension)``; the others are the parameters of :func:`inlier_probabilities`.
    """
    share, sigma, near = _fit_mixture(residuals, threshold, codimension, peak)
    return sigma * threshold, share * near


@allocating_kernel
def _fit_mixture(residuals: Floats, threshold: float, codimension: int, peak: float) -> tuple[float, float, float]:
    """Return the inlier ratio in the window, sigma in thresholds, and the residuals in the window, by EM.

    Each bin has the number of its residuals and the sum of their squares. All residuals of a bin share one posterior.
    """
    bins, total = np.empty((2, _BINS)), 0.0
    bins[:] = 0.0
    counts, squares = bins[0], bins[1]
    per_bin = counts.size / WINDOW
    for i in range(residuals.size):
        u = residuals[i] / threshold
        if u < WINDOW:
            k = int(u * per_bin)
            counts[k] += 1.0
            squares[k] += u * u
    for k in range(counts.size):
        total += counts[k]
    most = total / (total + 1.0)  # allows for one unobserved outlier
    share, sigma = 0.5, 1.0 / 3.0
    for _ in range(MAX_STEPS):
        exponent = -0.5 / (_WIDE * _WIDE * sigma * sigma)
        factor = share / (1.0 - share) * peak / sigma**codimension
        wide_factor = factor * _WIDE_SHARE / float(_WIDE) ** codimension
        inliers, square = 0.0, 0.0
        for k in range(counts.size):
            if counts[k] > 0.0:
                wide = math.exp(exponent * squares[k] / counts[k])
                narrow = factor * (1.0 - _WIDE_SHARE) * _narrow(wide)
                wide *= wide_factor
                normal = 1.0 / (1.0 + narrow + wide)
                inliers += counts[k] * normal * (narrow + wide)
                square += squares[k] * normal * (narrow + wide / (_WIDE * _WIDE))
        last_share, last_sigma = share, sigma
        share = min(inliers, most * total) / max(total, 1.0)
        if inliers > 0.0:
            sigma = min(max(math.sqrt(square / (codimension * inliers)), _SMALLEST_SIGMA), _LARGEST_SIGMA)
        if abs(share - last_share) < CONVERGED * share and abs(sigma - last_sigma) < CONVERGED * sigma:
            break
    return share, sigma, total


@inlined
def _narrow(wide: float) -> float:
    """Return the exponential of the narrow distribution, ``wide`` to the power of ``_WIDE`` squared."""
    second = wide * wide
    fourth = second * second
    eighth = fourth * fourth
    return eighth * eighth
