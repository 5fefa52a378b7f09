"""The search on small scenes: thresholds, restarts that agree, alternatives, initial models, and reasons to stop."""

import itertools

import numpy as np
import pytest
from numba import config

import bansac
from bansac import Network, Restarts
from bansac.engine.frame import Frame
from bansac.engine.interruptible import InterruptibleLoop
from bansac.engine.options import Options
from bansac.engine.search import Search
from bansac.estimate.presets import resolve_options
from bansac.evidence.noise_scale import LARGEST_IN_PLANE, SMALLEST, first_threshold
from bansac.evidence.random_models import NEAR
from bansac.problems.circle import CIRCLE
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from tests.engine.builder import BASE, run_search
from tests.results import assert_same_bits

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="whole searches take minutes as plain Python")

SIZE = 640.0, 480.0
IDENTITY = np.eye(3).ravel()
VIEWS = {problem.name: make for problem, make in ((HOMOGRAPHY, homography_matches), (FUNDAMENTAL, epipolar_matches))}


def stack(scene):
    return np.ascontiguousarray(np.vstack([scene.x1.T, scene.x2.T]))


def make_frame(problem, data, *, threshold=None, **settings):
    """Return a frame as the estimators make it, but without neighbours and weights."""
    options = resolve_options(problem, threshold, settings)[0]
    data = np.ascontiguousarray(data)
    first = options.threshold or first_threshold(problem, data)
    is_estimated, noise = threshold is None, np.inf if threshold is not None else 2.0 * first
    return Frame(problem, data, options, first, is_estimated=is_estimated, noise=noise)


def plane(noise=0.5, seed=0, n=300, share=0.5):
    return homography_matches(n, inlier_ratio=share, noise=noise, seed=seed)


def with_overlay(seed):
    """Return matches of a plane, and 95 of an overlay that does not move, in a corner and with less noise."""
    scene, rng = plane(1.0, seed, share=0.6), np.random.default_rng(seed)
    static = rng.uniform([480.0, 360.0], SIZE, (95, 2)).T
    return np.hstack([stack(scene), np.vstack([static, static + rng.normal(0, 0.1, static.shape)])])


def random_matches(n=200, seed=0):
    return np.random.default_rng(seed).uniform(0, 500, (4, n))


# Thresholds.


@pytest.mark.parametrize("problem", [HOMOGRAPHY, FUNDAMENTAL])
@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_the_threshold_follows_the_noise(problem, noise):
    """It is 2.6 standard deviations of one component of the error, and 3.0 of two; of few matches somewhat more."""
    expected = 3.0 if problem is HOMOGRAPHY else 2.6
    scenes = [VIEWS[problem.name](300, 0.5, noise, seed) for seed in range(4)]
    found = [run_search(make_frame(problem, stack(scene))).threshold for scene in scenes]
    assert np.median(found) == pytest.approx(expected * noise, rel=0.2)


