"""The measured loops do the work of a run."""

import numpy as np
import pytest

from bansac.compiled.jit import kernel
from bansac.engine.loop import run_iterations
from bansac.engine.state import pack_run
from bansac.engine.trace import TRACE_COLUMNS
from bansac_lab.measurements.speed import calls, kernels
from bansac_lab.measurements.speed.kernels import KINDS, PROBLEMS, make_task, open_frame, start_run
from bansac_lab.peers.methods import METHODS

masks_of = kernel(lambda run: run.is_inlier)
sample_of = kernel(lambda run: run.sample)


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_can_be_estimated_and_scores_say_something(kind):
    task = make_task(kind, 300, 0.6)
    result = METHODS["default"].estimate(task).result
    assert result.success
    assert result.num_inliers > 0.4 * 300
    assert task.scores[result.inliers].mean() > task.scores[~result.inliers].mean() + 0.2


def test_an_evaluation_is_that_of_the_run():
    settings = {"n": 300, "inlier_ratio": 0.6, "sampler": "uniform"}
    frame, run = open_frame("H", **settings), start_run("H", **settings)
    packed = pack_run(run)
    run_iterations(packed, np.empty((0, len(TRACE_COLUMNS))), 0, 200)
    model = run.best_model[None].copy()
    residuals = np.empty(300)
    PROBLEMS["H"].compiled("residuals")(run.data, model[0], 0, 300, residuals)
    inside = residuals <= (frame.threshold * frame.scale) ** 2
    assert 100 < inside.sum() < 200
    assert kernels._evaluate(packed, np.repeat(model, 3, axis=0)) == 3 * inside.sum()
    np.testing.assert_array_equal(masks_of(packed)[0], inside)
    first_of_last_block = kernels._residuals(packed, model.astype(run.points.dtype))
    assert first_of_last_block == pytest.approx(residuals[256], rel=1e-3)


def test_updates_and_draws_change_the_run():
    run = start_run("H", n=300, sampler="bansac")
    votes = np.zeros((5, 300), bool)
    votes[:, ::2] = True
    assert kernels._update(pack_run(run), votes) == 150  # low after the last update only
    assert (run.odds[::2] > 10).all()
    assert (run.odds[1::2] < 0.1).all()
    packed = pack_run(run)
    kernels._draw(packed, 7)
    assert run.progress["iterations"] == 7
    assert len(set(sample_of(packed))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_moves_the_model_a_little(kind):
    step = kernels._step_call(kind)
    step()
    _, work, *_, model, _ = step.args
    assert 0 < np.abs(work.candidate - model).max() < 0.1, "what the next step would start from"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [calls._FIXED, calls._UNVERIFIED])
def test_nothing_ends_a_fixed_number_of_iterations(kind, settings):
    task = calls._fixed_task(kind, 50)
    for sampler in ("uniform", "bansac"):
        result = METHODS[sampler].estimate(task, **settings).result
        assert (result.iterations, result.stop_reason) == (50, "max_iterations")
    task = calls._fixed_task(kind)
    limits = task.limits() | dict(calls._PEERS["poselib"].settings)
    assert limits["max_iterations"] == limits["min_iterations"] == 1000
