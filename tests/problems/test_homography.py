"""Homographies against textbook versions, known answers and degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.numeric.jit import fast_kernel, kernel
from bansac.problems import homography
from bansac.problems.homography import HOMOGRAPHY, homography_4pt
from tests.reference import homography as reference

solve = kernel(homography.solve)
residuals = fast_kernel(homography.residuals)
fit = kernel(homography.fit)

seeds = st.integers(0, 2**32 - 1)


def columns(x1, x2):
    """Return matches as channels x N."""
    return np.ascontiguousarray(np.column_stack([x1, x2]).T, dtype=np.float64)


def random_homography(rng):
    """Return a homography that is no extreme view of [-1, 1]^2."""
    return np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))


def solve_four(x1, x2):
    """Return H of four matches, or None."""
    models = np.full((1, 9), np.nan)
    found = solve(columns(x1, x2), np.arange(4), models, np.empty(0))
    return models[0].reshape(3, 3) if found else None


def fit_matches(x1, x2, weights):
    """Return H of weighted matches, or None."""
    model = np.full(9, np.nan)
    found = fit(columns(x1, x2), weights, model, np.empty(HOMOGRAPHY.scratch_size))
    if not found:
        assert np.isnan(model).all()
        return None
    return model.reshape(3, 3)


def errors(H, x1, x2, dtype=np.float64):
    """Return squared residuals of all matches."""
    out = np.empty(len(x1), dtype)
    residuals(columns(x1, x2).astype(dtype), H.ravel().astype(dtype), 0, len(x1), out)
    return out


def test_solve_recovers_the_truth_of_ten_thousand_exact_samples():
    rng = np.random.default_rng(0)
    right = samples = 0
    while samples < 10_000:
        H = np.eye(3) + rng.normal(0.0, 0.4, (3, 3))
        x1 = rng.uniform(-1.0, 1.0, (4, 2))
        depth = np.column_stack([x1, np.ones(4)]) @ H[2]
        if not ((depth > 0).all() or (depth < 0).all()):
            continue
        samples += 1
        found = solve_four(x1, reference.apply(H, x1))
        right += found is not None and np.abs(reference.unit(found) - reference.unit(H)).max() < 1e-6
    assert right >= 9_990


@settings(deadline=None, max_examples=100)
@given(seed=seeds)
def test_solve_maps_the_sample_onto_itself_or_rejects_two_sided_samples(seed):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 4, 2))
    H = solve_four(x1, x2)
    assert (H is not None) == reference.one_sided(x1, x2)
    if H is not None:
        assert np.linalg.norm(H) == pytest.approx(1.0)
        np.testing.assert_allclose(reference.unit(H), reference.dlt(x1, x2, np.ones(4)), atol=1e-6)


@settings(deadline=None, max_examples=30)
@given(seed=seeds, permutation=st.permutations(range(4)))
def test_solve_does_not_depend_on_the_order_of_the_sample(seed, permutation):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 4, 2))
    H, permuted = solve_four(x1, x2), solve_four(x1[permutation], x2[permutation])
    assert (H is None) == (permuted is None)
    if H is not None:
        np.testing.assert_allclose(reference.unit(H), reference.unit(permuted), atol=1e-6)


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("corner", range(4))
@pytest.mark.parametrize("image", [0, 1])
def test_solve_rejects_three_collinear_points_at_any_scale(scale, shift, corner, image):
    flat = SQUARE.copy()
    flat[corner] = 0.3 * flat[corner - 1] + 0.7 * flat[corner - 3]
    x = [scale * (SQUARE + shift), scale * (SQUARE + shift)]
    assert solve_four(*x) is not None
    x[image] = scale * (flat + shift)
    assert solve_four(*x) is None


def test_solve_rejects_coincident_points_and_not_a_number():
    assert solve_four(SQUARE[[0, 1, 2, 0]], SQUARE) is None
    assert solve_four(np.zeros((4, 2)), np.zeros((4, 2))) is None
    assert solve_four(np.full((4, 2), np.nan), SQUARE) is None


def test_solve_accepts_a_mirrored_view_and_rejects_a_twisted_one():
    H = solve_four(SQUARE, SQUARE * [-1.0, 1.0])
    np.testing.assert_allclose(H / H[2, 2], np.diag([-1.0, 1.0, 1.0]), atol=1e-12)
    assert solve_four(SQUARE, SQUARE[[1, 0, 2, 3]]) is None  # the bow tie


def test_solve_rejects_what_only_the_third_pairing_tells():
    # A point inside the triangle of the others goes outside; the pairings (12|34) and (34|12) alone may miss it.
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    for place in ([3.0, 3.0], [-2.0, 1.0], [1.0, -2.0], [-1.0, -1.0]):
        outside = np.vstack([triangle[:3], place])
        for turn in range(4):
            assert solve_four(np.roll(triangle, turn, axis=0), np.roll(outside, turn, axis=0)) is None


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
    residuals(columns(x1, x2), H.ravel(), 10, 27, out)
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


@settings(deadline=None, max_examples=30)
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


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_normalised_and_back_gives_the_same_homography(offset):
    rng = np.random.default_rng(4)
    x1 = rng.uniform(0.0, 500.0, (20, 2))
    truth = np.array([[1.1, 0.1, 30.0], [-0.1, 0.9, 20.0], [1e-4, 2e-4, 1.0]])
    x2 = reference.apply(truth, x1)
    data = columns(x1 + offset, x2 - offset)
    transform, models = np.empty(9), np.empty((1, 9))
    homography.normalize(data, transform)
    np.testing.assert_allclose(data.mean(axis=1), 0.0, atol=1e-9)
    assert (data**2).mean() == pytest.approx(1.0)
    sample = np.array([3, 8, 11, 17])
    assert solve(data, sample, models, np.empty(0)) == 1
    normalised_errors = np.empty(20)
    residuals(data, models[0] * [1, 1, 1.01, 1, 1, 1, 1, 1, 1], 0, 20, normalised_errors)
    moved = models[0] * [1, 1, 1.01, 1, 1, 1, 1, 1, 1]
    homography.denormalize(models[0], transform)
    homography.denormalize(moved, transform)
    mapped = reference.apply(models[0].reshape(3, 3), x1 + offset)
    np.testing.assert_allclose(mapped, x2 - offset, atol=1e-9 if offset == 0.0 else 1e-4)
    # Distances change by the factor transform[0].
    distances = np.sqrt(reference.transfer_error(moved.reshape(3, 3), x1 + offset, x2 - offset))
    np.testing.assert_allclose(np.sqrt(normalised_errors), transform[0] * distances, rtol=1e-3, atol=1e-6)


def test_normalise_keeps_points_that_all_coincide_finite():
    data, transform = np.full((4, 5), 7.0), np.empty(9)
    homography.normalize(data, transform)
    assert (data == 0.0).all()
    assert transform[0] == 1.0


def test_canonical_sign_and_scale():
    for H in (np.diag([-2.0, -2.0, -1.0]), np.array([[0.0, 1.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 1.0, 1e-14]])):
        model = H.ravel().copy()
        homography.canonical(model)
        np.testing.assert_allclose(model, reference.unit(H).ravel(), rtol=1e-15)
    zero = np.zeros(9)
    homography.canonical(zero)
    assert (zero == 0.0).all()


def test_homography_4pt_at_a_distance_of_a_million():
    x1 = SQUARE * 500.0 + 1e6
    H = homography_4pt(x1, 2.0 * x1)
    np.testing.assert_allclose(reference.apply(H, x1), 2.0 * x1, rtol=1e-12)
    assert homography_4pt(np.zeros((4, 2)), SQUARE) is None


@pytest.mark.parametrize(
    ("x1", "x2", "message"),
    [
        (SQUARE[:3], SQUARE, r"x1 must have shape \(4, 2\), got \(3, 2\)"),
        (SQUARE, np.zeros((4, 3)), r"x2 must have shape \(4, 2\), got \(4, 3\)"),
        (SQUARE, SQUARE * np.nan, "x2 must be finite"),
    ],
)
def test_homography_4pt_names_the_bad_argument(x1, x2, message):
    with pytest.raises(ValueError, match=message):
        homography_4pt(x1, x2)


def test_problem_compiles():
    assert HOMOGRAPHY.model_size == 9
    assert HOMOGRAPHY.kernels is HOMOGRAPHY.kernels
    out = np.empty(1)
    HOMOGRAPHY.exact_residuals(np.ones((4, 1)), np.eye(3).ravel(), 0, 1, out)
    assert out[0] == 0.0
