"""Hypotheses: what a restart starts from, when the restarts end, and which model they return."""

import numpy as np
import pytest
from numba import config

from bansac import estimate_fundamental
from bansac.engine import runner
from bansac.engine.hypotheses import Hypotheses, Hypothesis, challenge_length, iterations_to_confirm
from bansac.engine.loop import run_iterations
from bansac.engine.state import SavedState, pack_run
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.synthetic import epipolar_matches, homography_matches
from tests.engine.builder import BASE, build_run


def matches(scene):
    return np.ascontiguousarray(np.vstack([scene.x1.T, scene.x2.T]))


def candidate(value, inliers, n=100, plausibility=1.0, threshold=1.0, is_trusted=True):
    is_inlier = np.zeros(n, np.bool_)
    is_inlier[inliers] = True
    number = int(is_inlier.sum())
    weighted = value * plausibility
    return Hypothesis(
        np.array([value]), threshold, value, weighted, plausibility, is_inlier, number, is_trusted=is_trusted
    )


def end_restart(hypotheses, new=None, iterations=10):
    """Count a restart and add its hypothesis, which competes by its score, as the search does at one threshold."""
    hypotheses.count_restart({"iterations": iterations, "models_tested": iterations})
    if new is not None:
        best, old = hypotheses.best, hypotheses.competitor_of(new)
        confirms = old is not None and hypotheses.agree(old, new)
        rival = best if hypotheses.is_trusted else old
        leads = rival is None or new.weighted_score > rival.weighted_score
        hypotheses.add(new, old, leads=leads, confirms=confirms)


def test_rounds_end_when_enough_of_them_agree():
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=3))
    end_restart(restarts, candidate(5.0, slice(0, 40)))
    end_restart(restarts, candidate(4.0, slice(0, 39)))  # 39 of 40 are 97.5 %
    assert not restarts.is_confirmed()
    end_restart(restarts)
    end_restart(restarts, candidate(4.5, slice(0, 40)))
    assert restarts.is_confirmed()
    assert restarts.over()
    assert restarts.best.score == 5.0
    assert (restarts.count, restarts.iterations) == (4, 40)


def test_one_restart_agrees_with_an_initial_model():
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    first = candidate(5.0, slice(0, 40))
    restarts.begin_with(first)
    assert restarts.initial is first
    assert not restarts.over()
    end_restart(restarts)
    assert not restarts.is_confirmed()
    end_restart(restarts, candidate(4.0, slice(0, 39)))
    assert restarts.is_confirmed()
    assert restarts.initial is None
    assert restarts.best is first


def test_a_better_model_replaces_the_initial_one():
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    restarts.begin_with(candidate(5.0, slice(0, 40)))
    end_restart(restarts, candidate(6.0, slice(30, 80)))
    assert restarts.initial is None
    assert restarts.best.score == 6.0
    assert not restarts.is_confirmed()


def test_restart_confirms_an_initial_model_after_half_of_the_required_iterations():
    half = candidate(5.0, slice(0, 50))
    assert iterations_to_confirm(half, 300, 4, 0.999) == (54, 108)
    assert iterations_to_confirm(half, 300, 7, 0.999) == (150, 300)
    assert iterations_to_confirm(candidate(5.0, slice(0, 100)), 300, 4, 0.999) == (25, 50)


def test_a_better_model_that_differs_starts_the_count_anew():
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    end_restart(restarts, candidate(5.0, slice(0, 40)))
    end_restart(restarts, candidate(6.0, slice(30, 80)))
    assert not restarts.is_confirmed()
    assert restarts.best.score == 6.0
    end_restart(restarts, candidate(5.5, slice(0, 40)))  # agrees with the first one only
    assert not restarts.is_confirmed()


def test_a_model_of_most_data_needs_half_of_the_rounds():
    for count, agreement, needed in ((50, 5, 5), (51, 5, 2), (51, 2, 1), (51, 1, 1)):
        restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=agreement))
        for _ in range(needed - 1):
            end_restart(restarts, candidate(5.0, slice(0, count)))
            assert not restarts.is_confirmed()
        end_restart(restarts, candidate(5.0, slice(0, count)))
        assert restarts.is_confirmed()
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2), majority_agrees=False)
    for score in (5.0, 4.9, 5.1):  # other local optima
        end_restart(restarts, candidate(score, slice(0, 60)))
        assert not restarts.is_confirmed()
    end_restart(restarts, candidate(5.09, slice(0, 60)))
    assert restarts.is_confirmed()
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    for _ in range(5):
        end_restart(restarts, candidate(5.0, slice(0, 60), plausibility=0.8))
        assert not restarts.is_confirmed()


