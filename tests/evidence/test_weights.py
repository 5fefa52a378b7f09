"""Weights of the data in the score."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bansac
from bansac.engine.scoring import SCORES
from bansac.engine.state import BLOCK, pack_run
from bansac.engine.verification import Unscored, evaluate
from bansac.evidence import weights as module
from bansac.evidence.weights import density_weights, reliability_weights, scale_weights
from bansac.maths.extent import GRID
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches
from tests.engine.builder import build_run
from tests.engine.scoring.test_scores import REFERENCES
from tests.problems.number import CONSTANT
from tests.reference import loop_parts as reference


def scaled(weights):
    found = np.array(weights, np.float64)
    scale_weights(found)
    return found


@given(st.integers(1, 60), st.integers(0, 2**31), st.booleans())
def test_density_is_the_number_of_points_in_the_cells_around(n, seed, clustered):
    rng = np.random.default_rng(seed)
    data = rng.normal(0, 1, (4, n)) ** (3 if clustered else 1) * [[1000], [300], [1], [20]]
    radius = 3 / math.sqrt(math.pi) / module._CELLS
    counts = [reference.box_density(x, y, radius, GRID) for x, y in (data[:2], data[2:])]
    assert density_weights(data) == pytest.approx(1 / np.sqrt(counts[0] * counts[1]), rel=1e-12)
    assert density_weights(data[:2]) == pytest.approx(1 / counts[0], rel=1e-12)


def test_far_points_do_not_change_the_density_of_others():
    data = np.random.default_rng(0).uniform(0, 500, (4, 400))
    far = data.copy()
    far[:, ::40] = [[1e5], [-1e6], [3e4], [1e4]]
    near = np.arange(400) % 40 > 0
    change = density_weights(far)[near] / density_weights(data[:, near])
    assert np.mean(change == 1) > 0.95  # others are near the corner that far points are moved to


@pytest.mark.parametrize("data", [np.zeros((4, 3)), np.full((4, 3), 1e100), np.full((2, 3), -5.0)])
def test_points_that_coincide_have_the_same_weight(data):
    assert density_weights(data) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize(("width", "height"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (3.0, 1.0), (1e-3, 1e100)])
def test_points_at_the_ends_of_the_box_have_cells(width, height):
    corners = np.array([[0.0, width, 0.0, width], [0.0, 0.0, height, height]])
    weights = density_weights(corners)
    assert np.isfinite(weights).all()
    assert ((weights == 1) | (weights == 0.5)).all()


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=30))
def test_scaled_weights_have_a_maximum_of_1_and_exact_sums(weights):
    found = scaled(weights)
    assert found.max() == 1
    assert found.min() > 0
    assert found == pytest.approx(np.array(weights) / max(weights), abs=2.0**-24)
    assert np.array_equal(found, found.astype(np.float32))
    assert found.sum() == math.fsum(found)


def test_reliability_is_for_probabilities():
    assert reliability_weights(np.array([0.1, 0.5, 1.0])) == pytest.approx([0.01, 0.25, 1.0])
    assert scaled(reliability_weights(np.array([0.0, 0.5])))[0] > 0
    for scores in ([], [0.5, 1.1], [-0.1, 0.5], [0.0, 0.0]):
        assert reliability_weights(np.array(scores)) is None


@pytest.mark.parametrize("name", SCORES)
@settings(max_examples=30)
@given(st.integers(2, 3 * BLOCK + 7), st.integers(0, 2**31), st.floats(0, 1.2), st.integers(0, 10))
def test_a_weighted_model_is_abandoned_as_soon_as_it_cannot_win(name, n, seed, share, block):
    rng = np.random.default_rng(seed)
    points = np.array([np.linspace(-1, 1, n), rng.uniform(0, 0.02, n)], np.float32)  # threshold 0.01
    weights = scaled(rng.uniform(0.01, 1, n) ** 3)
    run = build_run(LINE, points, scoring=name, weights=weights, threshold=0.01)
    blocks = (n + BLOCK - 1) // BLOCK
    first = block % blocks
    order = [slice(b * BLOCK, min((b + 1) * BLOCK, n)) for b in np.roll(range(blocks), -first)]
    squared = points[1].astype(np.float64) ** 2
    full = REFERENCES[name](squared, weights, 1e-4)
    mask = np.zeros(n, np.bool_)
    to_beat = share * full
    expected = reference.evaluate(REFERENCES[name], squared, weights, 1e-4, to_beat, order)
    axis = np.array([0.0, 1.0, 0.0])
    score, inliers = evaluate(pack_run(run), axis, mask, to_beat, math.inf, np.int64(first))
    if abs(full - to_beat) < 1e-4 * n:
        return
    if full <= to_beat:
        assert inliers == Unscored.ABANDONED
        assert expected is None
    else:
        assert inliers == np.count_nonzero(squared <= 1e-4)
        assert score == pytest.approx(full, abs=1e-5 * (1 + n))


SCENE = epipolar_matches(300, inlier_ratio=0.6, noise=0.2, seed=5)


def fundamental(**settings):
    return bansac.estimate_fundamental(SCENE.x1, SCENE.x2, **settings)


@pytest.mark.parametrize("scoring", SCORES)
@pytest.mark.parametrize("value", [1.0, 1e-3, 7.0])
def test_equal_weights_change_nothing(scoring, value):
    plain = fundamental(scoring=scoring, weighting=None)
    equal = fundamental(scoring=scoring, weights=np.full(300, value), weighting="density")
    assert np.array_equal(plain.model, equal.model)
    assert (plain.score, plain.iterations) == (equal.score, equal.iterations)


@pytest.mark.parametrize("scoring", SCORES)
def test_the_score_is_the_weighted_sum_over_the_data(scoring):
    weights = np.random.default_rng(0).uniform(0.1, 1, 300)
    result = fundamental(scoring=scoring, weights=5 * weights)
    squared = (result.residuals / result.threshold) ** 2
    assert result.success
    assert result.score == pytest.approx(REFERENCES[scoring](squared, weights / weights.max(), 1.0), rel=1e-2)


def num_inliers(points, **settings):
    """Support of the best line of many samples, drawn without regard to earlier ones."""
    return bansac.fit_line(points, threshold=1e-6, sampler="uniform", stopping=None, **settings).num_inliers


def test_weights_choose_among_two_lines():
    x = np.linspace(0, 1, 100)
    points = np.column_stack([x, np.where(np.arange(100) < 60, 0.0, 1.0)])
    weights = np.where(np.arange(100) < 60, 1.0, 2.0)
    assert num_inliers(points) == 60
    for scoring in SCORES:
        assert num_inliers(points, scoring=scoring, weights=weights) == 40


def test_density_prefers_extent_to_mass():
    rng = np.random.default_rng(0)
    dense = np.column_stack([rng.uniform(0, 0.01, 60), np.zeros(60)])
    wide = np.column_stack([np.linspace(0, 1, 40), np.ones(40)])
    points = np.concatenate([dense, wide])
    assert num_inliers(points) == 60
    assert num_inliers(points, weighting="density") == 40


def test_scores_are_weights_if_they_are_probabilities():
    scores = np.where(SCENE.inliers, 0.9, 0.3)
    by_name = fundamental(scoring="msac", scores=scores, weighting="scores")
    by_hand = fundamental(scoring="msac", scores=scores, weights=scores**2)
    assert by_name.score == pytest.approx(by_hand.score, rel=1e-6)
    plain = fundamental(scoring="msac", sampler="prosac", scores=100 * scores, weighting=None)
    weighted = fundamental(scoring="msac", sampler="prosac", scores=100 * scores, weighting="scores")
    assert plain.score == weighted.score


def test_density_is_for_points_of_the_plane():
    with pytest.raises(ValueError, match="weighting='density' is for points and matches, not for 1 channels"):
        bansac.ransac(CONSTANT, np.ones((9, 1)), threshold=1.0, weighting="density")
