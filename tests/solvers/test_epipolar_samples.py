"""The essential matrices of five matches, and the fundamental matrices of seven."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.geometry import apply_transform
from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)
SIZES = {essential_5pt: 5, fundamental_7pt: 7}


@pytest.mark.parametrize(("solve", "least"), [(essential_5pt, 993), (fundamental_7pt, 998)])
def test_the_truth_is_among_the_models(solve, least):
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        data, R, t = reference.random_scene(rng, SIZES[solve])
        found += reference.is_among(reference.cross_matrix(t) @ R, solve(data[:2].T, data[2:].T))
    assert found >= least


@given(seeds)
def test_every_essential_matrix_is_one_and_agrees_with_its_sample(seed):
    data = np.random.default_rng(seed).uniform(-1, 1, (4, 5))
    models = essential_5pt(data[:2].T, data[2:].T)
    assert len(models) <= 10
    x1, x2 = reference.homogeneous(data)
    for E in models:
        size = np.abs(E).max()
        assert np.linalg.norm(E) == pytest.approx(np.sqrt(2))
        assert np.abs(np.einsum("in,ij,jn->n", x2, E, x1)).max() < 1e-7 * size
        trace_constraint = 2 * E @ E.T @ E - np.trace(E @ E.T) * E
        # The worst root of a random sample has lost half of the digits.
        assert np.abs(trace_constraint).max() < 1e-3


@pytest.mark.parametrize("pixels", [False, True])
@given(seeds)
def test_every_fundamental_matrix_has_rank_two_and_agrees_with_its_sample(pixels, seed):
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


OPENCV = {
    essential_5pt: lambda x1, x2: cv2.findEssentialMat(x1, x2, np.eye(3))[0],
    fundamental_7pt: lambda x1, x2: cv2.findFundamentalMat(x1, x2, cv2.FM_7POINT)[0],
}


# OpenCV has half of the digits of some samples, and does not find all essential matrices of some.
@pytest.mark.parametrize(
    ("solve", "tolerance", "share", "worst"), [(essential_5pt, 1e-6, 0.97, np.inf), (fundamental_7pt, 1e-4, 0.98, 0.05)]
)
def test_the_models_are_those_of_opencv(solve, tolerance, share, worst):
    rng, n = np.random.default_rng(3), SIZES[solve]
    distances = np.full(300, np.inf)
    for k in range(300):
        data = reference.random_scene(rng, n)[0] if k % 2 else rng.uniform(-1, 1, (4, n))
        x1, x2 = data[:2].T.copy(), data[2:].T.copy()
        models, others = solve(x1, x2), OPENCV[solve](x1, x2)
        others = [] if others is None else others.reshape(-1, 3, 3)
        if len(models) == len(others):
            distances[k] = max(reference.farthest(models, others), reference.farthest(others, models))
    assert np.mean(distances < tolerance) >= share
    assert max(distances) <= worst


@pytest.mark.parametrize("solve", SIZES)
def test_equal_matches_have_no_model(solve):
    n = SIZES[solve]
    assert solve(np.zeros((n, 2)), np.zeros((n, 2))).shape == (0, 3, 3)
    assert solve(np.zeros((n, 2)), np.ones((n, 2))).shape == (0, 3, 3)
    assert solve(np.full((n, 2), [0.1, 0.2]), np.full((n, 2), [0.3, 0.4])).shape == (0, 3, 3)


def seven_of_a_grid(rng):
    """Return seven nodes of a grid (7, 2), not all on a conic."""
    nodes = np.indices((5, 4)).reshape(2, -1).T
    while True:
        x = 40.0 * nodes[rng.choice(len(nodes), 7, replace=False)] + 60.0
        if np.linalg.matrix_rank(np.column_stack([x * x, x[:, 0] * x[:, 1], x, np.ones(7)]) / 200.0**2) == 6:
            return x


def test_seven_matches_of_a_moved_grid_have_the_model_of_a_plane():
    """F = [e2]x H agrees with H for any e2, and then the symmetric part of H^T F is 0."""
    rng, generic = np.random.default_rng(4), 0
    for _ in range(200):
        x1, shift = seven_of_a_grid(rng), rng.integers(-40, 41, 2)
        (F,) = fundamental_7pt(x1, x1 + shift)
        product = np.array([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1]]).T @ F
        np.testing.assert_allclose(product, -product.T, atol=1e-12)
        epipole = np.linalg.svd(F.T)[2][2]
        lines = np.cross(epipole, np.column_stack([x1 + shift, np.ones(7)]))
        lines /= np.linalg.norm(lines, axis=1, keepdims=True)
        generic += (np.abs(lines @ lines.T) > 1 - 1e-9).sum() == 7  # the epipole is on no line through two points
    assert generic >= 190


def test_the_models_of_a_noise_free_plane_agree_with_it():
    rng, found = np.random.default_rng(5), 0
    for _ in range(300):
        x1, H = rng.uniform(0, 1000, (7, 2)), np.eye(3) + rng.normal(0, [0.2, 0.2, 100], (3, 3))
        H[2] = rng.normal(0, 2e-4), rng.normal(0, 2e-4), 1
        x2 = apply_transform(H, x1)
        models = fundamental_7pt(x1, x2)
        found += len(models) > 0
        for F in models:
            product = H.T @ F
            np.testing.assert_allclose(product, -product.T, atol=1e-6 * np.abs(product).max())
    assert found >= 290


def test_a_repeated_match_leaves_too_few():
    data, _, _ = reference.random_scene(np.random.default_rng(6), 7)
    data[:, 6] = data[:, 0]
    assert len(fundamental_7pt(data[:2].T, data[2:].T)) == 0


def test_sideways_motion_is_found():
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(200):
        x1 = rng.uniform(-1, 1, (5, 2))
        x2 = x1 + np.outer(1 / rng.uniform(2, 8, 5), [1, 0])
        found += reference.is_among(reference.cross_matrix([1, 0, 0]), essential_5pt(x1, x2))
    assert found >= 190