def test_of_an_implausible_model_three_times_as_many_rounds_have_to_agree():
    restarts = Hypotheses(BASE.replace(max_iterations=1000, restarts=9, agreement=2))
    for _ in range(5):
        end_restart(restarts, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert not restarts.is_confirmed()
    end_restart(restarts, candidate(6.0, slice(0, 40), plausibility=0.8))
    assert restarts.is_confirmed()
    end_restart(restarts, candidate(5.0, slice(30, 80)))  # better: it is plausible
    assert not restarts.is_confirmed()
    end_restart(restarts, candidate(5.0, slice(30, 80)))
    assert restarts.is_confirmed()
    assert restarts.best.score == 5.0


@pytest.mark.parametrize(
    ("most", "restarts", "settings", "lengths"),
    [
        (100, 9, {"restart_iterations": 40}, [40, 40, 20]),
        (3000, 4, {}, [500, 500, 1000, 1000]),
        (1001, 4, {}, [300, 300, 401]),
        (200, 4, {}, [200]),
        (3000, 4, {"restart_iterations": 100}, [100] * 4),
        (3000, 1, {}, [3000]),
        (4000, 16, {}, [300, 300, 600, 600, 1200, 1000]),
    ],
)
def test_restarts_grow_with_the_budget_and_share_it(most, restarts, settings, lengths):
    hypotheses, found = Hypotheses(BASE.replace(max_iterations=most, restarts=restarts, **settings)), []
    while not hypotheses.over():
        found.append(hypotheses.next_length())
        end_restart(hypotheses, None, found[-1])
    assert found == lengths


def test_restarts_confirm_a_significant_model_only():
    hypotheses = Hypotheses(BASE.replace(max_iterations=1000, restarts=9))
    for _ in range(3):
        end_restart(hypotheses, candidate(6.0, slice(0, 80), is_trusted=False))
    assert not hypotheses.is_confirmed()
    end_restart(hypotheses, candidate(7.0, slice(0, 80)))
    assert hypotheses.is_confirmed()
    assert len(hypotheses.ranked) == 1


def test_restarts_end_if_all_lead_to_models_that_chance_explains():
    restarts = Hypotheses(BASE.replace(max_iterations=10_000, restarts=20, agreement=2))
    weak = {
        threshold: candidate(threshold, slice(0, 12), threshold=threshold, is_trusted=False) for threshold in (1, 4)
    }
    for _ in range(4):
        end_restart(restarts, weak[1])
    assert restarts.is_hopeless()
    end_restart(restarts, weak[4])
    assert not restarts.over()  # one restart only at the wide threshold
    for _ in range(3):
        end_restart(restarts, weak[4])
    assert restarts.over()
    assert not restarts.is_confirmed()


def test_models_of_two_thresholds_are_kept_apart_until_one_is_significant():
    hypotheses = Hypotheses(BASE.replace(max_iterations=1000, restarts=9))
    first = candidate(6.0, slice(0, 40), is_trusted=False)
    wide = candidate(9.0, slice(0, 40), threshold=4.0, is_trusted=False)
    for new in (first, wide):
        end_restart(hypotheses, new)
    end_restart(hypotheses, candidate(5.0, slice(0, 40), is_trusted=False))
    assert hypotheses.ranked == [wide, first]
    end_restart(hypotheses, new := candidate(10.0, slice(0, 40), threshold=4.0))
    assert hypotheses.ranked == [new]


def test_the_hypothesis_that_loses_is_kept():
    hypotheses = Hypotheses(BASE.replace(max_iterations=1000, restarts=9))
    small, large = candidate(5.0, slice(0, 30)), candidate(9.0, slice(40, 90))
    for new in (small, large):
        end_restart(hypotheses, new)
    assert hypotheses.ranked == [large, small]
    end_restart(hypotheses, candidate(4.5, slice(0, 30)))
    assert (small.restarts, large.restarts) == (2, 1)
    end_restart(hypotheses, candidate(9.0, slice(40, 90)))
    assert hypotheses.is_confirmed()


def test_a_challenge_is_as_long_as_a_rival_is_rare():
    best = candidate(5.0, slice(0, 80))
    assert challenge_length(best, 20, 4, 600, 1.0) == 1  # all others are its inliers
    assert challenge_length(best, 19, 4, 600, 1.0) == 0
    assert challenge_length(best, 40, 4, 600, 1.0) == 47  # half of them: log .05 / log(1 - .5^4)
    assert challenge_length(best, 40, 7, 300, 1.0) == 300
    assert challenge_length(best, 80, 4, 600, 0.5) == 47


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


def test_a_threshold_that_falls_keeps_the_model_significant():
    """Of 30 matches, a threshold of a tenth keeps 10 exact ones, which prove nothing; 15 within the first one do."""
    scene = epipolar_matches(30, 0.6, 0.5, 0)
    result = estimate_fundamental(scene.x1, scene.x2, seed=0)
    assert result.success
    assert result.num_inliers >= 15


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its ten runs of twenty restarts take minutes")
def test_later_rounds_find_what_a_first_short_one_misses():
    missed, found = 0, 0
    for seed in range(10):
        scene = epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=seed)
        short = BASE.replace(max_iterations=2000, restart_iterations=60, seed=seed, scoring="msac", stopping="ransac")
        one, many = (  # without significance no model is challenged before its restarts are over
            runner.run(runner.Run(FUNDAMENTAL, matches(scene), options, 1.0, significance=lambda *_: 0.0))
            for options in (short.replace(restarts=1), short.replace(restarts=20, agreement=3))
        )
        assert many.iterations <= 2000
        missed += one.score < 40
        found += many.score >= 40
    assert missed >= 3
    assert found >= 9


@pytest.mark.parametrize("sampler", ["bansac", "baysac", "ar"])
def test_beliefs_are_those_of_the_round_of_the_model(sampler, monkeypatch):
    learnt = []

    def add(hypotheses, new, *arguments, **settings):
        original(hypotheses, new, *arguments, **settings)
        learnt.append((hypotheses.best is new, new.learnt))

    original = Hypotheses.add
    monkeypatch.setattr(Hypotheses, "add", add)
    data = matches(epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=2))
    earlier = 0
    for seed in range(5):
        learnt.clear()
        options = BASE.replace(
            sampler=sampler, restarts=6, restart_iterations=60, agreement=6, stopping=None, seed=seed
        )
        found = runner.run(runner.Run(FUNDAMENTAL, data, options, options.threshold, prior=np.full(200, 0.5)))
        of_model = [arrays for is_best, arrays in learnt if is_best][-1]
        assert all(np.array_equal(array, copy) for array, copy in of_model)
        earlier += learnt[-1][1] is not of_model
        assert found.beliefs.shape == (200,)
    assert earlier >= 2
