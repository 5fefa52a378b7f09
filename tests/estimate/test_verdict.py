"""Verdicts in words: what does not determine a model, what does not verify it, and thresholds that are too large."""

import numpy as np
import pytest

import bansac
from bansac.estimate.verdict import explain
from bansac.evidence.significance import Judgement, MeasuredModel, Reason
from bansac.geometry import apply_transform
from bansac.problems.line import LINE

SQUARE = [[50.0, 50], [450, 50], [450, 450], [50, 450]]
ROW = [[50.0 + 40 * k, 80] for k in range(10)]
OFF_ROW = [[100.0, 400], [300, 450], [410, 250]]
MAP = np.array([[1.1, 0.1, 30], [-0.05, 0.95, 20], [1e-4, -5e-5, 1]])


@pytest.mark.parametrize("threshold", [None, 1.0, 2.0])
@pytest.mark.parametrize(
    "points",
    [[*SQUARE, [250, 250]], [*SQUARE, [250, 50]], [*ROW[:4], *OFF_ROW[:2]], [*ROW, *OFF_ROW[:2]], [*ROW, *OFF_ROW]],
    ids=["square and centre", "square and middle of a side", "four and two", "ten and two", "ten and three"],
)
def test_points_that_determine_a_homography_are_not_said_to_lie_on_a_line(points, threshold):
    result = bansac.estimate_homography(points, apply_transform(MAP, np.array(points)), threshold=threshold, seed=0)
    np.testing.assert_allclose(result.model / result.model[2, 2], MAP, atol=1e-9)
    assert result.inliers.all()
    assert result.configuration != "collinear"
    assert "lie on a line" not in result.message
    assert result.success or "no more than chance" in result.message or "to verify the homography" in result.message


def test_a_row_and_two_more_matches_do_not_verify_a_homography():
    points = np.array([*ROW, *OFF_ROW[:2]])
    result = bansac.estimate_homography(points, apply_transform(MAP, points), threshold=1.0, seed=0)
    assert not result.success
    assert result.configuration is None
    assert result.message.endswith("; too few inliers lie off a line to verify the homography")


@pytest.mark.parametrize("off", [1, 2])
def test_one_match_off_a_row_determines_an_affine_map_and_two_verify_it(off):
    points = np.array([*ROW, *ROW, *OFF_ROW[:off]]) + np.arange(20 + off)[:, None] * [1.0, 0.0]
    result = bansac.estimate_affine(points, 2 * points + 7, threshold=0.5, seed=0)
    np.testing.assert_allclose(result.model, [[2, 0, 7], [0, 2, 7]], atol=1e-9)
    assert result.success == (off == 2)
    assert ("; too few inliers lie off a line to verify the affine map" in result.message) == (off == 1)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5])
def test_points_of_a_volume_are_not_said_to_be_flat(threshold):
    x = np.random.default_rng(0).uniform(0, 1, (60, 3))
    for function in (bansac.estimate_affine_3d, bansac.estimate_rigid_3d, bansac.estimate_similarity_3d):
        result = function(x, x + 1, threshold=threshold, seed=0)
        assert "on a line" not in result.message
        assert "on a plane" not in result.message
    assert "on a line" not in bansac.fit_plane(x, threshold=threshold, seed=0).message


def test_nothing_is_said_of_a_line_if_the_threshold_is_too_large():
    angles = np.linspace(0, 6, 60)
    x = np.column_stack([5 * np.cos(angles), 3 * np.sin(angles)])
    for result in (
        bansac.fit_circle(x, threshold=10.0),
        bansac.fit_ellipse(x, threshold=10.0),
        bansac.estimate_affine(x, x + 3, threshold=10.0),
        bansac.estimate_homography(x, x + 3, threshold=10.0),
    ):
        assert "the threshold of 10 is too large" in result.message
        assert "lie on" not in result.message


def test_a_search_window_is_named():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 500, (200, 2))
    result = bansac.estimate_homography(x, x + rng.uniform(-5, 5, x.shape))
    assert not result.success
    assert "uniform, as those of wrong matches in a search window" in result.message


def test_an_estimated_threshold_is_not_said_to_be_too_large():
    judgement = Judgement(Reason.LARGE_THRESHOLD, extent=5.0, chance=0.75)
    given = MeasuredModel(np.zeros(2), 1.0, np.zeros(20), np.ones(20, bool), 20)
    texts = [explain(judgement, LINE, measured, 1.0) for measured in (given, given._replace(noise=2.0))]
    assert "the threshold of 1 is too large for data with an extent of 5" in texts[0]
    assert "too large" not in texts[1]
    assert all("a random data point is an inlier with probability 0.75" in text for text in texts)
    few = [explain(Judgement(Reason.CHANCE, 3), LINE, m, 1.0) for m in (given, given._replace(noise=2.0))]
    assert "the threshold is large" in few[0]
    assert "threshold" not in few[1]
