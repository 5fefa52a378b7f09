"""The frame of a run: the order of its data, its unit, and the models in it."""

import numpy as np
import pytest

from bansac.engine.frame import Frame
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import homography_matches
from tests.engine.builder import BASE


def matches():
    """Return matches (4 x N) of a plane, in large coordinates."""
    made = homography_matches(60, inlier_ratio=0.5, noise=0.3, seed=1)
    return 1e4 + np.vstack([made.x1.T, made.x2.T])


def test_the_best_quality_comes_first_and_equal_ones_keep_their_order():
    quality = np.array([0.5, 0.9, 0.5, 0.1])
    made = Frame(LINE, np.zeros((2, 4)), BASE.replace(sampler="prosac"), 1.0, quality=quality)
    assert made.ranking.tolist() == sorted(range(4), key=lambda k: -quality[made.order[k]])
    assert Frame(LINE, np.zeros((2, 4)), BASE.replace(sampler="uniform"), 1.0, quality=quality).ranking.size == 0


def test_lengths_are_those_of_the_data():
    data = matches()
    frame = Frame(HOMOGRAPHY, data, BASE, 2.0, radius=5.0)
    assert frame.scale < 0.1
    assert frame.radius == 5.0 * frame.scale
    state, _ = frame.start()
    frame.set_threshold(state, 3.0)
    assert state.settings["squared_threshold"] == pytest.approx((3.0 * frame.scale) ** 2)
    shift = np.array([1.0, 0, 3, 0, 1, 4, 0, 0, 1])  # by (3, 4)
    model = frame.from_data(shift)
    expected = np.linalg.norm(data[2:] - data[:2] - [[3], [4]], axis=0)
    np.testing.assert_allclose(frame.distances(model), expected[frame.order], rtol=1e-6)
    np.testing.assert_allclose(frame.to_data(model), shift, atol=1e-6)


def test_a_model_that_no_constraint_can_repair_is_none_in_the_frame():
    frame = Frame(FUNDAMENTAL, matches(), BASE, 1.0)
    assert frame.from_data(np.zeros(9)) is None
    assert frame.from_data(np.full(9, np.inf)) is None


def test_the_part_of_a_frame_has_the_data_of_the_mask():
    data, quality = matches(), np.random.default_rng(0).permutation(60) / 60
    options = BASE.replace(sampler="prosac")
    frame = Frame(HOMOGRAPHY, data, options, 2.0, prior=quality, quality=quality, weights=quality)
    members = quality[frame.order] > 0.4
    part = frame.restrict(members)
    kept = quality[frame.order][members]
    np.testing.assert_array_equal(part.data, frame.data[:, members])
    np.testing.assert_array_equal(part.prior, kept)
    np.testing.assert_array_equal(part.weights, kept)
    np.testing.assert_array_equal(kept[part.ranking], np.sort(kept)[::-1])
    assert frame.restrict(members, with_prior=False).prior is None
    whole = frame.restrict(None, with_prior=False)
    assert whole.prior is None
    assert whole.data is frame.data
    assert frame.data.shape[1] == 60


@pytest.mark.parametrize("is_known", [False, True])
def test_supported_matches_are_in_the_order_of_the_frame(is_known):
    mask = np.arange(60) < 20
    frame = Frame(HOMOGRAPHY, matches(), BASE, 2.0, find_supported=lambda: mask if is_known else None)
    supported = frame.supported
    if is_known:
        np.testing.assert_array_equal(supported, frame.order < 20)
    else:
        assert supported is None


def test_beliefs_start_from_the_prior_in_the_order_of_the_frame():
    prior = np.linspace(0.1, 0.9, 60)
    frame = Frame(HOMOGRAPHY, matches(), BASE, 2.0, prior=prior)
    np.testing.assert_array_equal(frame.prior_beliefs(), prior[frame.order])
    assert (Frame(HOMOGRAPHY, matches(), BASE, 2.0).prior_beliefs() == 0.5).all()
