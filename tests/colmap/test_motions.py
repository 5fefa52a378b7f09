"""Pairs whose matches follow several rigid motions."""

from dataclasses import replace

import numpy as np
import pytest

from bansac.colmap import VerificationOptions
from bansac.synthetic import epipolar_matches
from tests.colmap.scenes import as_pair, two_motions, verify

MULTIPLE = VerificationOptions(multiple_models=True)


def test_inliers_of_both_motions_are_kept():
    scene, labels = two_motions()
    geometry = verify(as_pair(scene), MULTIPLE)
    assert geometry.configuration == "multiple"
    assert geometry.E is geometry.F is geometry.H is geometry.pose is None
    found = geometry.inlier_matches[:, 0]
    assert len(np.unique(found)) == len(found)
    for label, smallest, largest in ((0, 0.95, 1.0), (1, 0.95, 1.0), (-1, 0.0, 0.2)):
        assert smallest <= np.isin(np.flatnonzero(labels == label), found).mean() <= largest
    assert labels[found[0]] == 0
    assert labels[found[-1]] in (1, -1)
    one = verify(as_pair(scene))
    assert one.configuration == "calibrated"
    assert np.isin(np.flatnonzero(labels == 1), one.inlier_matches[:, 0]).mean() < 0.3


@pytest.mark.parametrize(
    ("setting", "configuration"),
    [
        ({"min_num_inliers": 130}, "calibrated"),
        ({"min_inlier_ratio": 0.5}, "multiple"),  # 100 are few of all 270, and many of those that are not of the first
        ({"min_inlier_ratio": 0.7}, "degenerate"),
    ],
)
def test_a_motion_with_too_few_matches_is_dropped(setting, configuration):
    scene, _ = two_motions((150, 100, 20))
    assert verify(as_pair(scene), replace(MULTIPLE, **setting)).configuration == configuration


def test_one_motion_is_verified_as_without_the_option():
    pair = as_pair(epipolar_matches(300, inlier_ratio=0.6, noise=0.5, seed=3))
    geometry, expected = verify(pair, MULTIPLE), verify(pair)
    assert geometry.configuration == expected.configuration == "calibrated"
    np.testing.assert_array_equal(geometry.inlier_matches, expected.inlier_matches)
    np.testing.assert_array_equal(geometry.F, expected.F)


def test_a_watermark_is_no_motion():
    scene = epipolar_matches(150, inlier_ratio=1.0, noise=0.5, seed=3)
    height, width = scene.size
    mark = np.random.default_rng(0).uniform([0.8 * width, 0.9 * height], [0.99 * width, 0.99 * height], (100, 2))
    pair = as_pair(replace(scene, x1=np.vstack([scene.x1, mark]), x2=np.vstack([scene.x2, mark + 1.0])))
    ignored = verify(pair, MULTIPLE)
    assert ignored.configuration == "calibrated"
    assert np.isin(np.arange(150, 250), ignored.inlier_matches[:, 0]).mean() < 0.1
    kept = verify(pair, replace(MULTIPLE, detect_watermark=False))
    assert kept.configuration == "multiple"
    assert len(kept.inlier_matches) >= 240
