"""The twin of a motion, as that of a narrow view with reversed depths (:mod:`bansac.evidence.twins`)."""

import math
from dataclasses import replace

import numpy as np

from bansac.estimate.result import Rival
from bansac.estimate.solve import Solution, refine
from bansac.evidence.twins import along_valley, compare_twins
from bansac.maths.arrays import Floats

# Essential matrices that differ by less, an angle in radians, are the same.
_SAME = math.radians(3.0)


def choose_twin(solution: Solution) -> Solution:
    """Return the better one of an essential matrix and its twin, with the other one as rival if it is nearly as good.

    Only a matrix that its inliers determine badly is compared.
    """
    best, request = solution, solution.request
    assert best.model is not None
    ends = along_valley(request.problem, np.compress(best.inliers, request.data, axis=1), best.model)
    candidates = [best, *(refine(best.moved(end), local_optimization="lm") for end in ends)]
    for twin in candidates[1:]:
        best = twin if _compare(best, twin, solution.threshold)[0] else best
    for other in candidates:
        if other.model is None or best.model is None or _angle(best.model, other.model) < _SAME:
            continue
        if _compare(best, other, solution.threshold)[1]:
            rival = Rival(request.form.to_public(other.model), other.inliers, other.threshold)
            return replace(best, rival=rival, public=None)
    return best


def _compare(first: Solution, second: Solution, threshold: float) -> tuple[bool, bool]:
    problem = first.request.problem
    parameters = problem.parameters or problem.model_size
    return compare_twins(first.residuals, second.residuals, threshold, problem.codimension, parameters)


def _angle(first: Floats, second: Floats) -> float:
    """Return the angle between two matrices of any sign."""
    cosine = abs(float(first @ second)) / float(np.linalg.norm(first) * np.linalg.norm(second))
    return math.acos(min(cosine, 1.0))
