"""Matching against brute force, on pictures whose matches are known."""

import sys

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.matches import image_matching as matching
from bansac.matches import load_demo
from bansac.matches.image_matching import match_images
from bansac.matches.images import read_image


@pytest.fixture(scope="module")
def blobs():
    """Return a grey picture full of features."""
    rng = np.random.default_rng(0)
    return cv2.GaussianBlur(rng.integers(0, 256, (160, 200)).astype(np.uint8), (0, 0), 2.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 30))
def test_nearest_neighbours_are_those_of_brute_force(seed, n, m):
    rng = np.random.default_rng(seed)
    query, base = (np.sqrt(rng.dirichlet(np.ones(128), k)).astype(np.float32) for k in (n, m))
    nearest, ratios = matching._nearest_neighbours(query, base)
    for i in range(n):
        distances = np.linalg.norm(base.astype(np.float64) - query[i], axis=1)
        assert nearest[i] == distances.argmin()
        first, second = np.sort(distances)[:2]
        assert ratios[i] == pytest.approx(first / second)


def test_nearest_neighbours_do_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    query, base = (np.sqrt(rng.dirichlet(np.ones(128), k)).astype(np.float32) for k in (50, 40))
    whole = matching._nearest_neighbours(query, base)
    monkeypatch.setattr(matching, "_BLOCK", 7)
    for a, b in zip(whole, matching._nearest_neighbours(query, base), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_ratios_of_equal_descriptors():
    one, other = np.eye(2, 128, dtype=np.float32)
    # Two copies of the query: no telling which is meant. One copy: certain.
    assert matching._nearest_neighbours(one[None], np.stack([one, other, one]))[1][0] == 1
    nearest, ratios = matching._nearest_neighbours(one[None], np.stack([other, one]))
    assert (nearest[0], ratios[0]) == (1, 0)


def test_descriptors_are_root_sift(blobs):
    features = matching.detect_features(blobs, max_features=100)
    keypoints, sift = cv2.SIFT_create(nfeatures=100).detectAndCompute(blobs, None)
    at = [k.pt for k in keypoints].index(tuple(features.points[5]))
    candidates = [np.sqrt(s / s.sum()) for k, s in zip(keypoints, sift, strict=True) if k.pt == keypoints[at].pt]
    assert min(np.abs(c - features.descriptors[5]).max() for c in candidates) < 1e-6
    np.testing.assert_allclose(np.linalg.norm(features.descriptors, axis=1), 1, atol=1e-5)


def test_a_shifted_picture_is_matched_to_the_shift(blobs):
    matches = match_images(blobs[:, :160], blobs[20:, 30:], ratio=0.8)
    shift = matches.x1 - matches.x2
    assert len(matches) > 20
    assert np.mean(np.abs(shift - [30, 20]).max(axis=1) < 0.5) > 0.9
    assert matches.x1.dtype == matches.x2.dtype == np.float64
    assert (matches.size1, matches.size2) == ((160, 160), (140, 170))
    np.testing.assert_array_equal(matches.scores, 1 - matches.ratios)


def test_ratio_is_a_bound_and_mutual_matches_are_one_to_one(blobs):
    noisy = np.clip(blobs + np.random.default_rng(2).normal(0, 6, blobs.shape), 0, 255).astype(np.uint8)
    loose, strict = (match_images(blobs, noisy, ratio=ratio, mutual=False) for ratio in (1.0, 0.7))
    mutual = match_images(blobs, noisy, ratio=1.0)
    assert strict.ratios.max() <= 0.7
    assert len(strict) == np.count_nonzero(loose.ratios <= 0.7)
    assert 0 < len(mutual) < len(loose)
    pairs = {(*a, *b) for a, b in zip(loose.x1, loose.x2, strict=True)}
    assert {(*a, *b) for a, b in zip(mutual.x1, mutual.x2, strict=True)} <= pairs
    backward = match_images(noisy, blobs, ratio=1.0, mutual=False)
    pairs &= {(*a, *b) for a, b in zip(backward.x2, backward.x1, strict=True)}
    assert {(*a, *b) for a, b in zip(mutual.x1, mutual.x2, strict=True)} == pairs


def test_max_features_bounds_the_matches(blobs):
    assert len(match_images(blobs, blobs, ratio=1.0)) > 40
    assert len(match_images(blobs, blobs, ratio=1.0, max_features=40)) == 40


def test_files_and_arrays_give_the_same_matches(blobs, tmp_path):
    path = tmp_path / "blobs.png"
    cv2.imwrite(str(path), blobs)
    from_files, from_arrays = match_images(path, str(path)), match_images(blobs, blobs)
    np.testing.assert_array_equal(from_files.x2, from_arrays.x2)
    np.testing.assert_array_equal(from_files.ratios, from_arrays.ratios)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        match_images(tmp_path / "nowhere.png", np.zeros((9, 9), np.uint8))
    with pytest.raises(OSError, match=str(tmp_path)):
        read_image(tmp_path)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (np.array([[0, 255]], np.uint8), [[0, 255]]),
        (np.array([[0, 255]], np.int64), [[0, 255]]),
        (np.array([[0.0, 0.2, 1.0]]), [[0, 51, 255]]),
        (np.array([[0.0, 0.2, 1.0]], np.float32), [[0, 51, 255]]),
        (np.array([[False, True]]), [[0, 255]]),
        (np.array([[[7], [9]]], np.uint8), [[7, 9]]),
        (np.array([[[255, 0, 0, 3]]], np.uint8), [[76]]),
    ],
)
def test_arrays_become_grey_bytes(pixels, expected):
    grey = read_image(pixels)
    assert grey.dtype == np.uint8
    np.testing.assert_array_equal(grey, expected)


