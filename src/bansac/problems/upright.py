"""The essential matrix of cameras whose vertical direction is known, for example from an accelerometer.

Each match also has the unit verticals in both cameras, rows 4 to 9 of the data, which are the same for all matches.
Minimal samples of three matches keep the vertical. Fits and refinements of larger sets are those of the essential
matrix and ignore it, so that its errors do not reach the final model. The significance test is that of the essential
matrix, too, because the refinement can move the model through five matches. If it fails, the nearest model that keeps
the vertical is tested (``significance.vertical``).
"""

import dataclasses
import functools

import numpy as np

from bansac.maths.arrays import Floats
from bansac.problems.problem import Problem
from bansac.solvers import essential_upright_3pt


@functools.cache
def upright(essential: Problem) -> Problem:
    """Return the problem with known verticals for ``ESSENTIAL`` or ``ESSENTIAL_SYMMETRIC``."""

    def significance_form(data: Floats, model: Floats) -> tuple[Problem, Floats, Floats]:
        """Return the matches without the verticals for the significance test."""
        return essential, np.ascontiguousarray(data[:4]), model

    return dataclasses.replace(
        essential,
        channels=10,
        sample_size=3,
        max_models=essential_upright_3pt.MAX_MODELS,
        solve=essential_upright_3pt.solve,
        scratch_size=max(essential.scratch_size, essential_upright_3pt.SCRATCH),
        significance_form=significance_form,
        traits=dataclasses.replace(essential.traits, points=((0, 1), (4, 5, 6, 7, 8, 9), (2, 3))),
    )
