"""The problem of the homography: residuals, and the way to normalised coordinates and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.problems.homography import HOMOGRAPHY
from tests.problems.in_loop import compile_residuals, compile_solve
from tests.reference import homography as reference

solve = compile_solve(HOMOGRAPHY.solve)
residuals = compile_residuals(HOMOGRAPHY.residuals)
seeds = st.integers(0, 2**32 - 1)


def random_homography(rng):
    """Return a homography that is no extreme view of [-1, 1]^2."""
    return np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))


def errors(H, x1, x2, dtype=np.float64):
    """Return squared residuals of all matches."""
    out = np.empty(len(x1), dtype)
    residuals(reference.columns(x1, x2).astype(dtype), H.ravel().astype(dtype), 0, len(x1), out)
    return out


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_residuals_agree_with_the_reference_in_both_precisions(seed):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 50, 2))
    H = random_homography(rng)
    wanted = reference.transfer_error(H, x1, x2)
    np.testing.assert_allclose(errors(H, x1, x2), wanted, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(errors(H, x1, x2, np.float32), wanted, rtol=1e-3, atol=1e-5)


def test_residuals_of_a_block_are_those_of_its_points():
    rng = np.random.default_rng(3)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 50, 2))
    H = random_homography(rng)
    out = np.full(50, -1.0)
    residuals(reference.columns(x1, x2), H.ravel(), 10, 27, out)
    np.testing.assert_array_equal(out[:17], errors(H, x1, x2)[10:27])
    assert (out[17:] == -1.0).all()


def test_residual_is_the_distance_in_the_second_image():
    H = np.diag([2.0, 2.0, 1.0])
    np.testing.assert_allclose(errors(H, np.array([[1.0, 2.0]]), np.array([[5.0, 8.0]])), [25.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_at_infinity_is_no_inlier(dtype):
    H = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    with np.errstate(all="ignore"):
        out = errors(H, np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2)), dtype)
    assert not (out <= 1e30).any()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_normalised_and_back_gives_the_same_homography(offset):
    rng = np.random.default_rng(4)
    x1 = rng.uniform(0.0, 500.0, (20, 2))
    truth = np.array([[1.1, 0.1, 30.0], [-0.1, 0.9, 20.0], [1e-4, 2e-4, 1.0]])
    x2 = reference.apply(truth, x1)
    data = reference.columns(x1 + offset, x2 - offset)
    transform, models = np.empty(9), np.empty((1, 9))
    HOMOGRAPHY.normalize(data, transform)
    np.testing.assert_allclose(data.mean(axis=1), 0.0, atol=1e-9)
    assert (data**2).mean() == pytest.approx(1.0)
    sample = np.array([3, 8, 11, 17])
    assert solve(data, sample, models, np.empty(0)) == 1
    normalised_errors = np.empty(20)
    residuals(data, models[0] * [1, 1, 1.01, 1, 1, 1, 1, 1, 1], 0, 20, normalised_errors)
    moved = models[0] * [1, 1, 1.01, 1, 1, 1, 1, 1, 1]
    HOMOGRAPHY.denormalize(models[0], transform)
    HOMOGRAPHY.denormalize(moved, transform)
    mapped = reference.apply(models[0].reshape(3, 3), x1 + offset)
    np.testing.assert_allclose(mapped, x2 - offset, atol=1e-9 if offset == 0.0 else 1e-4)
    # Distances change by the factor transform[0].
    distances = np.sqrt(reference.transfer_error(moved.reshape(3, 3), x1 + offset, x2 - offset))
    np.testing.assert_allclose(np.sqrt(normalised_errors), transform[0] * distances, rtol=1e-3, atol=1e-6)


def test_defaults():
    assert (HOMOGRAPHY.default_threshold, HOMOGRAPHY.default_max_iterations, HOMOGRAPHY.unit) == (2.0, 50_000, "pixels")