@pytest.mark.parametrize("width", [0.08, 0.1])
def test_a_band_of_many_first_thresholds_is_one_circle(width):
    """One restart at a narrow threshold is enough to confirm a part of the band, if the threshold stays there."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        angles, radii = rng.uniform(0, 2 * np.pi, 150), 1 + rng.uniform(-width, width, 150)
        found = run_search(make_frame(CIRCLE, radii * np.vstack([np.cos(angles), np.sin(angles)])))
        assert found.search.history.best.inliers > 140


def test_the_threshold_keeps_to_its_bounds():
    exact = run_search(make_frame(HOMOGRAPHY, stack(plane(1e-6))))
    assert exact.threshold == SMALLEST * exact.search.frame.threshold
    noise = run_search(make_frame(HOMOGRAPHY, stack(plane(60.0))))
    assert noise.threshold <= LARGEST_IN_PLANE * noise.search.frame.threshold


def test_a_given_threshold_stays():
    found = run_search(make_frame(HOMOGRAPHY, with_overlay(0), threshold=2.0))
    assert {hypothesis.threshold for hypothesis in found.search.history.ranked} == {2.0}


def test_a_threshold_that_falls_keeps_the_model_significant():
    """Of 30 matches, a threshold of a tenth keeps 10 exact ones, which prove nothing; 15 within the first one do."""
    found = run_search(make_frame(FUNDAMENTAL, stack(epipolar_matches(30, 0.6, 0.5, 0))))
    assert found.search.history.is_significant
    assert found.search.history.best.inliers >= 15


# The best hypothesis.


@pytest.mark.parametrize("threshold", [None, 1.5])
def test_the_best_hypothesis_has_the_score_and_the_inliers_of_its_model(threshold):
    frame = make_frame(HOMOGRAPHY, stack(plane()), threshold=threshold)
    found = run_search(frame)
    best, distances = found.search.history.best, frame.distances(found.search.history.best.model)
    np.testing.assert_array_equal(best.is_inlier, distances <= best.threshold)
    np.testing.assert_array_equal(best.distances, distances)
    np.testing.assert_array_equal(best.is_near, distances <= NEAR * best.threshold)
    assert best.inliers == best.is_inlier.sum() > 130
    assert best.score == pytest.approx(np.sum(1 - (distances[best.is_inlier] / best.threshold) ** 2), rel=1e-4)
    assert best.weighted_score == pytest.approx(best.score, rel=1e-6)


@pytest.mark.parametrize("sampler", ["bansac", "baysac", "ar"])
def test_beliefs_are_those_of_the_restart_of_the_best_model(sampler, monkeypatch):
    last = []

    def adopt(search, loop, plan, stop):
        beliefs = search.frame.prior_beliefs()
        beliefs[slice(None) if plan.members is None else plan.members] = loop.beliefs()
        last.append(beliefs)
        return original(search, loop, plan, stop)

    original = Search._move_to_all_data
    monkeypatch.setattr(Search, "_move_to_all_data", adopt)
    data, earlier = stack(epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=2)), 0
    for seed in range(5):
        last.clear()
        options = BASE.replace(
            sampler=sampler, restarts=Restarts(limit=6, iterations=60, agreement=6), stopping=None, seed=seed
        )
        found = run_search(Frame(FUNDAMENTAL, data, options, 1.0, prior=np.full(200, 0.5)))
        beliefs = found.beliefs[found.search.frame.order]
        assert any(np.array_equal(beliefs, others) for others in last)
        earlier += not np.array_equal(beliefs, last[-1])
    assert earlier >= 2


def test_models_that_chance_explains_are_kept_by_threshold_the_least_explained_first():
    search = run_search(make_frame(HOMOGRAPHY, random_matches(), max_iterations=3000)).search
    history = search.history
    assert not history.is_significant
    assert len({hypothesis.threshold for hypothesis in history.ranked}) == len(history.ranked) == 2
    assert search._significance(history.ranked[0]) >= search._significance(history.ranked[1])


# Restarts.


def test_a_duplicate_ends_a_restart(monkeypatch):
    scenes = [stack(plane(seed=seed, share=0.2)) for seed in range(8)]
    found = [run_search(make_frame(HOMOGRAPHY, scene, trace=True)) for scene in scenes]
    ended = ["duplicate" in outcome.trace.ends for outcome in found]
    assert sum(ended) >= 4
    monkeypatch.setattr(InterruptibleLoop, "aim_at", lambda *_: None)
    longer = [run_search(make_frame(HOMOGRAPHY, scene, trace=True)) for scene in scenes]
    assert not any("duplicate" in outcome.trace.ends for outcome in longer)
    both = zip(found, longer, strict=True)
    assert all(one.iterations < other.iterations for one, other in itertools.compress(both, ended))


def test_later_restarts_find_what_a_first_short_one_misses():
    missed, found = 0, 0
    for seed in range(10):
        data = stack(epipolar_matches(200, inlier_ratio=0.4, noise=0.3, seed=seed))
        short = BASE.replace(
            max_iterations=2000, restarts=Restarts(iterations=60), seed=seed, scoring="msac", stopping="ransac"
        )
        one, many = (
            run_search(Frame(FUNDAMENTAL, data, options, 1.0))
            for options in (short.replace(restarts=1), short.replace(restarts=Restarts(limit=20, agreement=3)))
        )
        assert many.iterations <= 2000
        missed += one.score < 40
        found += many.score >= 40
    assert missed >= 3
    assert found >= 9


def test_the_trace_has_the_end_of_each_restart_and_of_each_search_for_an_alternative():
    reasons = set()
    for seed in range(4):
        found = run_search(make_frame(HOMOGRAPHY, with_overlay(seed), trace=True))
        ends = found.trace.ends.tolist()
        assert len(ends) - ends.count("challenge") == found.restarts
        assert len(found.trace) == found.iterations
        assert found.trace.restart[-1] == len(ends)
        reasons |= set(ends)
    assert reasons >= {"ransac", "duplicate", "challenge"}


@pytest.mark.parametrize("settings", [{}, {"max_iterations": 200}, {"network": Network(order=2)}])
def test_results_do_not_depend_on_slices(settings, monkeypatch):
    data = with_overlay(1)
    whole = run_search(make_frame(HOMOGRAPHY, data, trace=True, **settings))
    monkeypatch.setattr("bansac.engine.interruptible._FIRST_SLICE", 1)
    monkeypatch.setattr("bansac.engine.interruptible._SLICE_SECONDS", 0.0)
    assert_same_bits(whole[1:], run_search(make_frame(HOMOGRAPHY, data, trace=True, **settings))[1:])


# Alternatives.


@pytest.mark.parametrize("threshold", [None, 3.0])
def test_the_larger_of_two_structures_wins_and_the_other_one_is_kept(threshold):
    kept = 0
    for seed in range(4):
        frame = make_frame(HOMOGRAPHY, with_overlay(seed), threshold=threshold)
        history = run_search(frame).search.history
        in_plane = frame.order < 300
        assert np.mean(in_plane[history.best.is_inlier]) > 0.9
        assert history.best.inliers > 150
        others = [h for h in history.ranked[1:] if np.mean(in_plane[h.is_inlier]) < 0.1]
        kept += len(others) == 1 and others[0].is_significant and others[0].inliers > 80
    assert kept >= 3  # the search for an alternative is for half of the other data


def test_a_structure_of_less_noise_wins_against_a_compromise():
    """Half of the matches hardly move: at a large threshold, a wrong model has them and the others as inliers."""
    found = 0
    for seed in range(6):
        scene = epipolar_matches(400, 0.45, 0.5, seed)
        others = ~scene.inliers
        scene.x2[others] = scene.x1[others] + np.random.default_rng(seed).uniform(-10, 10, (others.sum(), 2))
        compromise = run_search(make_frame(FUNDAMENTAL, stack(scene), threshold=10.0)).search.history.best
        assert compromise.inliers > 1.3 * scene.inliers.sum()
        compromise.restarts, compromise.searched = 2, 1
        search = Search(make_frame(FUNDAMENTAL, stack(scene)), lambda: False)
        search.history.ranked, search.history.count = [compromise], 2
        search.run()
        best = search.history.best
        found += best is not compromise and np.mean(best.is_inlier[scene.inliers[search.frame.order]]) > 0.8
    assert found >= 5


# Initial models.


def test_a_right_initial_model_ends_the_search_early():
    for seed in range(3):
        data = stack(epipolar_matches(300, 0.45, 0.5, seed))
        cold = run_search(make_frame(FUNDAMENTAL, data))
        warm = run_search(make_frame(FUNDAMENTAL, data), initial=cold.model)
        assert (warm.stop_reason, warm.restarts) == ("agreement", 1)
        assert warm.iterations < cold.iterations
        assert warm.search.history.best.is_initial
        np.testing.assert_allclose(warm.model, cold.model, atol=0.02 * np.abs(cold.model).max())


@pytest.mark.parametrize("initial", [np.zeros(9), np.full(9, np.nan), np.full(9, 1e300), np.r_[1.0, np.zeros(8)]])
def test_a_degenerate_initial_model_is_ignored(initial):
    data = stack(epipolar_matches(100, 0.6, 0.5, 0))
    with np.errstate(all="ignore"):
        found = run_search(make_frame(FUNDAMENTAL, data), initial=initial)
    assert not any(hypothesis.is_initial for hypothesis in found.search.history.ranked)
    assert found.search.history.is_significant


@pytest.mark.parametrize("restarts", [1, 16])
def test_a_wrong_initial_model_has_no_effect(restarts):
    scene = plane()
    cold = run_search(make_frame(HOMOGRAPHY, stack(scene), restarts=restarts))
    wrong = np.array([1.0, 0.2, 90.0, -0.3, 1.0, -60.0, 0.0, 0.0, 1.0])
    warm = run_search(make_frame(HOMOGRAPHY, stack(scene), restarts=restarts), initial=wrong)
    np.testing.assert_allclose(warm.model, cold.model, rtol=1e-3, atol=1e-3)
    assert (warm.stop_reason, warm.restarts) == (cold.stop_reason, cold.restarts)


# The end.


@pytest.mark.parametrize(
    ("settings", "reason", "restarts", "iterations"),
    [
        ({"max_iterations": 100}, "max_iterations", 1, 100),
        ({"max_iterations": 100, "restarts": Restarts(iterations=30)}, "max_iterations", 4, 100),
        ({"max_iterations": 100, "restarts": 1}, "max_iterations", 1, 100),
        ({"restarts": Restarts(limit=3, iterations=30, agreement=50)}, "restarts", 3, 90),
        ({"restarts": Restarts(limit=1, iterations=30)}, "restarts", 1, 30),
        ({"min_iterations": 500, "restarts": Restarts(iterations=100, limit=2, agreement=50)}, "restarts", 5, 500),
    ],
)
def test_limits_end_a_search_of_data_without_a_model(settings, reason, restarts, iterations):
    found = run_search(make_frame(FUNDAMENTAL, random_matches(), stopping=None, **settings))
    assert (found.stop_reason, found.restarts, found.iterations) == (reason, restarts, iterations)


def test_a_search_ends_by_agreement_and_one_restart_by_its_criterion():
    data = stack(plane())
    assert run_search(make_frame(HOMOGRAPHY, data)).stop_reason == "agreement"
    alone = run_search(make_frame(HOMOGRAPHY, data, restarts=1))
    assert (alone.stop_reason, alone.restarts) == ("ransac", 1)
    points = line_points(200, inlier_ratio=0.4, noise=0.005, seed=1).points.T
    many = run_search(make_frame(LINE, points, threshold=0.02, restarts=Restarts(limit=3, agreement=8)))
    assert (many.stop_reason, many.restarts) == ("restarts", 3)


def test_restarts_go_on_until_the_smallest_number_of_iterations():
    data = stack(plane())
    assert run_search(make_frame(HOMOGRAPHY, data)).iterations < 1000
    longer = run_search(make_frame(HOMOGRAPHY, data, min_iterations=1000))
    assert longer.stop_reason == "agreement"
    assert 1000 <= longer.iterations < 2000


@pytest.mark.parametrize("restarts", [1, 2])
def test_a_time_limit_ends_a_search_after_a_restart(restarts):
    data = stack(epipolar_matches(200, 0.5, 0.5, 0))
    options = Options(restarts=Restarts(agreement=50, iterations=30), max_iterations=10_000)
    search = Search(Frame(FUNDAMENTAL, data, options, 0.5, is_estimated=True), lambda: search.history.count >= restarts)
    assert search.run() == "max_seconds"
    assert (search.history.count, search.history.iterations) == (restarts, 30 * restarts)
    assert search.history.best is not None


def test_a_given_threshold_holds_for_an_initial_model_too():
    """The initial model has too few inliers at the threshold, but many at the width of its residuals."""
    for seed in range(4):
        scene = epipolar_matches(40, 0.7, 5.0, seed)
        warm = bansac.estimate_fundamental(scene.x1, scene.x2, threshold=0.5, initial_model=scene.F, seed=seed)
        assert warm.threshold == 0.5


def test_one_agreeing_restart_is_not_enough_to_give_up_at_the_first_threshold():
    found = 0
    for seed in range(4):
        scene = homography_matches(120, 1 / 3, 6.0, seed)
        found += bansac.estimate_homography(scene.x1, scene.x2, restarts=Restarts(agreement=1), seed=seed).success
    assert found >= 3
