"""Twins: two models that the same data explain nearly as well, such as a pose and its mirror image.

The sum of squared errors has a minimum at each of them. :func:`compare_twins` tells which one the data prefer, and
whether both explain them. The images of a narrow view have twins with reversed depths (Belhumeur, Kriegman and Yuille,
IJCV 1999). Between them the sum is in a valley, and the worse one determines the way along it badly.
"""

import math

import numpy as np

from bansac.evidence.configuration import SEARCHED
from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem

REACH, RISE = 2.0, 4.0
"""Twins are compared within ``REACH`` thresholds: one estimated from the wrong one may be too small. Both explain the
data if the sum of squared errors rises by less than two standard deviations, ``RISE`` variances (chi-square). In units
of the variance, the rise is twice the logarithm of the likelihood ratio."""

# Standard deviation of a badly determined direction, in radians for a motion. For the motions of narrow views it is
# below .027 in 90 % of the right ones, and above .076 in all wrong ones. Short baselines have .04.
_WEAK = 0.07


def compare_twins(
    first: Floats, second: Floats, threshold: float, components: int, parameters: int
) -> tuple[bool, bool]:
    """Return whether the second twin is the better one, and whether both explain the data.

    ``first`` and ``second`` are their residuals, the lengths of errors with some ``components``.
    """
    reach = REACH * threshold
    costs = [float(np.sum(np.minimum(residuals, reach) ** 2)) for residuals in (first, second)]
    is_better = costs[1] < costs[0]
    residuals = second if is_better else first
    errors = residuals[residuals <= reach]
    limit = RISE / max(components * errors.size - parameters, 1) * float(errors @ errors)
    return is_better, abs(costs[1] - costs[0]) <= limit


def find_twins(problem: Problem, data: Floats, model: Floats) -> list[Floats]:
    """Return models near the twins of a model, which the problem declares; otherwise those along a valley."""
    declared = problem.traits.twins
    return _along_valley(problem, data, model) if declared is None else declared(data, model)


def _along_valley(problem: Problem, data: Floats, model: Floats) -> list[Floats]:
    """Return models up to two standard deviations off, along the worst direction of a model; none if it is good.

    The refinement of one of them leads along the valley to the twin. ``data`` are the inliers; some of many are enough.
    """
    step = 1 + data.shape[1] // SEARCHED
    residuals, derivatives = problem.linearized(np.ascontiguousarray(data[:, ::step]), model)
    basis = problem.tangent_basis(model)
    jacobians = basis @ derivatives
    normal = (jacobians @ jacobians.transpose(0, 2, 1)).sum(axis=0)
    if not np.isfinite(normal).all():  # beyond the range of floats
        return []
    values, axes = np.linalg.eigh(normal)
    variance = float(np.vdot(residuals, residuals)) / max(residuals.size - len(basis), 1) / step
    if not variance > _WEAK * _WEAK * values[0] > 0.0:
        return []
    change = math.sqrt(RISE * variance / values[0]) * axes[:, 0] @ basis
    return [model + share * change for share in (1.0, 0.5, -0.5, -1.0)]
