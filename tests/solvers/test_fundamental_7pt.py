"""The fundamental matrices of seven matches."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.solvers.fundamental_7pt import fundamental_7pt
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)


def test_seven_points_give_the_truth_among_the_models():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        data, R, t = reference.random_scene(rng, 7)
        models = fundamental_7pt(data[:2].T, data[2:].T)
        found += any(reference.distance_up_to_scale(F, reference.cross_matrix(t) @ R) < 1e-6 for F in models)
    assert found >= 998


@pytest.mark.parametrize("pixels", [False, True])
@given(seeds)
def test_every_model_has_rank_two_and_agrees_with_its_sample(pixels, seed):
    rng = np.random.default_rng(seed)
    data = 800 * reference.random_scene(rng, 7)[0] + 500 if pixels else rng.uniform(-1, 1, (4, 7))
    models = fundamental_7pt(data[:2].T, data[2:].T)
    assert len(models) in (1, 3)
    x1, x2 = reference.homogeneous(data)
    for F in models:
        assert np.linalg.norm(F) == pytest.approx(1)
        assert np.linalg.svd(F)[1][2] < 1e-7
        if pixels:
            assert np.sqrt(reference.sampson(data, F)).max() < 1e-3
        else:
            assert np.abs(np.einsum("in,ij,jn->n", x2, F, x1)).max() < 1e-7


def test_fundamental_7pt_gives_the_models_of_opencv():
    # OpenCV has half of the digits of some samples.
    rng = np.random.default_rng(3)
    distances = []
    for k in range(300):
        data = reference.random_scene(rng, 7)[0] if k % 2 else rng.uniform(-1, 1, (4, 7))
        x1, x2 = data[:2].T.copy(), data[2:].T.copy()
        models = fundamental_7pt(x1, x2)
        others = cv2.findFundamentalMat(x1, x2, cv2.FM_7POINT)[0].reshape(-1, 3, 3)
        assert len(models) == len(others)
        distances.append(max(reference.farthest(models, others), reference.farthest(others, models)))
    assert np.mean(np.array(distances) < 1e-4) >= 0.98
    assert max(distances) < 0.05


def test_a_degenerate_sample_has_no_model():
    assert fundamental_7pt(np.zeros((7, 2)), np.ones((7, 2))).shape == (0, 3, 3)
    assert len(fundamental_7pt(np.full((7, 2), [0.1, 0.2]), np.full((7, 2), [0.3, 0.4]))) == 0
