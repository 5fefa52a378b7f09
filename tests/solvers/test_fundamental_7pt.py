"""The fundamental matrices of seven matches."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.solvers import fundamental_7pt as module
from bansac.solvers.fundamental_7pt import SCRATCH, fundamental_7pt
from tests.reference import epipolar as reference

solve = kernel(module.solve)
seeds = st.integers(0, 2**32)


def solve_seven(data):
    models, scratch = np.empty((3, 9)), np.empty(SCRATCH)
    count = solve(data, np.arange(7), models, scratch)
    return models[:count].reshape(count, 3, 3)


def test_seven_points_give_the_truth_among_the_models():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        data, R, t = reference.random_scene(rng, 7)
        models = solve_seven(data)
        found += any(reference.distance_up_to_scale(F, reference.cross_matrix(t) @ R) < 1e-6 for F in models)
    assert found >= 998


@given(seeds)
def test_every_model_has_rank_two_and_agrees_with_its_sample(seed):
    data = np.random.default_rng(seed).uniform(-1, 1, (4, 7))
    models = solve_seven(data)
    assert len(models) in (1, 3)
    for F in models:
        assert np.linalg.norm(F) == pytest.approx(1)
        singular_values = np.linalg.svd(F)[1]
        assert singular_values[2] < 1e-7
        x1, x2 = reference.homogeneous(data)
        assert np.abs(np.einsum("in,ij,jn->n", x2, F, x1)).max() < 1e-7


def test_a_degenerate_sample_has_no_model():
    assert len(solve_seven(np.zeros((4, 7)))) == 0
    same = np.tile(np.array([[0.1], [0.2], [0.3], [0.4]]), (1, 7))
    assert len(solve_seven(same)) == 0


@given(seeds)
def test_fundamental_7pt_gives_the_models_of_pixels(seed):
    data, _, _ = reference.random_scene(np.random.default_rng(seed), 7)
    pixels = 800 * data + 500
    models = fundamental_7pt(pixels[:2].T, pixels[2:].T)
    assert len(models) in (1, 3)
    for F in models:
        assert np.linalg.norm(F) == pytest.approx(1)
        assert np.linalg.svd(F)[1][2] < 1e-7
        assert np.sqrt(reference.sampson(pixels, F)).max() < 1e-3


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


def test_fundamental_7pt_has_no_model_of_a_degenerate_sample():
    assert fundamental_7pt(np.zeros((7, 2)), np.ones((7, 2))).shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("x1", "x2", "message"),
    [
        (np.zeros((6, 2)), np.zeros((7, 2)), r"x1 must have shape \(7, 2\), got \(6, 2\)"),
        (np.zeros((7, 2)), np.zeros((7, 3)), r"x2 must have shape \(7, 2\), got \(7, 3\)"),
        (np.full((7, 2), np.nan), np.zeros((7, 2)), "x1 must be finite"),
    ],
)
def test_fundamental_7pt_names_the_bad_argument(x1, x2, message):
    with pytest.raises(ValueError, match=message):
        fundamental_7pt(x1, x2)
