"""Geometries of synthetic pairs whose truth is known."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from bansac.colmap import PairGeometry, VerificationOptions, pairs, verify_pairs
from bansac.colmap.pairs import PairFailure
from bansac.geometry import essential_from_pose
from bansac.synthetic import epipolar_matches, planar_scene_matches, rotation_matches
from bansac_lab.metrics import rotation_error, translation_error
from tests.colmap.scenes import as_pair, two_motions, verify

OPTIONS = VerificationOptions()


@pytest.fixture
def scene():
    return epipolar_matches(300, inlier_ratio=0.6, noise=0.5, seed=3)


def test_calibrated(scene):
    geometry = verify(as_pair(scene))
    assert geometry.configuration == "calibrated"
    found = np.isin(np.arange(300), geometry.inlier_matches[:, 0])
    assert found[scene.inliers].mean() > 0.99
    assert found[~scene.inliers].mean() < 0.1
    np.testing.assert_array_equal(geometry.inlier_matches[:, 1], 299 - geometry.inlier_matches[:, 0])
    assert rotation_error(geometry.pose.R, scene.R) < 0.5
    assert translation_error(geometry.pose.t, scene.t) < 2.0
    E = essential_from_pose(*geometry.pose)
    assert min(abs(E / np.linalg.norm(E) - s * geometry.E / np.linalg.norm(geometry.E)).max() for s in (1, -1)) < 1e-9
    assert geometry.F is not None


@pytest.mark.parametrize("focal_error", [None, 2.0])
def test_without_focal_lengths_that_hold(scene, focal_error):
    geometry = verify(as_pair(scene, focal_error=focal_error))
    assert geometry.configuration == "uncalibrated"
    assert geometry.pose is None
    assert (geometry.E is None) == (focal_error is None)


@pytest.mark.parametrize("selection", ["colmap", "bansac"])
def test_planar(selection):
    scene = planar_scene_matches(300, inlier_ratio=0.6, plane_share=1.0, noise=0.5, seed=3)
    geometry = verify(as_pair(scene), VerificationOptions(model_selection=selection))
    assert geometry.configuration == "planar"
    assert rotation_error(geometry.pose.R, scene.R) < 1.0
    uncalibrated = verify(as_pair(scene, focal_error=None), VerificationOptions(model_selection=selection))
    assert uncalibrated.configuration == "planar_or_panoramic"
    assert uncalibrated.pose is None


def test_a_second_motion_that_the_search_knows_is_told(monkeypatch, scene):
    monkeypatch.setattr(pairs, "_ATTEMPTS", pairs._ATTEMPTS[1:])  # hard pairs have more than one restart
    assert not verify(as_pair(scene)).ambiguous
    both, _ = two_motions((100, 90, 0))
    assert verify(as_pair(both, focal_error=None)).ambiguous


def test_a_dominant_plane():
    pair = as_pair(planar_scene_matches(400, inlier_ratio=0.8, plane_share=0.9, noise=0.5, seed=3))
    assert verify(pair).configuration == "planar"
    assert verify(pair, VerificationOptions(model_selection="bansac")).configuration == "calibrated"


def test_panoramic():
    scene = rotation_matches(300, inlier_ratio=0.6, noise=0.5, seed=3)
    geometry = verify(as_pair(scene))
    assert geometry.configuration == "panoramic"
    assert rotation_error(geometry.pose.R, scene.R) < 0.1
    np.testing.assert_array_equal(geometry.pose.t, 0.0)


def test_watermark():
    rng = np.random.default_rng(0)
    scene = epipolar_matches(200, inlier_ratio=0.6, noise=0.5, seed=3)
    height, width = scene.size
    mark = rng.uniform([0.8 * width, 0.95 * height], [0.99 * width, 0.99 * height], (200, 2))
    pair = as_pair(replace(scene, x1=mark, x2=mark + 1.0))
    assert verify(pair).configuration == "watermark"
    assert len(verify(pair).inlier_matches) == 200
    assert verify(pair, VerificationOptions(detect_watermark=False)).configuration != "watermark"


def test_pairs_with_a_small_share_of_inliers_are_degenerate(scene):
    pair = as_pair(scene)
    share = len(verify(pair).inlier_matches) / 300
    assert verify(pair, VerificationOptions(min_inlier_ratio=share)).configuration == "calibrated"
    rejected = verify(pair, VerificationOptions(min_inlier_ratio=share + 0.001))
    assert rejected.configuration == "degenerate"
    assert len(rejected.inlier_matches) == 0


def test_stationary_matches_are_dropped(scene):
    still = np.arange(300) % 2 == 0
    shifted = scene.x1 + np.array([3.0, 0.0])
    pair = as_pair(replace(scene, x2=np.where(still[:, None], shifted, scene.x2)))
    wider = VerificationOptions(filter_stationary_matches=True, stationary_matches_max_error=3.5)
    geometry = verify(pair, wider)
    assert geometry.configuration == "calibrated"
    assert not still[geometry.inlier_matches[:, 0]].any()
    assert np.isin(np.flatnonzero(scene.inliers & ~still), geometry.inlier_matches[:, 0]).mean() > 0.95
    for options in (OPTIONS, replace(wider, stationary_matches_max_error=2.5)):
        assert still[verify(pair, options).inlier_matches[:, 0]].mean() > 0.5
    assert verify(as_pair(replace(scene, x2=shifted)), wider).configuration == "degenerate"


@pytest.mark.parametrize("options", [OPTIONS, VerificationOptions(multiple_models=True)], ids=["one", "several"])
@pytest.mark.parametrize("count", [0, 7, 14, 200])
def test_random_matches_are_degenerate(scene, count, options):
    rng = np.random.default_rng(1)
    height, width = scene.size
    x1, x2 = rng.uniform(0, [width, height], (2, count, 2))
    geometry = verify(as_pair(replace(scene, x1=x1, x2=x2)), options)
    assert geometry.configuration == "degenerate"
    assert geometry.inlier_matches.shape == (0, 2)
    assert geometry.E is geometry.F is geometry.H is geometry.pose is None


def test_few_right_matches_stand_out_at_a_smaller_threshold(monkeypatch):
    scene = epipolar_matches(150, inlier_ratio=0.09, noise=0.3, seed=7)
    pair = as_pair(scene)
    found = verify(pair)
    assert np.isin(np.flatnonzero(scene.inliers), found.inlier_matches[:, 0]).mean() > 0.9
    monkeypatch.setattr("bansac.colmap.pairs._ATTEMPTS", pairs._ATTEMPTS[:2])
    assert verify(pair).configuration == "degenerate"


def test_hard_pairs_are_searched_for_longer(monkeypatch):
    pair = as_pair(epipolar_matches(1200, inlier_ratio=0.14, noise=1.0, seed=0), focal_error=None)
    assert len(verify(pair).inlier_matches) > 170
    monkeypatch.setattr("bansac.colmap.pairs._ATTEMPTS", pairs._ATTEMPTS[:1])
    assert verify(pair).configuration == "degenerate"


def test_matches_that_cannot_be_undistorted_are_no_inliers_of_e(scene):
    pair = as_pair(scene)
    lost = np.flatnonzero(scene.inliers)[:50]
    pair.rays[lost[:25], :2] = np.nan
    pair.rays[lost[25:], 2:] = np.nan
    options = VerificationOptions(min_E_F_inlier_ratio=0.5)
    geometry = verify(pair, options)
    assert geometry.configuration == "calibrated"  # the inliers are those of F, which has more
    np.testing.assert_array_equal(np.isin(lost, geometry.inlier_matches[:, 0]), True)
    pair.rays[:] = np.nan
    assert verify(pair, options).configuration == "uncalibrated"


def test_batches_and_processes_make_no_difference(scene):
    pairs = [as_pair(scene), replace(as_pair(scene, focal_error=None), pair_id=8), replace(as_pair(scene), pair_id=9)]
    together = verify_pairs(pairs, OPTIONS)
    alone = [verify_pairs([pair], OPTIONS)[0] for pair in pickle.loads(pickle.dumps(pairs))]
    for one, other in zip(together, pickle.loads(pickle.dumps(alone)), strict=True):
        assert one.configuration == other.configuration
        np.testing.assert_array_equal(one.inlier_matches, other.inlier_matches)
        np.testing.assert_array_equal(one.F, other.F)


def test_a_pair_that_cannot_be_estimated_does_not_end_the_batch(scene):
    wrong = as_pair(scene, x1=scene.x1 + np.inf)
    failure, geometry = verify_pairs([wrong, as_pair(scene)], OPTIONS)
    assert isinstance(failure, PairFailure)
    assert "x1 must be finite" in failure.reason
    assert isinstance(geometry, PairGeometry)
