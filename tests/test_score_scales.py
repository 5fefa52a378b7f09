"""The scale of scores: P-BANSAC finds the same whatever it is, as no run ends before the network has learnt."""

import numpy as np
import pytest

import bansac
from bansac import Network
from bansac.matches import load_demo
from bansac.synthetic import epipolar_matches, homography_matches
from bansac_lab.known_scenes import FUNCTIONS

MIN_UPDATES = 20

KINDS = ("homography", "fundamental", "essential")


def ranks(scores):
    return (np.argsort(np.argsort(scores)) + 1) / len(scores)


TRANSFORMS = {"0.1": lambda s: 0.1 * s, "0.01": lambda s: 0.01 * s, "0.001": lambda s: 0.001 * s, "ranks": ranks}


def make(kind):
    """Return points and scores that say a little about which of them are inliers."""
    if kind == "demo":
        demo = load_demo()
        return bansac.estimate_homography, (demo.x1, demo.x2), demo.scores
    maker = homography_matches if kind == "homography" else epipolar_matches
    made = maker(500, inlier_ratio=0.5, noise=0.1, seed=3)
    scores = np.random.default_rng(3).beta(2, 4, 500) + 0.2 * made.inliers
    points = (made.x1, made.x2, made.K) if kind == "essential" else (made.x1, made.x2)
    return FUNCTIONS[kind], points, np.clip(scores, 0.01, 0.99)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("preset", [None, "paper"])
@pytest.mark.parametrize("kind", ["demo", *KINDS])
def test_the_scale_of_scores_does_not_decide_what_is_found(kind, preset, transform):
    estimate, points, scores = make(kind)
    for seed in range(3):
        settings = {"preset": preset, "network": Network(min_updates=MIN_UPDATES), "seed": seed}
        plain = estimate(*points, scores=scores, **settings)
        scaled = estimate(*points, scores=TRANSFORMS[transform](scores), **settings)
        assert plain.success
        assert scaled.success
        assert scaled.num_inliers == pytest.approx(plain.num_inliers, rel=0.06)


@pytest.mark.parametrize("value", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["demo", *KINDS])
def test_scores_that_are_all_equal_are_no_scores(kind, value):
    estimate, points, scores = make(kind)
    without = estimate(*points, preset="paper")
    equal = estimate(*points, preset="paper", scores=np.full(len(scores), value))
    assert np.array_equal(equal.model, without.model)
    assert np.array_equal(equal.beliefs, without.beliefs)
    assert (equal.iterations, equal.stop_reason) == (without.iterations, without.stop_reason)


@pytest.mark.parametrize("kind", KINDS)
def test_low_scores_end_no_run_before_the_network_has_learnt(kind):
    # All data start below tau: by the letter of the criterion the first model ends the run.
    estimate, points, scores = make(kind)
    settings = {"preset": "paper", "scores": 0.01 * scores, "stopping": "bansac", "trace": True}
    assert np.count_nonzero(~np.isnan(estimate(*points, **settings).trace.gamma)) < MIN_UPDATES
    result = estimate(*points, **settings, network=Network(min_updates=MIN_UPDATES))
    updates = np.cumsum(~np.isnan(result.trace.gamma))
    assert updates[-1] >= MIN_UPDATES
    first = np.flatnonzero(result.trace.low_probability >= result.trace.outliers)[0]
    assert updates[first] < MIN_UPDATES


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_data_without_a_model_do_not_end_a_run_by_bansacs_criterion(scale):
    rng = np.random.default_rng(5)
    x1, x2 = rng.uniform(0, 1000, (2, 400, 2))
    scores = scale * rng.uniform(0.1, 0.6, 400)
    result = bansac.estimate_homography(x1, x2, preset="paper", network=Network(min_updates=MIN_UPDATES), scores=scores)
    assert (result.success, result.stop_reason) == (False, "max_iterations")
