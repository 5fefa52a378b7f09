"""The measure of the error of an essential matrix: Sampson's, and the symmetric one of the paper."""

import numpy as np
import pytest

import bansac
from bansac.geometry import normalise_points
from bansac.synthetic import epipolar_matches
from tests.reference import epipolar as reference

SCENE = epipolar_matches(300, inlier_ratio=0.6, noise=0.5, seed=8)
DATA = np.vstack([normalise_points(SCENE.K, x).T for x in (SCENE.x1, SCENE.x2)])
FOCAL = (SCENE.K[0, 0] + SCENE.K[1, 1]) / 2


@pytest.mark.parametrize(
    ("settings", "measure"),
    [({}, reference.sampson), ({"preset": "paper"}, reference.symmetric)],
)
def test_residuals_and_mask_are_of_the_chosen_measure(settings, measure):
    threshold, unit = (1e-3, 1.0) if "preset" in settings else (1.0, FOCAL)
    result = bansac.estimate_essential(SCENE.x1, SCENE.x2, SCENE.K, threshold=threshold, **settings)
    assert result.success
    assert result.residuals == pytest.approx(unit * np.sqrt(measure(DATA, result.model)), rel=1e-6, abs=1e-9)
    assert np.array_equal(result.inliers, result.residuals <= threshold)
    pose = bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, SCENE.K, threshold=threshold, **settings)
    assert np.array_equal(pose.residuals, result.residuals)
