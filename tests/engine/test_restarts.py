"""Restarts: what a restart starts from, when the restarts end, and which model they return."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from bansac.engine import runner, search
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import Plausibility
from bansac.engine.plan import find_plan
from bansac.engine.restarts import RestartModel, Restarts, SavedState, iterations_to_confirm
from bansac.engine.state import pack_run
from bansac.maths.normalization import denormalize_homography
from bansac.maths.rng import seed_rng, shuffle
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches, homography_matches
from tests.engine.builder import BASE, build_run


def matches(scene):
    return np.ascontiguousarray(np.vstack([scene.x1.T, scene.x2.T]))


def candidate(value, inliers, n=100, plausibility=1.0):
    is_inlier = np.zeros(n, np.bool_)
    is_inlier[inliers] = True
    return RestartModel(np.array([value]), value, value * plausibility, plausibility, is_inlier, int(is_inlier.sum()))


def finish(restarts, state, found, iterations=10):
    state.progress["iterations"] = iterations
    restarts.end_restart(state, found)


@pytest.fixture
def state():
    return build_run(LINE, np.random.default_rng(0).normal(size=(2, 100)))


def test_rounds_end_when_enough_of_them_agree(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=3))
    finish(restarts, state, candidate(5.0, slice(0, 40)))
    finish(restarts, state, candidate(4.0, slice(0, 39)))  # 39 of 40 are 97.5 %
    assert not restarts.agree()
    finish(restarts, state, None)
    finish(restarts, state, candidate(4.5, slice(0, 40)))
    assert restarts.agree()
    assert restarts.over()
    assert restarts.best.score == 5.0
    assert (restarts.count, restarts.iterations) == (4, 40)


def test_one_restart_agrees_with_an_initial_model(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    first = candidate(5.0, slice(0, 40))
    restarts.begin_with(first)
    assert restarts.initial is first
    assert not restarts.over()
    finish(restarts, state, None)
    assert not restarts.agree()
    finish(restarts, state, candidate(4.0, slice(0, 39)))
    assert restarts.agree()
    assert restarts.initial is None
    assert restarts.best is first


def test_a_better_model_replaces_the_initial_one(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    restarts.begin_with(candidate(5.0, slice(0, 40)))
    finish(restarts, state, candidate(6.0, slice(30, 80)))
    assert restarts.initial is None
    assert restarts.best.score == 6.0
    assert not restarts.agree()


def test_restart_confirms_an_initial_model_after_half_of_the_required_iterations():
    half = candidate(5.0, slice(0, 50))
    assert iterations_to_confirm(half, 300, 4, 0.999) == (54, 108)
    assert iterations_to_confirm(half, 300, 7, 0.999) == (150, 300)
    assert iterations_to_confirm(candidate(5.0, slice(0, 100)), 300, 4, 0.999) == (25, 50)


def test_a_better_model_that_differs_starts_the_count_anew(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    finish(restarts, state, candidate(5.0, slice(0, 40)))
    finish(restarts, state, candidate(6.0, slice(30, 80)))
    assert not restarts.agree()
    assert restarts.best.score == 6.0
    finish(restarts, state, candidate(5.5, slice(0, 40)))  # agrees with the first one only
    assert not restarts.agree()


def test_a_model_of_most_data_needs_one_round_less(state):
    for count, needed in ((50, 3), (51, 2)):
        restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=3))
        for _ in range(needed - 1):
            finish(restarts, state, candidate(5.0, slice(0, count)))
            assert not restarts.agree()
        finish(restarts, state, candidate(5.0, slice(0, count)))
        assert restarts.agree()
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2), majority_agrees=False)
    finish(restarts, state, candidate(5.0, slice(0, 60)))
    assert not restarts.agree()
    finish(restarts, state, candidate(5.0, slice(0, 60)))
    assert restarts.agree()
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    for _ in range(3):
        finish(restarts, state, candidate(5.0, slice(0, 60), plausibility=0.8))
        assert not restarts.agree()


def test_of_an_implausible_model_twice_as_many_rounds_have_to_agree(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    for _ in range(3):
        finish(restarts, state, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert not restarts.agree()
    finish(restarts, state, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert restarts.agree()
    finish(restarts, state, candidate(5.0, slice(30, 80)))  # better: it is plausible
    assert not restarts.agree()
    finish(restarts, state, candidate(5.0, slice(30, 80)))
    assert restarts.agree()
    assert restarts.best.score == 5.0


def test_rounds_share_the_budget(state):
    restarts = Restarts(BASE.replace(max_iterations=100, restarts=9, restart_iterations=40))
    assert restarts.iterations_left() == 40
    finish(restarts, state, None, 40)
    finish(restarts, state, None, 40)
    assert restarts.iterations_left() == 20
    assert not restarts.over()
    finish(restarts, state, None, 20)
    assert restarts.over()


def test_rounds_grow_with_the_budget(state):
    options = BASE.replace(max_iterations=3000, restarts=4)
    assert Restarts(options).iterations_left() == 500  # of 500, 500, 1000 and 1000
    assert Restarts(options.replace(max_iterations=1001)).iterations_left() == 300
    assert Restarts(options.replace(max_iterations=200)).iterations_left() == 200
    assert Restarts(options.replace(restart_iterations=100)).iterations_left() == 100
    assert Restarts(options.replace(restarts=1)).iterations_left() == 3000


def test_every_second_restart_is_twice_as_long(state):
    restarts = Restarts(BASE.replace(max_iterations=4000, restarts=16))
    lengths = []
    while not restarts.over():
        lengths.append(restarts.iterations_left())
        finish(restarts, state, None, lengths[-1])
    assert lengths == [300, 300, 600, 600, 1200, 1000]


def test_restarts_agree_on_a_trusted_model_only(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9))
    restarts.is_trusted = False
    for _ in range(3):
        finish(restarts, state, candidate(6.0, slice(0, 80)))
    assert not restarts.agree()
    restarts.trust()
    assert restarts.best is None
    finish(restarts, state, candidate(6.0, slice(0, 80)))
    assert restarts.agree()


def test_the_best_models_of_two_thresholds_are_kept_apart(state):
    restarts = Restarts(BASE.replace(max_iterations=1000, restarts=9))
    finish(restarts, state, candidate(6.0, slice(0, 40)))
    assert not restarts.swap_best()
    finish(restarts, state, candidate(9.0, slice(0, 50)))
    assert restarts.swap_best()
    assert restarts.best.score == 6.0
    finish(restarts, state, candidate(5.0, slice(0, 40)))
    assert restarts.agree()


@pytest.mark.parametrize("order", [1, 2])
def test_a_round_repeats_itself_from_its_start(order):
    data = matches(homography_matches(150, inlier_ratio=0.5, noise=0.3, seed=3))
    state = build_run(HOMOGRAPHY, data, sampler="bansac", order=order)
    packed, seed = pack_run(state), state.rng.copy()
    start, restarts = SavedState(state), []
    for _ in range(2):
        state.rng[:] = seed
        run_iterations(packed, np.empty((0, 7)), 0, 60)
        restarts.append((state.odds.tobytes(), state.memory.tobytes(), state.best_model.tobytes()))
        start.restore()
    assert restarts[0] == restarts[1]


def test_every_round_has_the_same_start():
    data = matches(homography_matches(150, inlier_ratio=0.5, noise=0.3, seed=3))
    state = build_run(HOMOGRAPHY, data, sampler="bansac")
    packed = pack_run(state)
    before = {name: getattr(state, name).copy() for name in ("odds", "sampler_numbers", "sampler_indices", "memory")}
    start = SavedState(state)
    state.settings["max_iterations"] = 60
    run_iterations(packed, np.empty((0, 7)), 0, 60)
    assert state.progress["updates"] > 0
    assert not np.array_equal(state.odds, before["odds"])
    start.restore()
    for name, value in before.items():
        assert np.array_equal(getattr(state, name), value), name


def run(problem, data, **settings):
    options = BASE.replace(**{"max_iterations": 2000} | settings)
    return runner.run(runner.Run(problem, data, options, options.threshold))


def test_easy_data_need_as_many_rounds_as_have_to_agree():
    for inlier_ratio, fewer in ((0.4, 0), (0.7, 1)):
        data = matches(homography_matches(300, inlier_ratio=inlier_ratio, noise=0.3, seed=1))
        for agreement in (2, 3):
            found = run(HOMOGRAPHY, data, restarts=8, agreement=agreement)
            assert found.stop_reason == "agreement"
            assert found.restarts == agreement - fewer


def test_one_round_is_the_run_without_rounds():
    data = matches(epipolar_matches(200, inlier_ratio=0.5, noise=0.3, seed=1))
    plain, one = run(FUNDAMENTAL, data), run(FUNDAMENTAL, data, restarts=1, agreement=1)
    assert np.array_equal(plain.model, one.model)
    assert (plain.iterations, plain.stop_reason) == (one.iterations, one.stop_reason)


def test_budget_and_trace_cover_all_rounds():
    data = matches(epipolar_matches(200, inlier_ratio=0.25, noise=0.5, seed=4))
    found = run(FUNDAMENTAL, data, restarts=6, restart_iterations=30, max_iterations=100, agreement=6, trace=True)
    assert found.restarts == 4
    assert found.iterations == len(found.trace) == 100
    assert found.stop_reason == "max_iterations"


def test_restarts_that_end_without_agreement_are_the_stop_reason():
    data = np.random.default_rng(0).uniform(size=(2, 60))

    def reason(**settings):
        found = run(LINE, data, threshold=0.02, sampler="uniform", **settings)
        return found.stop_reason, found.restarts, found.iterations

    assert reason(stopping=None, restarts=1, restart_iterations=20) == ("restarts", 1, 20)
    assert reason(stopping=None, restarts=3, restart_iterations=20, agreement=9) == ("restarts", 3, 60)
    assert reason(stopping="ransac", restarts=3, agreement=9)[:2] == ("restarts", 3)
    assert reason(stopping="ransac", restarts=1)[:2] == ("ransac", 1)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its ten runs of twenty restarts take minutes")
def test_later_rounds_find_what_a_first_short_one_misses():
    missed, found = 0, 0
    for seed in range(10):
        scene = epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=seed)
        data = matches(scene)
        short = dict(restart_iterations=60, seed=seed, scoring="msac", stopping="ransac")
        one = run(FUNDAMENTAL, data, restarts=1, **short)
        many = run(FUNDAMENTAL, data, restarts=20, agreement=3, **short)
        assert many.iterations <= 2000
        missed += one.score < 40
        found += many.score >= 40
    assert missed >= 3
    assert found >= 9


@pytest.mark.parametrize("sampler", ["bansac", "baysac", "ar"])
def test_beliefs_are_those_of_the_round_of_the_model(sampler, monkeypatch):
    learnt = []

    def end_restart(restarts, state, candidate):
        before, plan = restarts.best, find_plan(FUNDAMENTAL, options, informed=False)
        original(restarts, state, candidate)
        learnt.append((restarts.best is not before, search.current_beliefs(plan, state).copy()))

    original = Restarts.end_restart
    monkeypatch.setattr(Restarts, "end_restart", end_restart)
    data = matches(epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=2))
    earlier = 0
    for seed in range(5):
        learnt.clear()
        options = BASE.replace(
            sampler=sampler, restarts=6, restart_iterations=60, agreement=6, stopping=None, seed=seed
        )
        found = runner.run(runner.Run(FUNDAMENTAL, data, options, options.threshold, prior=np.full(200, 0.5)))
        best = [beliefs for better, beliefs in learnt if better][-1]
        order = np.empty(200, np.int64)
        shuffle(seed_rng(seed), order)  # of the data in the run
        assert np.array_equal(found.beliefs[order], best)
        earlier += not np.array_equal(best, learnt[-1][1])
    assert earlier >= 2


def near_shift(model, transform, parameters):
    """Half the plausibility to a homography that is not the shift along x in the parameters."""
    denormalize_homography(model, transform)
    return 1.0 if abs(model[2] / model[8] - parameters[0]) < 1.0 else 0.5


def test_implausible_models_lose():
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 500, (200, 2))
    x2 = x1 + np.where(np.arange(200) < 100, 10.0, 90.0)[:, None]  # two shifts, one as good as the other
    data = np.ascontiguousarray(np.vstack([x1.T, x2.T]))
    options = BASE.replace(max_iterations=20_000, restarts=20, agreement=20)
    for shift in (10.0, 90.0):
        plausibility = Plausibility(near_shift, np.array([shift]))
        found = runner.run(runner.Run(HOMOGRAPHY, data, options, options.threshold, plausibility=plausibility))
        assert found.model[2] / found.model[8] == pytest.approx(shift, abs=1e-3)
