"""The linear fit of a homography against a reference by QR and SVD."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.solvers import homography_dlt as module
from bansac.solvers.homography_dlt import SCRATCH, homography_dlt
from tests.reference import homography as reference

fit = kernel(module.fit)
seeds = st.integers(0, 2**32 - 1)


def fit_matches(x1, x2, weights):
    """Return H of weighted matches, or None."""
    data, model = np.ascontiguousarray(np.column_stack([x1, x2]).T), np.full(9, np.nan)
    found = fit(data, weights, model, np.empty(SCRATCH))
    if not found:
        assert np.isnan(model).all()
        return None
    return model.reshape(3, 3)


@given(seed=seeds, n=st.integers(5, 40))
def test_fit_is_the_reference_s_least_squares(seed, n):
    rng = np.random.default_rng(seed)
    x1 = rng.uniform(0.0, 500.0, (n, 2))
    scale = np.diag([500.0, 500.0, 1.0])
    x2 = reference.apply(scale @ (np.eye(3) + rng.uniform(-0.1, 0.1, (3, 3))) @ np.linalg.inv(scale), x1)
    x2 += rng.normal(0.0, 0.5, (n, 2))
    weights = rng.uniform(0.1, 1.0, n)
    H, wanted = fit_matches(x1, x2, weights), reference.dlt(x1, x2, weights)
    np.testing.assert_allclose(reference.apply(H, x1), reference.apply(wanted, x1), atol=1e-4)


def test_fit_ignores_matches_of_weight_zero_and_survives_an_offset():
    rng = np.random.default_rng(1)
    x1 = rng.uniform(0.0, 500.0, (30, 2))
    x2 = 1.5 * x1 @ np.array([[0.8, 0.6], [-0.6, 0.8]]) + [3.0, 4.0]
    x2[20:] += 100.0
    weights = np.where(np.arange(30) < 20, 1.0, 0.0)
    H = fit_matches(x1, x2, weights)
    np.testing.assert_allclose(reference.apply(H, x1[:20]), x2[:20], atol=1e-8)
    H = fit_matches(x1 + 1e6, x2 + 1e6, weights)
    np.testing.assert_allclose(reference.apply(H, x1[:20] + 1e6), x2[:20] + 1e6, atol=1e-4)


def test_fit_leaves_the_model_alone_where_it_is_not_determined():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 1.0, (20, 2))
    line = np.outer(np.linspace(0.0, 1.0, 20), [1.0, 2.0]) + 3.0
    with_one_off = np.vstack([line[:-1], [0.0, 0.0]])
    three = np.where(np.arange(20) < 3, 1.0, 0.0)
    for x1, x2, weights in (
        (x, x, np.zeros(20)),
        (x, x, three),
        (np.ones((20, 2)), x, np.ones(20)),
        (line, line, np.ones(20)),
        (with_one_off, with_one_off, np.ones(20)),
    ):
        assert fit_matches(x1, x2, weights) is None


def test_fit_has_a_positive_mean_depth_beyond_the_horizon_of_the_origin():
    H = np.array([[1, 0.1, 0], [0, 1.2, 0.3], [0, 2.0, -1]])  # the depth is positive for y > 0.5
    x1 = np.random.default_rng(0).uniform([-1, 0.8], [1, 2], (20, 2))
    found = fit_matches(x1, reference.apply(H, x1), np.ones(20))
    np.testing.assert_allclose(found / np.linalg.norm(found), H / np.linalg.norm(H), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_homography_dlt_agrees_with_the_kernel_and_survives_an_offset(offset):
    rng = np.random.default_rng(7)
    x1 = rng.uniform(0.0, 500.0, (30, 2))
    truth = np.array([[1.1, 0.1, 30.0], [-0.1, 0.9, 20.0], [1e-4, 2e-4, 1.0]])
    x2 = reference.apply(truth, x1) + rng.normal(0.0, 0.5, (30, 2))
    H = homography_dlt(x1 + offset, x2 - offset)
    assert H[2, 2] == 1.0
    mapped = reference.apply(fit_matches(x1, x2, np.ones(30)), x1) - offset
    np.testing.assert_allclose(reference.apply(H, x1 + offset), mapped, atol=1e-8 if offset == 0.0 else 1e-4)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_homography_dlt_is_that_of_opencv_but_for_the_noise(noise):
    # OpenCV goes on to the least transfer error, which no other homography can have.
    rng = np.random.default_rng(9)
    for _ in range(50):
        n = int(rng.integers(8, 40))
        x1 = rng.uniform(0.0, 500.0, (n, 2))
        truth = np.array([[1.1, 0.1, 30.0], [-0.1, 0.9, 20.0], [1e-4, 2e-4, 1.0]]) + rng.uniform(-5e-5, 5e-5, (3, 3))
        x2 = reference.apply(truth, x1) + rng.normal(0.0, noise, (n, 2))
        H, best = homography_dlt(x1, x2), cv2.findHomography(x1, x2, 0)[0]
        np.testing.assert_allclose(reference.apply(H, x1), reference.apply(best, x1), atol=1e-3 + 0.2 * noise)
        if noise:
            ratio = reference.transfer_error(H, x1, x2).sum() / reference.transfer_error(best, x1, x2).sum()
            assert 1 - 1e-6 < ratio < 1.01


def test_homography_dlt_declines_three_matches():
    rng = np.random.default_rng(8)
    x1, x2 = rng.uniform(0.0, 1.0, (2, 9, 2))
    assert homography_dlt(x1[:3], x2[:3]) is None
    assert homography_dlt(x1[:0], x2[:0]) is None
