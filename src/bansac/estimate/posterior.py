"""The probability that a datum is an inlier of a model, from a mixture of inliers and outliers fitted to the residuals.

A residual of an inlier is the length of a vector of errors with as many components as the problem's codimension: 1 for
the distance from a line or a curve, 2 for the distance between two points. Errors of matches have heavier tails than
the normal distribution, so they follow the contaminated normal distribution (Tukey, 1960): of standard deviation sigma
in most cases, of several times sigma in the others. Outliers are uniform near the model. The share of inliers and sigma
are those of the greatest likelihood, found by expectation maximisation (Dempster, Laird and Rubin, 1977; for geometric
models: Torr and Zisserman, MLESAC, 2000) on the residuals below some times the threshold. There the density of the
outliers is measured and not taken from the size of the image, so that outliers may cluster.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bansac.numeric.arrays import Floats
from bansac.numeric.jit import inlined, inner_kernel, kernel

__all__ = ["inlier_probabilities", "inlier_scale"]

# Of ten inliers eight have the standard deviation sigma and two four times as much. Residuals count up to six
# thresholds. Chosen on real matches, where neither matters much (docs/calibration.md).
_WIDE_SHARE = 0.2
_WIDE = 4
_WINDOW = 6.0

# Sigma in thresholds: exact data have some, and a threshold is no smaller than sigma.
_SMALLEST_SIGMA, _LARGEST_SIGMA = 0.02, 1.0

_BINS = 64
_ROUNDS = 30
_CONVERGED = 0.01


def inlier_probabilities(residuals: NDArray[np.float64], threshold: float, codimension: int = 1) -> NDArray[np.float64]:
    """Return the probability of every datum of being an inlier.

    Parameters
    ----------
    residuals : (N,) ndarray
        Distances from the model; inf for a datum that cannot be an inlier.
    threshold : float
        The distance up to which the search took data for inliers: the unit in which the noise is expected.
    codimension : int
        Number of components of the error whose length is the residual.

    Returns
    -------
    (N,) ndarray
        The probabilities, which fall as the residuals grow.

    Examples
    --------
    >>> residuals = np.concatenate([np.linspace(0, 1, 80), np.linspace(0, 100, 40)])
    >>> p = inlier_probabilities(residuals, 1.0)
    >>> bool(p[0] > 0.95), bool(p[-1] < 0.01)
    (True, True)
    """
    probabilities = np.empty(residuals.size)
    _write_posterior(residuals, threshold, codimension, _peak(codimension), np.zeros((2, _BINS)), probabilities)
    return probabilities


def inlier_scale(residuals: NDArray[np.float64], threshold: float, codimension: int = 1) -> tuple[float, float]:
    """Return the standard deviation of the errors of most inliers, and the number of inliers.

    It is that of the narrow one of the two normal distributions, of .02 to 1 thresholds. The parameters are those of
    :func:`inlier_probabilities`.
    """
    share, sigma, total = _measure_scale(residuals, threshold, codimension, _peak(codimension), np.zeros((2, _BINS)))
    return sigma * threshold, share * total


def _peak(codimension: int) -> float:
    """Return the density of errors of a standard deviation of one threshold where they vanish, over the outliers'."""
    unit_ball = math.pi ** (codimension / 2) / math.gamma(codimension / 2 + 1)
    return float((2.0 * math.pi) ** (-codimension / 2) * unit_ball * _WINDOW**codimension)


@kernel
def _write_posterior(
    residuals: Floats, threshold: float, codimension: int, peak: float, bins: Floats, probabilities: Floats
) -> None:
    """Fit the mixture to the residuals near the model and write the posterior of all data.

    ``peak`` is the density of errors of a standard deviation of one threshold where they vanish, over the density of
    the outliers of the window. ``bins``, all 0, has room for two numbers a bin.
    """
    _fill_bins(residuals, threshold, bins)
    share, sigma = _fit_mixture(bins[0], bins[1], codimension, peak)
    exponent = -0.5 / (_WIDE * _WIDE * sigma * sigma)
    factor = share / (1.0 - share) * peak / sigma**codimension
    wide_factor = factor * _WIDE_SHARE / float(_WIDE) ** codimension
    for i in range(residuals.size):
        u = residuals[i] / threshold
        wide = math.exp(exponent * u * u)
        odds = factor * (1.0 - _WIDE_SHARE) * _narrow(wide) + wide_factor * wide
        probabilities[i] = odds / (1.0 + odds)


@kernel
def _measure_scale(
    residuals: Floats, threshold: float, codimension: int, peak: float, bins: Floats
) -> tuple[float, float, float]:
    """Fit the mixture; return the share of inliers in the window, their sigma in thresholds, and the data there."""
    _fill_bins(residuals, threshold, bins)
    share, sigma = _fit_mixture(bins[0], bins[1], codimension, peak)
    return share, sigma, bins[0].sum()


@inner_kernel
def _fill_bins(residuals: Floats, threshold: float, bins: Floats) -> None:
    """Add the residuals of the window, in thresholds, to the numbers and the sums of squares of the bins."""
    counts, squares = bins[0], bins[1]
    per_bin = _BINS / _WINDOW
    for i in range(residuals.size):
        u = residuals[i] / threshold
        if u < _WINDOW:
            k = int(u * per_bin)
            counts[k] += 1.0
            squares[k] += u * u


@inner_kernel
def _fit_mixture(counts: Floats, squares: Floats, codimension: int, peak: float) -> tuple[float, float]:
    """Return the share of inliers in the window, and their sigma in thresholds, by expectation maximisation.

    A bin has a number of residuals and the sum of their squares; all of a bin have one posterior.
    """
    total = 0.0
    for k in range(counts.size):
        total += counts[k]
    most = total / (total + 1.0)  # there may be an outlier that was not seen
    share, sigma = 0.5, 1.0 / 3.0
    for _ in range(_ROUNDS):
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
        if abs(share - last_share) < _CONVERGED * share and abs(sigma - last_sigma) < _CONVERGED * sigma:
            break
    return share, sigma


@inlined
def _narrow(wide: float) -> float:
    """Return the exponential of the narrow distribution, that of the wide one to the power of ``_WIDE`` squared."""
    second = wide * wide
    fourth = second * second
    eighth = fourth * fourth
    return eighth * eighth
