"""The struct of the exact residuals."""

from __future__ import annotations

import numpy as np
import pytest

from bansac.numeric.jit import kernel
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE


@kernel
def call(exact, data, model, out):
    exact.residuals(data, model, 1, 1 + out.size, out)


@pytest.mark.parametrize("problem", [HOMOGRAPHY, FUNDAMENTAL, LINE], ids=lambda problem: problem.name)
def test_a_kernel_gets_the_residuals_of_any_problem(problem):
    rng = np.random.default_rng(0)
    data, model = rng.normal(size=(problem.channels, 9)), rng.normal(size=problem.model_size)
    found, expected = np.empty(6), np.empty(6)
    call(problem.exact, data, model, found)
    problem.exact_residuals(data, model, 1, 7, expected)
    assert np.array_equal(found, expected)
    assert problem.exact is problem.exact
