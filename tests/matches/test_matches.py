"""The one type of matches: choosing among them keeps all that belongs to a match."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.matches import Matches
from bansac.synthetic import epipolar_matches, planar_scene_matches


@pytest.fixture
def matches():
    x = np.arange(8.0).reshape(4, 2)
    return Matches(
        x, x + 100, key="a-b", ratios=np.array([0.84, 0.85, 0.2, 0.86]), inliers=np.array([True, False, True, True]),
        depth1=np.arange(4.0), depth2=np.array([7.0, 8.0, np.nan, 9.0])
    )  # fmt: skip


def test_scores_are_one_minus_the_ratio_unless_they_are_given(matches):
    np.testing.assert_array_equal(matches.scores, 1 - matches.ratios)
    assert Matches(matches.x1, matches.x2).scores is None
    given = Matches(matches.x1, matches.x2, ratios=matches.ratios, scores=np.arange(4.0))
    np.testing.assert_array_equal(given.scores, np.arange(4))
    np.testing.assert_array_equal(given.filtered(0.85).scores, [0, 2])


@pytest.mark.parametrize(
    ("choose", "places"),
    [
        (lambda matches: matches.select(np.array([False, True, True, False])), [1, 2]),
        (lambda matches: matches.filtered(0.85), [0, 2]),  # strictly below
    ],
)
def test_selection_keeps_what_belongs_to_a_match(matches, choose, places):
    matches = dataclasses.replace(matches, H=np.eye(3))
    kept = choose(matches)
    assert (len(kept), len(matches), kept.key, kept.H is matches.H) == (2, 4, "a-b", True)
    for name in ("x1", "x2", "ratios", "scores", "depth1", "depth2", "inliers"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(matches, name)[places])


def test_selection_of_a_scene_keeps_its_points():
    scene = planar_scene_matches(40)
    kept = scene.select(scene.on_plane)
    assert type(kept) is type(scene)
    assert kept.on_plane.all()
    np.testing.assert_array_equal(kept.points, scene.points[scene.on_plane])
    assert kept.R is scene.R


def test_filter_needs_ratios(matches):
    with pytest.raises(ValueError, match="the matches of the pair 'a-b' have no SNN ratios"):
        Matches(matches.x1, matches.x2, key="a-b").filtered(0.8)


def test_camera_and_size_of_both_images(matches):
    scene = epipolar_matches(5, size=(300, 500))
    np.testing.assert_array_equal(scene.K, scene.K2)
    assert scene.size == (300, 500)
    for name in ("K", "size"):
        with pytest.raises(ValueError, match="the pair 'a-b' has no"):
            getattr(matches, name)
    different = Matches(matches.x1, matches.x2, key="a-b", K1=np.eye(3), K2=2 * np.eye(3), size1=(3, 4), size2=(4, 3))
    for name in ("K", "size"):
        with pytest.raises(ValueError, match=r"common .* of both images"):
            getattr(different, name)


def test_repr_names_the_pair_and_what_is_known(matches):
    assert repr(matches) == "Matches('a-b', 4 matches, with ratios, scores, depth1, depth2, inliers)"
    assert repr(Matches(matches.x1, matches.x2)) == "Matches('', 4 matches, with nothing else)"


def test_indices_of_keypoints():
    keypoints1, keypoints2 = np.arange(10.0).reshape(5, 2), -np.arange(6.0).reshape(3, 2)
    found = Matches.from_indices(keypoints1.tolist(), keypoints2, [[4, 0], [0, 2]], scores=[0.5, 1])
    np.testing.assert_array_equal(found.x1, keypoints1[[4, 0]])
    np.testing.assert_array_equal(found.x2, keypoints2[[0, 2]])
    assert found.scores.tolist() == [0.5, 1]
    assert len(Matches.from_indices(keypoints1, keypoints2, [])) == 0
    assert len(Matches.from_indices([], [], np.empty((0, 2), np.int32))) == 0
    assert Matches.from_indices(keypoints1, keypoints2, np.array([[4, 2]], np.uint8)).x1.tolist() == [[8, 9]]


class Tensor:
    """What a PyTorch tensor on a GPU offers: NumPy cannot read it before ``detach().cpu()``."""

    def __init__(self, array):
        self.array = np.asarray(array)
        self.shape, self.ndim = self.array.shape, self.array.ndim

    def detach(self):
        return self

    def cpu(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize("wrap", [np.asarray, Tensor, lambda x: Tensor(x[None]), lambda x: [Tensor(x)]])
def test_output_of_lightglue_for_a_batch_of_one_pair(wrap):
    keypoints1, keypoints2 = np.arange(10.0).reshape(5, 2), -np.arange(6.0).reshape(3, 2)
    points = wrap(keypoints1), wrap(keypoints2)
    pairs, scores = np.array([[1, 2], [4, 0]]), np.array([0.9, 0.4])
    of_pairs = Matches.from_indices(*points, wrap(pairs), wrap(scores))
    first = np.array([[-1, 2, -1, -1, 0]])
    first = Matches.from_indices(*points, Tensor(first), wrap(np.array([0, 0.9, 0, 0.1, 0.4])))
    for found in (of_pairs, first):
        np.testing.assert_array_equal(found.x1, keypoints1[[1, 4]])
        np.testing.assert_array_equal(found.x2, keypoints2[[2, 0]])
        assert found.scores.tolist() == [0.9, 0.4]


def test_matches_of_every_keypoint():
    points = np.zeros((3, 2))
    assert len(Matches.from_indices(points, points, np.array([[-1, -1, -1]]))) == 0
    with pytest.raises(ValueError, match="keypoints1 must have shape"):
        Matches.from_indices(np.zeros((3, 3)), points, [[0, 0]])
    with pytest.raises(ValueError, match=r"scores must have shape \(3,\)"):
        Matches.from_indices(points, points, [0, -1, -1], scores=[1])
    with pytest.raises(ValueError, match="pairs must be indices of the 3 keypoints2, got 3"):
        Matches.from_indices(points, points, [0, 3, -1])
    one = Matches.from_indices([np.array([1.0, 2.0])], [np.array([3.0, 4.0])], [np.array([0, 0])], [0.5])
    assert one.x2.tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 3]], "pairs must be indices of the 3 keypoints2, got 3"),
        ([[-1, 0]], "pairs must be indices of the 5 keypoints1, got -1"),
        ([[0.0, 1.0]], "pairs must be integers of shape"),
        ([0, 1], "pairs must be integers of shape"),
        ([[True, False]], "pairs must be an array of real numbers, got booleans"),
        (np.ma.masked_equal([[0, 1], [1, 2]], 2), "pairs must not have masked values"),
        (None, "pairs must be an array of real numbers"),
    ],
)
def test_bad_indices_are_refused(pairs, message):
    keypoints1, keypoints2 = np.arange(10.0).reshape(5, 2), np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match=message):
        Matches.from_indices(keypoints1, keypoints2, pairs)


def test_a_warp_gives_the_pixels_of_its_certain_matches_without_a_copy_in_float64():
    corners = np.float32([[-1, -1, 0, 0], [1, 1, 0, 0], [0, 0, 1, -1]])
    matches = Matches.from_warp(corners.reshape(1, 1, 3, 4), np.float32([[[0.5, 0.0, 1.0]]]), (10, 20), (30, 40))
    np.testing.assert_allclose(matches.x1, [[-0.5, -0.5], [9.5, 4.5]])
    np.testing.assert_allclose(matches.x2, [[19.5, 14.5], [39.5, -0.5]])
    assert matches.x1.dtype == matches.x2.dtype == np.float32
    np.testing.assert_array_equal(matches.scores, [0.5, 1.0])
    with pytest.raises(ValueError, match=r"certainty .* got \(3, 4\) and \(2,\)"):
        Matches.from_warp(corners, [1.0, 0.5], (10, 20), (30, 40))


def test_single_precision_has_the_models_of_the_same_numbers():
    x = np.random.default_rng(0).uniform(0, 100, (2, 60, 2)).astype(np.float32)
    x[1, :40] = x[0, :40] + 5
    single, double = bansac.estimate_homography(*x, seed=0), bansac.estimate_homography(*x.astype(float), seed=0)
    np.testing.assert_array_equal(single.model, double.model)
    x[0, 3, 1] = np.nan
    with pytest.raises(ValueError, match=r"x1 must be finite, got nan at \[3, 1\]"):
        bansac.estimate_homography(*x)
