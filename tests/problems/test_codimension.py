"""The codimension of all problems: the number of independent equations of a point that satisfies the model."""

from __future__ import annotations

import numpy as np
import pytest

from bansac.problems.affine import AFFINE
from tests.problems.test_linearize import PROBLEMS, linearize, random_model

STEP = 1e-6
NAMES = [*PROBLEMS, AFFINE.name]


def residuals_and_derivatives(problem, point, model):
    """Return the components of the residual of a point, and their derivatives by its coordinates."""
    moves = STEP * np.hstack([np.zeros((point.size, 1)), np.eye(point.size), -np.eye(point.size)])
    values = linearize(problem, np.ascontiguousarray(point[:, None] + moves), model)[0]
    ahead, behind = values[:, 1 : 1 + point.size], values[:, 1 + point.size :]
    return values[:, 0], (ahead - behind) / (2 * STEP)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_rank_of_the_derivatives_by_the_point(name):
    problem = AFFINE if name == AFFINE.name else PROBLEMS[name]
    rng, ranks = np.random.default_rng(0), []
    for _ in range(10):
        model = rng.normal(size=6) if problem is AFFINE else random_model(name, rng)
        point = rng.uniform(-0.5, 0.5, problem.channels)
        for _ in range(30):  # to the nearest point that satisfies the model, by Newton's method
            residual, derivatives = residuals_and_derivatives(problem, point, model)
            point = point - np.linalg.lstsq(derivatives, residual, rcond=1e-4)[0]
        residual, derivatives = residuals_and_derivatives(problem, point, model)
        if np.abs(residual).max() < 1e-9:
            ranks.append(np.linalg.matrix_rank(derivatives, tol=1e-4 * np.linalg.norm(derivatives)))
    assert len(ranks) >= 3  # a random circle may have a negative radius
    assert set(ranks) == {problem.codimension}
