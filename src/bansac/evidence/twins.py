"""Twins: two models that the same data explain nearly as well, such as a pose and its mirror image.

The sum of squared errors has a minimum at each of them. :func:`compare_twins` tells which one the data prefer, and
whether both explain them. The images of a narrow view have twins with reversed depths (Belhumeur, Kriegman and Yuille,
IJCV 1999). Between them the sum is in a valley, and the worse one determines the way along it badly.
"""

import math

import numpy as np

from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem

REACH, RISE = 2.0, 4.0
"""Twins are compared within ``REACH`` thresholds: one estimated from the wrong one may be too small. Both explain the
data if the sum of squared errors rises by less than two standard deviations, ``RISE`` variances (chi-square). In units
of the variance, the rise is twice the logarithm of the likelihood ratio."""

# Standard deviation of a badly determined direction, in radians for a motion. Of narrow views it is at most .02 for
# right models and at least .08 for wrong ones.
_WEAK = 0.035


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


def along_valley(problem: Problem, data: Floats, model: Floats) -> list[Floats]:
    """Return the models two standard deviations off, along the worst direction of a model; none if it is good.

    The refinement of one of them leads over the bottom of the valley to the twin. ``data`` are the inliers.
    """
    residuals, derivatives = problem.linearized(data, model)
    basis = problem.tangent_basis(model)
    jacobian = np.einsum("pk,ckn->pcn", basis, derivatives).reshape(len(basis), -1)
    values, axes = np.linalg.eigh(jacobian @ jacobian.T)
    variance = float(np.sum(residuals**2)) / max(residuals.size - len(basis), 1)
    if not variance > _WEAK * _WEAK * values[0] > 0.0:
        return []
    step = math.sqrt(RISE * variance / values[0]) * axes[:, 0] @ basis
    return [model + step, model - step]
