"""The weighted eight-point algorithm."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from skimage.transform import FundamentalMatrixTransform

from bansac.problems.fundamental import FUNDAMENTAL
from bansac.solvers.fundamental_8pt import fundamental_8pt
from tests.problems.in_loop import fit_data
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)


@given(seeds, st.sampled_from([0.0, 2.0]))
def test_fit_is_the_eight_point_algorithm_with_rank_two(seed, offset):
    rng = np.random.default_rng(seed)
    data, _, _ = reference.random_scene(rng, 40)
    data += rng.normal(0, 1e-2, data.shape) + offset * np.array([[1.0], [-1.0], [0.5], [2.0]])
    weights = rng.uniform(0.1, 1, 40) * (rng.uniform(size=40) < 0.8)
    model = fit_data(FUNDAMENTAL, weights, data.T)
    U, s, Vt = np.linalg.svd(reference.eight_point(data, weights))
    assume(s[2] < 0.7 * s[1])  # the power method does not tell nearly equal singular values
    expected = U @ np.diag([s[0], s[1], 0]) @ Vt
    assert reference.distance_up_to_scale(model, expected) < 1e-6


def test_fit_declines_fewer_than_eight_matches_and_coincident_ones():
    assert fit_data(FUNDAMENTAL, np.arange(20) < 7, np.random.default_rng(0).uniform(-1, 1, (20, 4))) is None
    assert fit_data(FUNDAMENTAL, np.ones(20), np.ones((20, 4))) is None


def test_fit_declines_the_matches_of_a_plane():
    x = np.random.default_rng(5).uniform(-1, 1, (2, 30))
    H = np.array([[1.1, 0.1, 0.2], [-0.1, 0.9, 0.1], [0.05, 0.1, 1.0]])
    mapped = H @ np.vstack([x, np.ones(30)])
    assert fit_data(FUNDAMENTAL, np.ones(30), x.T, (mapped[:2] / mapped[2]).T) is None


@given(seeds)
def test_fundamental_8pt_agrees_with_the_reference_at_map_coordinates(seed):
    rng = np.random.default_rng(seed)
    data, R, t = reference.random_scene(rng, 30)
    pixels = 800 * data + np.array([[1e6], [2e6], [1e6], [2e6]])
    F = fundamental_8pt(pixels[:2].T, pixels[2:].T)
    assert np.linalg.norm(F) == pytest.approx(1)
    assert np.sqrt(reference.sampson(pixels, F)).max() < 1e-3
    K = np.array([[800.0, 0, 1e6], [0, 800, 2e6], [0, 0, 1]])
    assert reference.distance_up_to_scale(K.T @ F @ K, reference.cross_matrix(t) @ R) < 1e-3


@given(seeds, st.integers(9, 60))
def test_fundamental_8pt_is_that_of_scikit_image_for_noisy_matches(seed, n):
    # Both take the least singular value off; they do so in the same coordinates if the points are normalised already.
    rng = np.random.default_rng(seed)
    data, _, _ = reference.random_scene(rng, n)
    data += rng.normal(0, 1e-3, data.shape)
    centred = [rows.T - rows.mean(axis=1) for rows in (data[:2], data[2:])]
    x1, x2 = (x * np.sqrt(2 * n / (x**2).sum()) for x in centred)
    expected = FundamentalMatrixTransform.from_estimate(x1, x2).params
    assert reference.distance_up_to_scale(fundamental_8pt(x1, x2), expected) < 1e-6


def test_fundamental_8pt_declines_seven_matches():
    x1, x2 = np.random.default_rng(0).uniform(-1, 1, (2, 7, 2))
    assert fundamental_8pt(x1, x2) is None
    assert fundamental_8pt(x1[:0], x2[:0]) is None
