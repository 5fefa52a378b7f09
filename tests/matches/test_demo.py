"""The pair inside the package agrees with its truth and its images."""

import numpy as np
import pytest

from bansac.matches import load_demo, load_motorcycle_matches
from bansac.matches.demo import ASSETS
from bansac.matches.image_matching import match_images
from bansac.matches.images import read_image


def test_demo_has_matches_in_its_images():
    demo = load_demo()
    assert demo.x1.shape == demo.x2.shape == (len(demo), 2)
    assert demo.ratios.shape == demo.scores.shape == (len(demo),)
    assert 500 < len(demo) < 5000
    for x, size in ((demo.x1, demo.size1), (demo.x2, demo.size2)):
        assert (x > -1).all()
        assert (x < size[::-1]).all()
    assert 0 < demo.ratios.min() <= demo.ratios.max() <= 0.95
    assert all(isinstance(n, int) for n in demo.size1 + demo.size2)


def test_demo_truth_explains_a_minority_of_matches_to_half_a_pixel():
    demo = load_demo()
    inliers = demo.inliers
    assert 0.2 < inliers.mean() < 0.5
    mapped = np.column_stack([demo.x1, np.ones(len(demo))]) @ demo.H.T
    difference = (mapped[:, :2] / mapped[:, 2:] - demo.x2)[inliers]
    assert np.median(np.hypot(*difference.T)) < 0.5
    assert np.abs(np.median(difference, axis=0)).max() < 0.1
    assert np.median(demo.ratios[inliers]) < np.median(demo.ratios[~inliers])


def test_demo_files_are_small():
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) < 350_000


@pytest.mark.slow
def test_demo_images_have_their_sizes_and_give_these_matches():
    demo = load_demo()
    assert read_image(demo.image1).shape == demo.size1
    assert read_image(demo.image2).shape == demo.size2
    matches = match_images(demo.image1, demo.image2, ratio=0.95, mutual=False)
    assert len(matches) == pytest.approx(len(demo), rel=0.1)  # OpenCV's SIFT differs a little between versions
    stored = {tuple(np.round(row, 1)) for row in np.hstack([demo.x1, demo.x2])}
    found = {tuple(np.round(row, 1)) for row in np.hstack([matches.x1, matches.x2])}
    assert len(stored & found) > 0.5 * len(stored)


def test_stored_matches_are_those_of_the_photographs():
    data, matches = pytest.importorskip("skimage.data"), load_motorcycle_matches()
    try:
        left, right, disparity = data.stereo_motorcycle()
    except Exception as error:  # errors of the download
        pytest.skip(f"the motorcycle is not there: {error}")
    column, row = np.round(matches.x1).astype(int).T
    shift = np.column_stack([disparity[row, column], np.zeros(len(matches))])
    true = np.hypot(*(matches.x1 - shift - matches.x2).T) <= 2.0  # False where the disparity is not known
    np.testing.assert_array_equal(matches.inliers, true)
    assert (matches.ratios >= 0.9).all()
    assert np.median(np.abs(matches.x1[matches.inliers, 1] - matches.x2[matches.inliers, 1])) < 0.5
    # Lines of F are rows: (x', y', 1) F (x, y, 1)^T = y - y' up to scale.
    assert [5, 7, 1] @ matches.F @ [90, 7, 1] == 0
    assert abs([5, 9, 1] @ matches.F @ [90, 7, 1]) == pytest.approx(np.sqrt(2))
    for stored, photograph in ((matches.image1, left), (matches.image2, right)):
        difference = read_image(stored).astype(float) - read_image(photograph)
        assert np.abs(difference).mean() < 5
