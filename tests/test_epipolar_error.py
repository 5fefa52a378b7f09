"""The measure of the error of an essential matrix: who chooses it, and what is measured by it."""

import numpy as np
import pytest

import bansac
from bansac.geometry import normalise_points
from bansac.problems.essential import ESSENTIAL
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches
from tests.reference import epipolar as reference

SCENE = epipolar_matches(300, inlier_ratio=0.6, noise=0.5, seed=8)
DATA = np.vstack([normalise_points(SCENE.K, x).T for x in (SCENE.x1, SCENE.x2)])
FOCAL = (SCENE.K[0, 0] + SCENE.K[1, 1]) / 2


@pytest.mark.parametrize(
    ("settings", "measure"),
    [
        ({}, reference.sampson),
        ({"epipolar_error": "sampson"}, reference.sampson),
        ({"epipolar_error": "symmetric"}, reference.symmetric),
        ({"preset": "paper"}, reference.symmetric),
        ({"preset": "paper", "epipolar_error": "sampson"}, reference.sampson),
        ({"epipolar_error": "default"}, reference.sampson),
    ],
)
def test_residuals_and_mask_are_of_the_chosen_measure(settings, measure):
    threshold, unit = (1e-3, 1.0) if "preset" in settings else (1.0, FOCAL)
    result = bansac.estimate_essential(SCENE.x1, SCENE.x2, SCENE.K, threshold=threshold, **settings)
    assert result.success
    assert result.residuals == pytest.approx(unit * np.sqrt(measure(DATA, result.model)), rel=1e-6, abs=1e-9)
    assert np.array_equal(result.inliers, result.residuals <= threshold)
    pose = bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K, threshold=threshold, **settings)
    assert np.array_equal(pose.residuals, result.residuals)


@pytest.mark.parametrize("value", ["sampson", "symmetric"])
@pytest.mark.parametrize(
    "estimate",
    [
        lambda **s: bansac.estimate_homography(SCENE.x1, SCENE.x2, **s),
        lambda **s: bansac.estimate_fundamental(SCENE.x1, SCENE.x2, **s),
        lambda **s: bansac.fit_line(SCENE.x1, threshold=1.0, **s),
        lambda **s: bansac.ransac(LINE, SCENE.x1, threshold=1.0, **s),
        lambda **s: bansac.ransac(ESSENTIAL, DATA.T, **s),
    ],
)
def test_models_without_a_choice_refuse_one_but_take_the_preset(estimate, value):
    with pytest.raises(TypeError, match="epipolar_error is now an argument of estimate_essential and"):
        estimate(epipolar_error=value)
    assert estimate(preset="paper", max_iterations=30).iterations > 0


def test_another_measure_is_refused_and_unknown_focal_lengths_have_no_choice():
    with pytest.raises(ValueError, match="epipolar_error must be one of 'default', 'sampson', 'symmetric'; got None"):
        bansac.estimate_essential(SCENE.x1, SCENE.x2, epipolar_error=None)
    camera = bansac.Camera.unknown_focal(640, 480)
    with pytest.raises(ValueError, match="epipolar_error need known focal lengths"):
        bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, camera, epipolar_error="symmetric")
