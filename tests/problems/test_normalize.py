"""The normalisations of all problems: what a model of the normalised data says of the data themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.engine.warm_start import normalize_model
from bansac.problems.affine import AFFINE
from bansac.problems.similarity import SIMILARITY
from bansac.problems.translation import TRANSLATION_2D, TRANSLATION_3D
from tests.problems.test_linearize import PROBLEMS, random_model

OTHERS = {problem.name: problem for problem in (AFFINE, SIMILARITY, TRANSLATION_2D, TRANSLATION_3D)}
NORMALIZED = {name: problem for name, problem in (PROBLEMS | OTHERS).items() if problem.normalize is not None}


@pytest.mark.parametrize("name", NORMALIZED)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_residuals_change_by_the_scale_only(name, seed):
    rng = np.random.default_rng(seed)
    problem = NORMALIZED[name]
    data = rng.uniform(-0.5, 0.5, (problem.channels, 20)) * rng.uniform(0.5, 20) + rng.normal(
        size=(problem.channels, 1)
    )
    model = rng.normal(size=problem.model_size) if name in OTHERS else random_model(name, rng)
    if problem is SIMILARITY:
        model[4], model[3] = model[0], -model[1]
    normalized, transform = data.copy(), np.zeros(1 + 2 * problem.channels)
    problem.normalize(normalized, transform)
    expected = problem.distances(normalized, model)
    found = model.copy()
    problem.denormalize(found, transform)
    assert problem.distances(data, found) * transform[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    # An initial model of the caller takes the way back.
    back = normalize_model(problem, found, transform)
    assert back is not None
    assert problem.distances(normalized, back) == pytest.approx(expected, rel=1e-6, abs=1e-9)
