"""Slices of the loop, what takes place between them, and the time limit."""

import itertools
from typing import Any

import numpy as np
import pytest
from numba import config

from bansac import Network
from bansac.compiled.clock import Stopwatch
from bansac.engine import interruptible, local_optimization
from bansac.engine.frame import Frame
from bansac.engine.interruptible import InterruptibleLoop
from bansac.engine.sampling import SAMPLERS
from bansac.engine.state import OPTIMIZATION
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem
from bansac.synthetic import homography_matches
from tests.engine.builder import BASE, run_search
from tests.planar_scenes import PIXEL, dominant_plane
from tests.problems.number import residuals
from tests.results import assert_same_bits


@pytest.fixture(scope="module")
def planar():
    """Return matches (4 x N, pixels) of a scene whose inliers lie on one plane for the greater part."""
    scene = dominant_plane(np.random.default_rng(1), 150, 0.85, 0.4, 0.2 * PIXEL)
    return np.ascontiguousarray(scene.data / PIXEL)


@pytest.fixture(scope="module")
def plane():
    made = homography_matches(150, inlier_ratio=0.6, noise=0.3, seed=3)
    return np.ascontiguousarray(np.vstack([made.x1.T, made.x2.T]))


def outcome(problem, data, *, is_over=lambda: False, **settings):
    """Run with scores or priors if the sampler takes them."""
    options = BASE.replace(**{"threshold": 0.5, "max_iterations": 120, "min_iterations": 60} | settings)
    row = options.sampler_row
    values = np.random.default_rng(0).uniform(0.1, 0.9, data.shape[1])
    prior, quality = (values if row.prior else None), (values if row.order or row.prior else None)
    return run_search(Frame(problem, data, options, options.threshold, prior=prior, quality=quality), is_over=is_over)


LO = "inner+iterative"
RUNS: dict[str, dict[str, Any]] = {
    **{name: {"sampler": name} for name in SAMPLERS},
    **{f"{name}, LO": {"sampler": name, "local_optimization": LO} for name in SAMPLERS},
    "LO, trace": {"local_optimization": LO, "trace": True},
    "uniform, inner, MSAC, trace": {
        "sampler": "uniform",
        "local_optimization": "inner",
        "scoring": "msac",
        "trace": True,
    },
    "order 2, LO, trace": {"network": Network(order=2), "local_optimization": "iterative", "trace": True},
    "no verification, LO": {"verification": None, "local_optimization": LO},
}


