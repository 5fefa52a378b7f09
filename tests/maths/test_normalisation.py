"""Normalised coordinates of two images, and the scale and sign of matrices."""

import numpy as np
import pytest

from bansac.maths.normalisation import (
    apply_inverse,
    canonical_fundamental,
    canonical_homography,
    denormalise_fundamental,
    denormalise_homography,
    normalise,
)
from tests.reference import homography as reference


def test_normalise_keeps_points_that_all_coincide_finite():
    data, transform = np.full((4, 5), 7.0), np.empty(9)
    normalise(data, transform)
    assert (data == 0.0).all()
    assert transform[0] == 1.0


def test_canonical_sign_and_scale():
    model = np.diag([-2.0, -2.0, -1.0]).ravel()
    canonical_homography(model)
    np.testing.assert_array_equal(model, np.diag([2.0, 2.0, 1.0]).ravel())
    to_infinity = np.array([[0.0, 1.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 1.0, 1e-14]])
    for H in (to_infinity, -to_infinity):
        model = H.ravel().copy()
        canonical_homography(model)
        np.testing.assert_allclose(model, reference.unit(H).ravel(), rtol=1e-15)
    zero = np.zeros(9)
    canonical_homography(zero)
    assert (zero == 0.0).all()


def test_canonical_sign_does_not_hang_on_rounding():
    for epsilon in (1e-15, -1e-15):
        F = np.array([[0, -1 - epsilon, 0.4], [1, 0, 0], [-0.4, 0, 0]])
        for sign in (1, -1):
            model = sign * F.ravel()
            canonical_fundamental(model)
            assert model[1] > 0
    zero = np.zeros(9)
    canonical_fundamental(zero)
    assert (zero == 0).all()


def test_normalise_is_a_loop_that_adds_in_order():
    data = np.random.default_rng(1).uniform(-500.0, 1500.0, (4, 200))
    expected, transform = data.copy(), np.empty(9)
    means, square = [], 0.0
    for row in expected:
        total = 0.0
        for i in range(200):
            total += row[i]
        means.append(total / 200)
        for i in range(200):
            row[i] -= means[-1]
            square += row[i] * row[i]
    expected *= np.sqrt(800 / square)
    normalise(data, transform)
    assert transform[0] == np.sqrt(800 / square)
    np.testing.assert_array_equal(transform[1:5], means)
    np.testing.assert_array_equal(data, expected)


@pytest.mark.parametrize("far", [1, 10])
def test_far_points_do_not_change_the_frame(far):
    data = np.random.default_rng(0).uniform(0, 500, (4, 100))
    near, transform, expected = data[:, far:].copy(), np.empty(5), np.empty(5)
    data[:2, :far] = 1e7
    data[2:, :far] = -1e5
    normalise(data, transform)
    normalise(near, expected)
    np.testing.assert_allclose(transform, expected, rtol=1e-14)
    np.testing.assert_allclose(data[:, far:], near, atol=1e-13)


def test_matrices_return_to_the_frames_of_the_images():
    rng = np.random.default_rng(2)
    data, transform = rng.uniform([[0], [100], [-300], [50]], [[500], [300], [80], [70]], (4, 20)), np.empty(5)
    normalise(data, transform)
    scale, x1, y1, x2, y2 = transform
    A, B = (np.array([[scale, 0, -scale * x], [0, scale, -scale * y], [0, 0, 1]]) for x, y in ((x1, y1), (x2, y2)))
    M = rng.normal(size=(3, 3))
    for function, expected in (
        (denormalise_homography, np.linalg.inv(B) @ M @ A),
        (denormalise_fundamental, B.T @ M @ A),
    ):
        model = M.ravel().copy()
        function(model, transform)
        np.testing.assert_allclose(reference.unit(model.reshape(3, 3)), reference.unit(expected), atol=1e-12)
        apply_inverse(function, model, transform)
        np.testing.assert_allclose(reference.unit(model.reshape(3, 3)), reference.unit(M), atol=1e-9)
