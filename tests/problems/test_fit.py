"""The fits of all problems: the scale of the weights has no effect."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problems.in_loop import compile_fit
from tests.problems.test_linearize import PROBLEMS

FITS = {name: problem for name, problem in PROBLEMS.items() if problem.fit is not None}


@pytest.mark.parametrize("name", FITS)
def test_the_scale_of_the_weights_has_no_effect(name):
    rng = np.random.default_rng(1)
    problem = FITS[name]
    data, weights = rng.uniform(-0.5, 0.5, (problem.channels, 12)), rng.uniform(0.5, 1.0, 12)
    if problem.channels == 2:  # an ellipse
        angles = np.linspace(0.0, 6.0, 12)
        data = 0.01 * data + [np.cos(angles), 0.5 * np.sin(angles)]
    fit = compile_fit(problem.fit)
    models = []
    for scale in (1.0, 1e-3):  # the smaller weights have a sum below 1
        model = np.full(problem.model_size, np.nan)
        assert fit(data, scale * weights, model, np.empty(problem.scratch_size))
        models.append(model)
    first, second = models
    assert second * np.sign(first @ second) == pytest.approx(first, rel=1e-6, abs=1e-9)
