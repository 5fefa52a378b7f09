"""Curves that points do not determine, because a simpler curve explains the points as well.

A circle or an ellipse fits points of a line, but its radius or long axis is due to noise. Problems declare the simpler
curve (``Traits.limit``): that of a circle is a line, and that of a polynomial has the next lower degree. It fits as
well if twice the logarithm of the likelihood ratio of n points, n log(S / S_0) with the sums of squares S and S_0 of
both curves, is less than four (two standard deviations). A threshold that was estimated from the curve is small for
another one, so all points count, not only inliers, and distances beyond two thresholds count as two thresholds. Each
further parameter explains one point in any case: the points whose squares differ most do not count.

Points of a line are near one of the two sides of a thin ellipse, which lowers the residuals of any points with noise.
A model of two sides has half the density on each, so the m points near the line lower the ratio by 2 m log 2.
"""

import math

import numpy as np

from bansac.evidence.common_motion import FITS
from bansac.evidence.significance import EXACT, MeasuredModel
from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem
from bansac.problems.traits import Limit

# Squared distances are clipped at this number of squared thresholds. Curves whose likelihoods differ by less fit as
# well.
_SQUARED = 4.0


def find_simpler_curve(problem: Problem, data: Floats, measured: MeasuredModel) -> str:
    """Return the name of a simpler curve that fits the points (2 x N), or some of many, as well; "" if none does."""
    limit = problem.traits.limit
    if limit is None:
        return ""
    step = 1 + data.shape[1] // 10_000
    data, residuals, inliers = data[:, ::step], measured.residuals[::step], measured.inliers[::step]
    simple, own = _squares(limit, data, measured._replace(residuals=residuals, inliers=inliers))
    exact = own.size * EXACT**2
    ratio = own.size * math.log((simple.sum() + exact) / (own.sum() + exact)) if own.size else 0.0
    near = np.count_nonzero(simple < _SQUARED)
    return "" if ratio - 2.0 * near * math.log(limit.sides) >= _SQUARED else limit.name


def _squares(limit: Limit, data: Floats, measured: MeasuredModel) -> tuple[Floats, Floats]:
    """Return the squared distances, in thresholds, of the points from a simpler curve and from the curve of a model.

    The simpler curve is fitted to the inliers, then to points nearer than half of them or the threshold.
    """
    inliers, threshold = measured.inliers, measured.threshold
    distances = limit.distances(data, inliers)
    for _ in range(FITS):
        members = distances <= max(threshold, np.median(distances[inliers]))
        if not members.any():  # distances beyond the range of floats
            break
        distances = limit.distances(data, members)
    simple, own = (np.fmin((of / threshold) ** 2, _SQUARED) for of in (distances, measured.residuals))
    counted = np.argsort(simple - own)[: own.size - limit.fewer]
    counted = counted[np.fmin(simple, own)[counted] < _SQUARED]
    return simple[counted], own[counted]
