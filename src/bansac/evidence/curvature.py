"""Curves that points do not determine, because a simpler curve explains the points as well.

A circle or an ellipse fits points of a line, but its radius or long axis is due to noise. Problems declare the simpler
curve (``Traits.limit``): that of a circle is a line, and that of a polynomial has the next lower degree. It fits as
well if its sum of squares is larger by less than four variances of the noise (two standard deviations). A threshold
that was estimated from the curve is small for another one, so all points count, not only inliers, and distances beyond
two thresholds count as two thresholds. Each further parameter explains one point in any case: the points whose squares
differ most do not count.

Two simpler curves of an ellipse are tested:

- A line. The points are near one of the two sides of a thin ellipse, which lowers the residuals of any points with
  noise. A model of two sides has half the density on each. If m of n points are near the
  line, twice the logarithm of their likelihood ratio is n log(S / S_0) - 2 m log 2. S and S_0 are the sums of squares
  of line and ellipse.
- A parabola. Its sum of squares may be larger by less than four variances, too.
"""

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from bansac.evidence.common_motion import FITS
from bansac.evidence.significance import EXACT, MeasuredModel
from bansac.maths.arrays import Bools, Floats
from bansac.maths.flat import flat_distances
from bansac.problems import ellipse
from bansac.problems.problem import Problem

# Squared distances are clipped at this number of squared thresholds. Curves whose sums of squares differ by fewer
# variances fit as well.
_SQUARED = 4.0

_Distances: TypeAlias = Callable[[Floats, Bools], Floats]


def find_simpler_curve(problem: Problem, data: Floats, measured: MeasuredModel) -> str:
    """Return the name of a simpler curve that fits the points (2 x N), or some of many, as well; "" if none does."""
    step = 1 + data.shape[1] // 10_000
    data, residuals, inliers = data[:, ::step], measured.residuals[::step], measured.inliers[::step]
    measured = measured._replace(residuals=residuals, inliers=inliers)
    return next((name for name, rise in _simpler_curves(problem, data, measured) if not rise >= _SQUARED), "")


def _simpler_curves(problem: Problem, data: Floats, measured: MeasuredModel) -> Iterator[tuple[str, float]]:
    """Yield simpler curves, each with the rise of its sum of squares in variances or twice a log likelihood ratio."""
    if problem.traits.limit is not None:
        name, distances = problem.traits.limit
        yield name, _rise(distances, data, measured, problem.parameters or problem.model_size)
    if problem.solve is ellipse.solve:
        simple, own = _squares(flat_distances, data, measured, 3)
        exact, near = own.size * EXACT**2, np.count_nonzero(simple < _SQUARED)
        ratio = (simple.sum() + exact) / (own.sum() + exact)
        yield "line", own.size * math.log(ratio) - 2.0 * near * math.log(2.0)
        yield "parabola", _rise_of_parabola(data[:, measured.inliers], measured)


def _rise(distances_of: _Distances, data: Floats, measured: MeasuredModel, parameters: int) -> float:
    """Return by how many variances the sum of squares of a curve with one parameter less is larger."""
    simple, own = _squares(distances_of, data, measured, 1)
    near = own[own < _SQUARED]
    variance = max(near.sum() / max(near.size - parameters, 1), EXACT**2)
    return float((simple.sum() - own.sum()) / variance)


def _squares(distances_of: _Distances, data: Floats, measured: MeasuredModel, further: int) -> tuple[Floats, Floats]:
    """Return the squared distances, in thresholds, of the points from a simpler curve and from the curve of a model.

    ``distances_of`` fits the simpler curve to members and returns the distances of all points. The members are the
    inliers, then points nearer than half of them or the threshold. The curve has ``further`` parameters more.
    """
    inliers, threshold = measured.inliers, measured.threshold
    distances = distances_of(data, inliers)
    for _ in range(FITS):
        members = distances <= max(threshold, np.median(distances[inliers]))
        if not members.any():  # distances beyond the range of floats
            break
        distances = distances_of(data, members)
    simple, own = (np.fmin((of / threshold) ** 2, _SQUARED) for of in (distances, measured.residuals))
    counted = np.argsort(simple - own)[: own.size - further]
    counted = counted[np.fmin(simple, own)[counted] < _SQUARED]
    return simple[counted], own[counted]


def _rise_of_parabola(inliers: Floats, measured: MeasuredModel) -> float:
    """Return by how many variances the sum of squared Sampson distances of a parabola is larger than of an ellipse.

    A parabola is (x cos(u) + y sin(u))^2 + d x + e y + f = 0. For each u, the mean square of the left side over that of
    its gradient is minimised, with weights from the gradients of the ellipse, then of the best parabola.
    """
    centre = inliers.mean(axis=1)
    unit = np.abs(inliers - centre[:, None]).max()
    x, y = (inliers - centre[:, None]) / unit
    axes = ellipse.centre_and_axes(measured.model)
    axes[:2] -= centre
    axes[:4] /= unit
    conic, zero, one = ellipse.conic_of(axes), np.zeros(x.size), np.ones(x.size)
    terms = np.array([x * x, x * y, y * y, x, y, one])
    by_x, by_y = np.array([2.0 * x, y, zero, one, zero, zero]), np.array([zero, x, 2.0 * y, zero, one, zero])
    sums = []
    for _ in range(FITS):
        of, to_x, to_y = (part / np.hypot(conic @ by_x, conic @ by_y) for part in (terms, by_x, by_y))
        squares = of @ of.T
        if not np.isfinite(squares).all():
            return 0.0
        sums.append(conic @ squares @ conic)
        conic = _best_parabola(squares, to_x @ to_x.T + to_y @ to_y.T, sums[-1] / x.size)
    variance = max(sums[0] / max(x.size - 5, 1), (EXACT * measured.threshold / unit) ** 2)
    return float((min(sums[1:]) - sums[0]) / variance)


def _best_parabola(squares: Floats, gradients: Floats, ratio: float) -> Floats:
    """Return the parabola c with the least c^T S c / c^T G c, by a search for its direction; ``ratio`` is near it."""
    best, of = 0.0, squares - ratio * gradients
    lower = np.linalg.lstsq(of[3:, 3:], -of[3:, :3], rcond=1e-15)[0]
    for step in (1e-2, 1e-4):
        u = best + step * np.arange(-160, 161)
        squared = np.array([np.cos(u) ** 2, np.sin(2.0 * u), np.sin(u) ** 2])
        conics = np.vstack([squared, lower @ squared])
        k = np.argmin((conics * (squares @ conics)).sum(axis=0) / (conics * (gradients @ conics)).sum(axis=0))
        best, conic = u[k], conics[:, k]
    return np.asarray(conic)
