"""The twin of a motion, as that of a narrow view with reversed depths (:mod:`bansac.evidence.twins`)."""

import math
from dataclasses import replace

import numpy as np

from bansac.estimate.result import Rival
from bansac.estimate.solution import Solution
from bansac.estimate.solve import refine
from bansac.evidence.twins import compare_twins, find_twins
from bansac.maths.arrays import Floats

# Essential matrices that differ by less, an angle in radians, are the same.
_SAME = math.radians(3.0)


def choose_twin(solution: Solution) -> Solution:
    """Return the better one of an essential matrix and its twin, with the other one as rival if it is nearly as good.

    Only a matrix that its inliers determine badly is compared.
    """
    best, request, rival = solution, solution.request, None
    problem = request.problem
    assert best.model is not None
    for end in find_twins(problem, np.compress(best.inliers, request.data, axis=1), best.model):
        twin = refine(solution.moved(end), local_optimization="lm")
        assert best.model is not None
        if twin.model is None or _angle(best.model, twin.model) < _SAME:
            continue
        lengths = best.residuals, twin.residuals
        is_better, is_undecided = compare_twins(
            *lengths, solution.threshold, problem.traits.codimension, problem.parameters or 0
        )
        best, other = (twin, best) if is_better else (best, twin)
        if is_undecided and other.model is not None:
            rival = Rival(request.form.to_public(other.model), other.inliers, other.threshold)
        elif is_better:
            rival = None
    return best if rival is None else replace(best, rival=rival, public=None)


def _angle(first: Floats, second: Floats) -> float:
    """Return the angle between two matrices of any sign."""
    cosine = abs(float(first @ second)) / float(np.linalg.norm(first) * np.linalg.norm(second))
    return math.acos(min(cosine, 1.0))
