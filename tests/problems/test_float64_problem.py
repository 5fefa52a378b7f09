"""The struct of the exact residuals."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from bansac.compiled.jit import kernel
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
    call(problem.float64, data, model, found)
    problem.float64_residuals(data, model, 1, 7, expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda problem: pickle.loads(pickle.dumps(problem))])
def test_a_used_problem_can_be_copied(copied):
    used = dataclasses.replace(LINE)
    data, model = np.arange(8.0).reshape(2, 4), np.array([0.6, 0.8, 1.0])
    found, expected = np.empty(3), np.empty(3)
    call(used.float64, data, model, expected)
    other = copied(used)
    assert other is not used
    call(other.float64, data, model, found)
    assert np.array_equal(found, expected)
