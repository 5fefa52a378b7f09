"""Rounds: what a round starts from, when the rounds end, and which model they return."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from bansac.engine import runner, search
from bansac.engine.loop import run_iterations
from bansac.engine.model_selection import Plausibility
from bansac.engine.plan import find_plan
from bansac.engine.restarts import Candidate, Rounds, Start
from bansac.engine.state import pack_run
from bansac.numeric.rng import seed_rng, shuffle
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.solvers.normalization import denormalize_homography
from bansac.synthetic import epipolar_matches, homography_matches
from tests.engine.builder import BASE, build_run


def matches(scene):
    return np.ascontiguousarray(np.vstack([scene.x1.T, scene.x2.T]))


def candidate(value, inliers, n=100, plausibility=1.0):
    is_inlier = np.zeros(n, np.bool_)
    is_inlier[inliers] = True
    return Candidate(np.array([value]), value, value * plausibility, plausibility, is_inlier, int(is_inlier.sum()))


def finish(rounds, state, found, iterations=10):
    state.progress["iterations"] = iterations
    rounds.end_round(state, found)


@pytest.fixture
def state():
    return build_run(LINE, np.random.default_rng(0).normal(size=(2, 100)))


def test_rounds_end_when_enough_of_them_agree(state):
    rounds = Rounds(BASE.replace(max_iterations=1000, rounds=9, agreement=3))
    finish(rounds, state, candidate(5.0, slice(0, 40)))
    finish(rounds, state, candidate(4.0, slice(0, 39)))  # 39 of 40 are 97.5 %
    assert not rounds.agree()
    finish(rounds, state, None)
    finish(rounds, state, candidate(4.5, slice(0, 40)))
    assert rounds.agree()
    assert rounds.over()
    assert rounds.best.score == 5.0
    assert (rounds.count, rounds.iterations) == (4, 40)


def test_a_better_model_that_differs_starts_the_count_anew(state):
    rounds = Rounds(BASE.replace(max_iterations=1000, rounds=9, agreement=2))
    finish(rounds, state, candidate(5.0, slice(0, 40)))
    finish(rounds, state, candidate(6.0, slice(30, 80)))
    assert not rounds.agree()
    assert rounds.best.score == 6.0
    finish(rounds, state, candidate(5.5, slice(0, 40)))  # agrees with the first one only
    assert not rounds.agree()


def test_a_model_of_most_data_needs_one_round_less(state):
    for count, needed in ((50, 3), (51, 2)):
        rounds = Rounds(BASE.replace(max_iterations=1000, rounds=9, agreement=3))
        for _ in range(needed - 1):
            finish(rounds, state, candidate(5.0, slice(0, count)))
            assert not rounds.agree()
        finish(rounds, state, candidate(5.0, slice(0, count)))
        assert rounds.agree()
    rounds = Rounds(BASE.replace(max_iterations=1000, rounds=9, agreement=2))
    for _ in range(3):
        finish(rounds, state, candidate(5.0, slice(0, 60), plausibility=0.8))
        assert not rounds.agree()


def test_of_an_implausible_model_twice_as_many_rounds_have_to_agree(state):
    rounds = Rounds(BASE.replace(max_iterations=1000, rounds=9, agreement=2))
    for _ in range(3):
        finish(rounds, state, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert not rounds.agree()
    finish(rounds, state, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert rounds.agree()
    finish(rounds, state, candidate(5.0, slice(30, 80)))  # better: it is plausible
    assert not rounds.agree()
    finish(rounds, state, candidate(5.0, slice(30, 80)))
    assert rounds.agree()
    assert rounds.best.score == 5.0


def test_rounds_share_the_budget(state):
    rounds = Rounds(BASE.replace(max_iterations=100, rounds=9, round_iterations=40))
    assert rounds.iterations_left() == 40
    finish(rounds, state, None, 40)
    finish(rounds, state, None, 40)
    assert rounds.iterations_left() == 20
    assert not rounds.over()
    finish(rounds, state, None, 20)
    assert rounds.over()


def test_rounds_grow_with_the_budget(state):
    options = BASE.replace(max_iterations=2000, rounds=4)
    assert Rounds(options).iterations_left() == 500
    assert Rounds(options.replace(max_iterations=1001)).iterations_left() == 300
    assert Rounds(options.replace(max_iterations=200)).iterations_left() == 200
    assert Rounds(options.replace(round_iterations=100)).iterations_left() == 100
    assert Rounds(options.replace(rounds=1)).iterations_left() == 2000


@pytest.mark.parametrize("order", [1, 2])
def test_a_round_repeats_itself_from_its_start(order):
    data = matches(homography_matches(150, inlier_ratio=0.5, noise=0.3, seed=3))
    state = build_run(HOMOGRAPHY, data, sampler="bansac", order=order)
    packed, seed = pack_run(state), state.rng.copy()
    start, rounds = Start(state), []
    for _ in range(2):
        state.rng[:] = seed
        run_iterations(packed, np.empty((0, 7)), 0, 60)
        rounds.append((state.odds.tobytes(), state.memory.tobytes(), state.best_model.tobytes()))
        start.restore()
    assert rounds[0] == rounds[1]


def test_every_round_has_the_same_start():
    data = matches(homography_matches(150, inlier_ratio=0.5, noise=0.3, seed=3))
    state = build_run(HOMOGRAPHY, data, sampler="bansac")
    packed = pack_run(state)
    before = {name: getattr(state, name).copy() for name in ("odds", "sampler_numbers", "sampler_indices", "memory")}
    start = Start(state)
    state.settings["max_iterations"] = 60
    run_iterations(packed, np.empty((0, 7)), 0, 60)
    assert state.progress["updates"] > 0
    assert not np.array_equal(state.odds, before["odds"])
    start.restore()
    for name, value in before.items():
        assert np.array_equal(getattr(state, name), value), name


def run(problem, data, **settings):
    return runner.run(problem, data, BASE.replace(**{"max_iterations": 2000} | settings))


def test_easy_data_need_as_many_rounds_as_have_to_agree():
    for inlier_ratio, fewer in ((0.4, 0), (0.7, 1)):
        data = matches(homography_matches(300, inlier_ratio=inlier_ratio, noise=0.3, seed=1))
        for agreement in (2, 3):
            found = run(HOMOGRAPHY, data, rounds=8, agreement=agreement)
            assert found.stop_reason == "agreement"
            assert found.rounds == agreement - fewer


def test_one_round_is_the_run_without_rounds():
    data = matches(epipolar_matches(200, inlier_ratio=0.5, noise=0.3, seed=1))
    plain, one = run(FUNDAMENTAL, data), run(FUNDAMENTAL, data, rounds=1, agreement=1)
    assert np.array_equal(plain.model, one.model)
    assert (plain.iterations, plain.stop_reason) == (one.iterations, one.stop_reason)


def test_budget_and_trace_cover_all_rounds():
    data = matches(epipolar_matches(200, inlier_ratio=0.25, noise=0.5, seed=4))
    found = run(FUNDAMENTAL, data, rounds=6, round_iterations=30, max_iterations=100, agreement=6, trace=True)
    assert found.rounds == 4
    assert found.iterations == len(found.trace) == 100
    assert found.stop_reason == "max_iterations"


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its ten runs of twenty rounds take minutes")
def test_later_rounds_find_what_a_first_short_one_misses():
    missed, found = 0, 0
    for seed in range(10):
        scene = epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=seed)
        data = matches(scene)
        short = dict(round_iterations=60, seed=seed, scoring="msac", stopping="ransac")
        one = run(FUNDAMENTAL, data, rounds=1, **short)
        many = run(FUNDAMENTAL, data, rounds=20, agreement=3, **short)
        assert many.iterations <= 2000
        missed += one.score < 40
        found += many.score >= 40
    assert missed >= 3
    assert found >= 9


@pytest.mark.parametrize("sampler", ["bansac", "baysac", "ar"])
def test_beliefs_are_those_of_the_round_of_the_model(sampler, monkeypatch):
    learnt = []

    def end_round(rounds, state, candidate):
        before, plan = rounds.best, find_plan(FUNDAMENTAL, options, informed=False)
        original(rounds, state, candidate)
        learnt.append((rounds.best is not before, search.current_beliefs(plan, state).copy()))

    original = Rounds.end_round
    monkeypatch.setattr(Rounds, "end_round", end_round)
    data = matches(epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=2))
    earlier = 0
    for seed in range(5):
        learnt.clear()
        options = BASE.replace(sampler=sampler, rounds=6, round_iterations=60, agreement=6, stopping=None, seed=seed)
        found = runner.run(FUNDAMENTAL, data, options, prior=np.full(200, 0.5))
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
    options = BASE.replace(max_iterations=20_000, rounds=20, agreement=20)
    for shift in (10.0, 90.0):
        found = runner.run(HOMOGRAPHY, data, options, plausibility=Plausibility(near_shift, np.array([shift])))
        assert found.model[2] / found.model[8] == pytest.approx(shift, abs=1e-3)
