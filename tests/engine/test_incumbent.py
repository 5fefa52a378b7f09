"""The optimised models of a round compete by score times plausibility."""

from __future__ import annotations

import numpy as np
import pytest

from bansac.engine import runner
from bansac.engine.incumbent import Incumbent
from bansac.engine.state import pack_run
from bansac.problems.line import LINE
from tests.engine.builder import BASE, build_run


@pytest.fixture
def state():
    return build_run(LINE, np.random.default_rng(0).normal(size=(2, 100)))


def bring(state, number, score, inliers):
    """Make a model the best one of the run; its first number tells it from others."""
    state.best_model[:] = number
    state.progress["best_score"], state.progress["best_inliers"] = score, inliers
    state.progress["required_iterations"] = 1000.0 / inliers


def found(state):
    progress = state.progress
    return [state.best_model[0], *(progress[name] for name in ("best_score", "best_inliers", "required_iterations"))]


def test_a_model_of_less_score_and_more_plausibility_wins(state):
    incumbent = Incumbent(state, pack_run(state), lambda model: 0.5 if model[0] == 1.0 else 1.0)
    bring(state, 1.0, 50.0, 60)
    assert incumbent.compete()
    assert state.progress["best_score"] == 25.0  # what the loop has to beat
    bring(state, 2.0, 30.0, 40)
    assert incumbent.compete()
    bring(state, 1.0, 55.0, 62)
    assert not incumbent.compete()
    assert found(state) == [2.0, 30.0, 40, 25.0]


def test_the_last_step_gets_the_score_and_a_round_begins_without_a_model(state):
    incumbent = Incumbent(state, pack_run(state), lambda model: 0.5)
    incumbent.settle()
    assert state.progress["best_score"] == 0.0
    bring(state, 1.0, 50.0, 60)
    incumbent.compete()
    incumbent.settle()
    assert found(state)[:2] == [1.0, 50.0]
    incumbent.reset()
    bring(state, 2.0, 10.0, 20)
    assert incumbent.compete()


@pytest.mark.parametrize("rounds", [1, 3])
def test_plausibility_decides_between_two_lines(rounds):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 200)
    y = np.where(np.arange(200) < 80, 0.1, -0.2) + rng.normal(0, 0.002, 200)
    y[150:] = rng.uniform(-1, 1, 50)
    data = np.vstack([x, y])  # 80 on one line, 70 on the other
    options = BASE.replace(threshold=0.01, scoring="msac", local_optimization="inner", stopping=None)
    options = options.replace(max_iterations=600, rounds=rounds, sampler="uniform")

    def height(model):
        return -model[2] / model[1]

    plain = runner.run(LINE, data, options)
    weighed = runner.run(LINE, data, options, plausibility=lambda model: 0.8 if height(model) > 0 else 1.0)
    assert height(plain.model) == pytest.approx(0.1, abs=0.01)
    assert height(weighed.model) == pytest.approx(-0.2, abs=0.01)
    assert 60 < weighed.score <= 70 < plain.score