def test_grey_arrays_become_rgb():
    np.testing.assert_array_equal(read_image(np.array([[5]], np.uint8), color=True), [[[5, 5, 5]]])


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros(5), r"must have shape \(H, W\), \(H, W, 3\) or \(H, W, 4\), got \(5,\)"),
        (np.zeros((5, 5, 2)), r"got \(5, 5, 2\)"),
        (np.zeros((0, 5)), r"got \(0, 5\)"),
        (np.array([["a"]]), "must hold numbers"),
        (np.array([[0.0, 255.0]]), "of type float64 must hold values from 0 to 1, got 0.0 to 255.0"),
        (np.array([[0.0, np.nan]]), "must hold values from 0 to 1"),
        (np.array([[0, 65535]], np.uint16), "of type uint16 must hold values from 0 to 255"),
        (np.array([[-1, 5]]), "must hold values from 0 to 255, got -1 to 5"),
    ],
)
def test_bad_arrays_are_named(pixels, message):
    with pytest.raises(ValueError, match=message):
        read_image(pixels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": 0}, r"^ratio must lie in \(0, 1\], got 0"),
        ({"ratio": 1.1}, r"^ratio must lie in"),
        ({"ratio": np.nan}, r"^ratio must lie in"),
        ({"max_features": 1}, r"^max_features must be an integer >= 2, got 1"),
    ],
)
def test_bad_settings_are_named(blobs, settings, message):
    with pytest.raises(ValueError, match=message):
        match_images(blobs, blobs, **settings)


def test_pictures_without_features_are_named(blobs):
    plain = np.full((60, 80), 128, np.uint8)
    with pytest.raises(ValueError, match=r"^image2 \(80 x 60 pixels\) has 0 features"):
        match_images(blobs, plain)
    with pytest.raises(ValueError, match=r"^image1 \(1 x 1 pixels\) has 0 features"):
        match_images(plain[:1, :1], blobs)


def test_without_opencv_the_extra_is_named(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"pip install opencv-python-headless"):
        match_images(blobs, blobs)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install opencv-python-headless"):
        read_image(load_demo().image1)
