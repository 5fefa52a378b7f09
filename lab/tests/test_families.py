"""Awkward scenes agree with their ground truth and have the expected answer."""

import numpy as np
import pytest

import bansac
from bansac.geometry import apply_transform, homogeneous
from bansac_lab.families import FAMILIES, awkward_scene

ESTIMATORS = {"H": bansac.estimate_homography, "F": bansac.estimate_fundamental, "E": bansac.estimate_essential}
# Families whose inliers have no small noise, because their coordinates are rounded.
ROUNDED = ("grid 1", "grid 4")
families = pytest.mark.parametrize("family", FAMILIES)


@families
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_awkward_scenes_agree_with_their_ground_truth(family, kind):
    scene, again, other = (awkward_scene(family, kind, 300, inlier_ratio=0.5, noise=0.0, seed=s) for s in (5, 5, 6))
    np.testing.assert_array_equal(scene.matches.x2, again.matches.x2)
    assert not np.array_equal(scene.matches.x2, other.matches.x2)
    true = scene.matches.inliers
    assert len(scene.matches) == 300
    assert (scene.family, scene.kind) == (family, kind)
    if scene.success is False:
        assert scene.model is None
        assert not true.any()
        return
    assert true.sum() >= 80
    m = scene.matches
    if kind == "H":
        residuals = np.hypot(*(apply_transform(m.H, m.x1) - m.x2).T) / scene.threshold
    else:  # the distances in image 2 from the epipolar lines
        lines = homogeneous(m.x1) @ m.F.T
        residuals = np.abs((lines * homogeneous(m.x2)).sum(axis=1)) / np.hypot(*lines[:, :2].T) / scene.threshold
    assert residuals[true].max() < (3 if family in ROUNDED else 1e-4)
    assert np.median(residuals[~true]) > 3
    if scene.model is not None:
        assert scene.model is getattr(scene.matches, kind)


@families
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_awkward_scenes_have_the_expected_answer(family, kind):
    scene = awkward_scene(family, kind, 400, inlier_ratio=0.5, seed=1)
    if scene.success is not True:
        return
    result = ESTIMATORS[kind](*scene.arguments, threshold=scene.threshold)
    assert result.success
    assert result.configuration == scene.configuration
    assert result.inliers[scene.matches.inliers].mean() > 0.9


@families
def test_awkward_scenes_without_inliers_or_matches_have_no_model(family):
    scene = awkward_scene(family, "F", 100, inlier_ratio=0.0)
    assert not scene.matches.inliers.any()
    assert scene.model is None
    assert scene.configuration is None
    assert scene.success is not True
    assert len(awkward_scene(family, "H", 0).matches) == 0
    assert awkward_scene(family, "F", 400, noise=2.0).success is not True


def test_awkward_scenes_have_their_structure():
    def make(family, **settings):
        return awkward_scene(family, "F", 300, **settings).matches

    plain = make("plain")
    wrong = ~plain.inliers
    moves = make("window 10")
    assert np.abs(moves.x2 - moves.x1).max() == pytest.approx(10, rel=0.05)
    right = make("exchanged", inlier_ratio=1.0)
    near, repeated, exchanged = (make(family) for family in ("near 30", "repeated", "exchanged"))
    assert np.abs(near.x2 - exchanged.x2)[plain.inliers].max() == 0
    assert right.inliers.all()
    shift = repeated.x2[wrong] - (near.x2[wrong] + exchanged.x2[wrong]) / 2
    assert shift.std() > 50
    assert (np.abs(make("far 65535").x2) == 65535).all(axis=1).sum() == 6
    assert (np.abs(make("far 1e6").x1) > 1e4).any(axis=1).sum() == 6
    assert len(np.unique(make("duplicates").x1, axis=0)) == 100
    assert (make("grid 4").x2 % 4 == 0).all()
    np.testing.assert_allclose(make("metres").x1, plain.x1 / 1000)
    np.testing.assert_allclose(make("offset").x1, plain.x1 + 1e5)
    tight = make("true burst").x1
    assert (np.abs(tight - np.median(tight, axis=0)) < [32, 24]).all(axis=1).sum() > 130
    assert len(awkward_scene("clusters", "H", 100_000).matches) == 100_000


def test_unknown_families_and_kinds_are_named():
    with pytest.raises(ValueError, match="family must be one of 'plain', "):
        awkward_scene("none")
    with pytest.raises(ValueError, match="kind must be one of 'H', 'F', 'E'; got 'P'"):
        awkward_scene("plain", "P")
