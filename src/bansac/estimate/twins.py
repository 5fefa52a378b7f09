"""The twin of a motion, as of a narrow view with reversed depths: the better one is returned, see evidence/twins.py."""

import math
from dataclasses import replace

import numpy as np

from bansac.estimate.result import Rival
from bansac.estimate.solve import Solution, refine
from bansac.evidence.twins import along_valley, compare_twins
from bansac.maths.arrays import Floats

# Essential matrices that differ by less, an angle in radians, are the same.
_SAME = math.radians(5.0)


def choose_twin(solution: Solution) -> Solution:
    """Return the better one of an essential matrix and its twin, with the other one as rival if it is nearly as good.

    Only a matrix that its inliers determine badly is compared.
    """
    request, start = solution.request, solution
    problem = request.problem
    assert start.model is not None
    for model in along_valley(problem, np.compress(start.inliers, request.data, axis=1), start.model):
        twin = refine(start.moved(model), local_optimization="lm")
        assert solution.model is not None
        if twin.model is None or _angle(twin.model, start.model) < _SAME:
            continue
        lengths = solution.residuals, twin.residuals
        is_better, is_undecided = compare_twins(*lengths, start.threshold, problem.codimension, problem.parameters or 0)
        other = solution if is_better else twin
        assert other.model is not None
        rival = Rival(request.form.to_public(other.model), other.inliers, other.threshold) if is_undecided else None
        solution = replace(twin if is_better else solution, rival=rival, public=None)
    return solution


def _angle(first: Floats, second: Floats) -> float:
    """Return the angle between two matrices of any sign."""
    cosine = abs(float(first @ second)) / float(np.linalg.norm(first) * np.linalg.norm(second))
    return math.acos(min(cosine, 1.0))