@pytest.mark.parametrize("settings", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("kind", ["F", "H"])
def test_the_result_does_not_depend_on_the_slices(kind, settings, planar, plane, monkeypatch):
    problem, data = (FUNDAMENTAL, planar) if kind == "F" else (HOMOGRAPHY, plane)
    slices = []

    def counted(original):
        def count(*arguments):
            slices.append(arguments[-2:])
            return original(*arguments)

        return count

    monkeypatch.setattr(interruptible, "run_iterations", counted(interruptible.run_iterations))
    monkeypatch.setattr(local_optimization, "iterate", counted(local_optimization.iterate))
    monkeypatch.setattr(interruptible, "_FIRST_SLICE", 2**31)
    whole = outcome(problem, data, **settings)
    assert settings.get("trace") or len({first for first, _ in slices}) == 1
    slices.clear()
    monkeypatch.setattr(interruptible, "_FIRST_SLICE", 1)
    monkeypatch.setattr(interruptible, "_SLICE_SECONDS", 0.0)
    cut = outcome(problem, data, **settings)
    assert [first for first, _ in dict.fromkeys(slices)] == list(range(cut.iterations))
    assert all(end == first + 1 for first, end in slices)
    assert_same_bits(whole[1:], cut[1:])


def follow(monkeypatch):
    """Run loop and local optimisation step by step; return the list of what takes place, with the iteration."""
    states, events = [], []

    def start(frame):
        states.append(original_start(frame))
        return states[-1]

    def log(name):
        events.append((name, int(states[-1][0].progress["iterations"])))

    def repair(loop):
        log("repair")
        original_repair(loop)

    def optimize(*arguments):
        log("optimization")
        original_optimize(*arguments)

    def iterate(packed, manifold, work, functions, selection, trace, first, end):
        found = interruptible.run_iterations(packed, trace, first, end)
        while found[2] == OPTIMIZATION:
            optimize(packed, manifold, work, functions, selection)
            found = interruptible.run_iterations(packed, trace, first, end)
        return found

    original_start, original_repair = Frame.start, InterruptibleLoop._repair
    original_optimize = local_optimization.optimize
    monkeypatch.setattr(Frame, "start", start)
    monkeypatch.setattr(InterruptibleLoop, "_repair", repair)
    monkeypatch.setattr(local_optimization, "iterate", iterate)
    monkeypatch.setattr(local_optimization, "optimize", optimize)
    return states, events


@pytest.mark.parametrize(("sampler", "seeds"), [("uniform", range(7, 9)), ("bansac", range(2))])
def test_local_optimisation_follows_a_repair_in_the_same_iteration(sampler, seeds, planar, monkeypatch):
    both = 0
    settings = {"sampler": sampler, "local_optimization": "inner", "stopping": None, "trace": True}
    settings |= {"degeneracy": "degensac"}
    compiled = [outcome(FUNDAMENTAL, planar, seed=seed, **settings) for seed in seeds]
    _, events = follow(monkeypatch)
    for seed, expected in zip(seeds, compiled, strict=True):
        events.clear()
        monkeypatch.setattr(interruptible, "_FIRST_SLICE", 2**31)
        whole = outcome(FUNDAMENTAL, planar, seed=seed, **settings)
        assert_same_bits(whole[1:], expected[1:])
        course = events.copy()
        both += sum(one == ("repair", at) for one, (name, at) in itertools.pairwise(course) if name == "optimization")
        # Row k of the trace is that of iteration k + 1, whatever came between.
        assert len(whole.trace) == whole.iterations == 120
        assert np.all(np.diff(whole.trace.best_inliers) >= 0)
        events.clear()
        monkeypatch.setattr(interruptible, "_FIRST_SLICE", 1)
        monkeypatch.setattr(interruptible, "_SLICE_SECONDS", 0.0)
        assert_same_bits(whole[1:], outcome(FUNDAMENTAL, planar, seed=seed, **settings)[1:])
        assert events == course
    assert both > 0


@pytest.mark.parametrize("sampler", ["bansac", "ar"])
def test_an_iteration_with_local_optimisation_teaches_once(sampler, plane, monkeypatch):
    states, events = follow(monkeypatch)
    found = outcome(HOMOGRAPHY, plane, sampler=sampler, local_optimization=LO, stopping=None, trace=True)
    assert min(at for _, at in events) < found.iterations  # in the loop
    state = states[0][0]
    if sampler == "bansac":
        assert state.progress["updates"] == np.count_nonzero(~np.isnan(found.trace.gamma)) > 0
    else:
        assert state.sampler_indices.sum() == 4 * found.iterations  # failures, four data a sample


def test_a_time_limit_ends_a_run_after_a_whole_iteration(planar, monkeypatch):
    monkeypatch.setattr(interruptible, "_FIRST_SLICE", 1)
    monkeypatch.setattr(interruptible, "_SLICE_SECONDS", 0.0)
    found = outcome(
        FUNDAMENTAL, planar, is_over=lambda: True, sampler="uniform", local_optimization=LO, stopping=None, trace=True
    )
    assert (found.iterations, found.stop_reason) == (1, "max_seconds")
    assert len(found.trace) == 1


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its million additions take minutes")
def test_a_slow_problem_keeps_the_time_limit():
    def slow(data, sample, models, scratch):
        total = 0.0
        for k in range(5_000_000):  # some milliseconds
            total += 1.0 / (k + 1.0)
        models[0, 0] = data[0, sample[0]] + 1e-30 * total
        return 1

    data, watch = np.random.default_rng(0).uniform(size=(1, 200)), Stopwatch()
    found = outcome(
        Problem("slow", 1, 1, (1,), slow, residuals), data, is_over=lambda: watch.read()[0] > 0.2, threshold=1e-9,
        stopping=None, max_iterations=2**31 - 1,
    )  # fmt: skip
    assert found.stop_reason == "max_seconds"
    assert 1 < found.iterations < 500


@pytest.mark.parametrize("sampler", ["baysac", "ar"])
def test_snapshots_are_the_probabilities_of_the_sampler(sampler, planar):
    found = outcome(FUNDAMENTAL, planar, sampler=sampler, stopping=None, max_iterations=90, trace=True)
    assert np.ptp(found.beliefs) > 0
    np.testing.assert_array_equal(found.trace.snapshots[90], found.beliefs)
    assert not np.array_equal(found.trace.snapshots[0], found.beliefs)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, thousands of models of a thousand data take minutes")
def test_first_models_without_inliers_leave_a_test():
    def far(data, sample, models, scratch):  # no datum is near, but for one sample in some hundred
        models[0, 0] = 7.0 if data[0, sample[0]] == 7.0 else -1000.0
        return 1

    data = np.arange(1000.0)[None]
    data[0, ::25] = 7.0
    problem = Problem("far", 1, 1, (1,), far, residuals)
    settings = {"threshold": 0.5, "sampler": "uniform", "stopping": "sprt", "max_iterations": 5000}
    reasons = {outcome(problem, data, seed=seed, **settings).stop_reason for seed in range(8)}
    assert reasons == {"sprt"}
