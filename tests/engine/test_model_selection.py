"""The optimised models of a restart are compared by score times plausibility."""

import numpy as np
import pytest

from bansac.compiled.jit import kernel
from bansac.engine.frame import Frame
from bansac.engine.model_selection import Plausibility, make_model_selection, plausibility_of, update_if_better
from bansac.engine.state import pack_run
from bansac.problems.line import LINE
from tests.engine.builder import BASE, build_run, run_search


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


def first_number(model, transform, parameters):
    """Weigh a model by one of the parameters, and spoil the model, which is allowed."""
    plausibility = parameters[int(model[0])]
    model[:] = np.nan
    return plausibility


def selection_of(*plausibilities):
    return make_model_selection(LINE, Plausibility(first_number, np.array(plausibilities)), np.zeros(5))


def test_a_model_of_less_score_and_more_plausibility_wins(state):
    packed, (functions, selection) = pack_run(state), selection_of(0.0, 0.5, 1.0)
    bring(state, 1.0, 50.0, 60)
    update_if_better(packed, functions, selection)
    assert state.progress["best_score"] == 25.0  # what the loop has to beat
    bring(state, 2.0, 30.0, 40)
    update_if_better(packed, functions, selection)
    assert found(state) == [2.0, 30.0, 40, 25.0]
    bring(state, 1.0, 55.0, 62)
    update_if_better(packed, functions, selection)
    assert found(state) == [2.0, 30.0, 40, 25.0]
    assert plausibility_of(functions, selection, np.full(3, 1.0)) == 0.5


def test_the_last_step_gets_the_score_and_a_round_begins_without_a_model(state):
    packed, (functions, selection) = pack_run(state), selection_of(0.0, 0.5, 0.5)
    selection.restore_score(state.progress)
    assert state.progress["best_score"] == 0.0
    bring(state, 1.0, 50.0, 60)
    update_if_better(packed, functions, selection)
    selection.restore_score(state.progress)
    assert found(state)[:2] == [1.0, 50.0]
    selection.reset()
    bring(state, 2.0, 10.0, 20)
    update_if_better(packed, functions, selection)
    assert found(state)[:2] == [2.0, 5.0]


denormalise = kernel(LINE.denormalise)


def below(model, transform, parameters):
    """Less plausibility to a line that is above the origin."""
    denormalise(model, transform)
    return 0.8 if -model[2] / model[1] > 0.0 else 1.0


@pytest.mark.parametrize("restarts", [1, 3])
def test_plausibility_decides_between_two_lines(restarts):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 200)
    y = np.where(np.arange(200) < 80, 0.1, -0.2) + rng.normal(0, 0.002, 200)
    y[150:] = rng.uniform(-1, 1, 50)
    data = np.vstack([x, y])  # 80 on one line, 70 on the other
    options = BASE.replace(threshold=0.01, scoring="msac", local_optimization="inner", stopping=None)
    options = options.replace(max_iterations=600, restarts=restarts, sampler="uniform")

    def height(model):
        return -model[2] / model[1]

    plain, weighed = (
        run_search(Frame(LINE, data, options, 0.01, plausibility=plausibility))
        for plausibility in (None, Plausibility(below, np.empty(0)))
    )
    assert height(plain.model) == pytest.approx(0.1, abs=0.01)
    assert height(weighed.model) == pytest.approx(-0.2, abs=0.01)
    assert 60 < weighed.score <= 70 < plain.score
