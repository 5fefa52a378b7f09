"""Whether a model has more support than chance gives, and what happened, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bansac.engine.runner import Outcome, chance_supports
from bansac.engine.sampling import Sampler
from bansac.engine.significance import IN_DOUBT, SIGNIFICANT, log_chance
from bansac.problems.problem import Problem

__all__ = ["judge"]


def judge(
    problem: Problem,
    data: NDArray[np.float64],
    threshold: float,
    outcome: Outcome,
    inliers: NDArray[np.bool_],
    sampler: Sampler,
    message: str,
) -> tuple[bool, str]:
    """Say whether the model has more support than chance, and in words what happened.

    The first models of the run estimate the support that chance gives. If the model is not significant then, they may
    have been good themselves, drawn by a good prior: models of the data that disagree with the result decide. They also
    decide in doubt if the first samples of the sampler are alike (the best matches, or neighbours).
    """
    support, n = int(np.count_nonzero(inliers)), inliers.size
    if message:
        return False, message
    if outcome.model is None:
        if outcome.models_tested == 0:
            reason = f"all {outcome.iterations} samples were degenerate (coincident or collinear data?)"
        else:
            reason = f"none of the {outcome.models_tested} models tested has an inlier"
        return False, f"no {problem.name} found: {reason}"
    facts = (support, n, problem.sample_size, outcome.models_tested)
    chance = log_chance(*facts, n, outcome.first_supports)
    if chance >= (IN_DOUBT if sampler.alike else SIGNIFICANT):
        outliers = np.ascontiguousarray(data[:, ~inliers])
        chance = log_chance(*facts, outliers.shape[1], chance_supports(problem, outliers, threshold))
    if chance >= SIGNIFICANT:
        return False, (
            f"the best {problem.name} has {support} of {n} inliers, no more than chance gives the best of "
            f"{outcome.models_tested} models"
        )
    return True, f"{problem.name} with {support} of {n} inliers"
