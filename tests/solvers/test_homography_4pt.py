"""The homography of four matches against textbook versions, known answers and degenerate input."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.problems.homography import HOMOGRAPHY
from bansac.solvers import homography_4pt as module
from tests.problems.in_loop import solve_sample
from tests.reference import homography as reference

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def solve_four(x1, x2):
    """Return H of four matches, or None."""
    models = solve_sample(HOMOGRAPHY, x1, x2)
    return models.reshape(3, 3) if len(models) else None


@given(seed=st.integers(0, 2**32 - 1))
def test_solve_maps_the_sample_onto_itself_or_rejects_two_sided_samples(seed):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 4, 2))
    H = solve_four(x1, x2)
    assert (H is not None) == reference.one_sided(x1, x2)
    if H is not None:
        assert np.linalg.norm(H) == pytest.approx(1.0)
        np.testing.assert_allclose(reference.unit(H), reference.dlt(x1, x2, np.ones(4)), atol=1e-6)


def test_the_homography_is_that_of_opencv_or_none_if_its_depths_have_both_signs():
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(1000):
        x1, x2 = rng.uniform(-1.0, 1.0, (2, 4, 2)).astype(np.float32)  # what OpenCV takes
        H, expected = solve_four(x1, x2), cv2.getPerspectiveTransform(x1, x2)
        depth = np.column_stack([x1, np.ones(4)]) @ expected[2]
        assert (H is not None) == ((depth > 0).all() or (depth < 0).all())
        if H is not None:
            found += 1
            np.testing.assert_allclose(reference.unit(H), reference.unit(expected), atol=1e-5)
    assert found > 100


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


@pytest.mark.parametrize("image", [0, 1])
def test_collinear_means_an_area_below_a_share_of_the_squared_distances(image):
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.uniform(-1.0, 1.0, (4, 2)) - 3.0 * SQUARE
        x[2] = x[1] + rng.uniform(0.5, 0.9) * (x[3] - x[1])
        first, second, third = x[:3] - x[3]
        normal = np.array([-second[1], second[0]]) / (second @ second)
        limit = module._COLLINEAR * (first @ first + second @ second + third @ third)
        for factor in (0.9, 1.1):
            both = [x.copy(), x.copy()]
            both[image][2] += factor * limit * normal
            both[1 - image][2] += 3.0 * limit * normal
            assert (solve_four(*both) is None) == (factor < 1.0)
