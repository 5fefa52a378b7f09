"""Records and the context: kernels and Python see the same memory."""

import numpy as np
import pytest

from bansac import Network
from bansac.compiled.jit import kernel
from bansac.engine import state
from bansac.engine.state import State, pack_run, weights_at
from bansac.problems.line import LINE
from tests.engine.builder import build_run, records_of

POINTS = np.random.default_rng(0).uniform(size=(2, 12))


@kernel
def write(run):
    run.progress.iterations += 1
    run.progress.required_iterations = 2.5
    run.candidate.degenerate = True
    run.sprt.tests = 4
    run.best_model[1] = 7.0
    run.odds_bits[3] = 0
    return run.settings.squared_threshold


@kernel
def weights_of(run, start, stop, n):
    return weights_at(run.score_weights, start, stop, n).copy()


sums_of_weights = kernel(lambda run: (run.settings.total_weight, run.block_weights.copy()))
shapes = kernel(lambda run: (run.gamma.size, run.belief.shape[0]))


def test_a_kernel_writes_into_the_records_and_arrays_of_python():
    run = build_run(LINE, POINTS, threshold=3.0)
    packed = pack_run(run)
    assert write(packed) == 9.0
    assert write(packed) == 9.0
    assert run.progress["iterations"] == 2
    assert run.progress["required_iterations"] == 2.5
    assert records_of(run)["candidate"]["degenerate"]
    assert records_of(run)["sprt"]["tests"] == 4
    assert run.best_model[1] == 7.0
    assert run.odds[3] == 0.0  # the bits are those of the odds


def test_a_run_starts_with_nothing_found_and_nothing_asked_for():
    run = build_run(LINE, POINTS)
    assert shapes(pack_run(run)) == (13, 0)
    progress = run.progress
    assert progress["stop"] == state.RUNNING
    assert progress["due"] == state.NOTHING
    assert progress["iterations"] == progress["models_tested"] == progress["best_inliers"] == progress["updates"] == 0
    assert progress["required_iterations"] == progress["chance_support"] == np.inf
    assert progress["subset_limit"] == 12
    assert np.all(run.odds == 1.0)
    assert shapes(pack_run(build_run(LINE, POINTS, network=Network(order=3, gamma="gamma_2")))) == (13, 8)
    assert shapes(pack_run(build_run(LINE, POINTS, sampler="uniform"))) == (0, 0)


def test_points_have_the_precision_of_the_problem_and_data_are_double():
    run = build_run(LINE, POINTS)
    assert run.points.dtype == run.score_weights.dtype == np.float32
    assert run.data.dtype == np.float64
    assert np.array_equal(run.data, POINTS)


def test_every_array_is_contiguous_and_every_field_is_set():
    run = build_run(LINE, POINTS, prior=np.linspace(0.1, 0.9, 12), quality=np.arange(12.0), network=Network(order=2))
    assert isinstance(run, State)
    for name, value in zip(State._fields, run, strict=True):
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous, name
    assert run.ranking.tolist() == list(range(11, -1, -1))
    assert run.odds[0] == pytest.approx(1 / 9)
    pack_run(run)
    assert run.progress["largest_odds"] == pytest.approx(9.0)


@pytest.mark.parametrize("n", [5, 128, 300])
def test_weights_that_are_all_one_have_one_block(n):
    points = np.random.default_rng(0).normal(size=(2, n))
    weights = np.random.default_rng(1).uniform(0.1, 1, n).astype(np.float32)
    given, ones = pack_run(build_run(LINE, points, weights=weights)), pack_run(build_run(LINE, points))
    for start in range(0, n, 128):
        stop = min(start + 128, n)
        assert np.array_equal(weights_of(given, start, stop, n), weights[start:stop])
        assert np.array_equal(weights_of(ones, start, stop, n), np.ones(stop - start))
    for run, used in ((given, weights), (ones, np.ones(n))):
        total, sums = sums_of_weights(run)
        assert sums == pytest.approx([used[start : start + 128].sum(dtype=float) for start in range(0, n, 128)])
        assert total == pytest.approx(used.sum(dtype=float))
