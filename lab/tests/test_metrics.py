"""Error measures against answers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.geometry import rotation_matrix
from bansac_lab.metrics import (
    accuracies,
    auc,
    corner_distance,
    corner_error,
    pose_error,
    rotation_error,
    translation_error,
    visible_area_error,
)

I3 = np.eye(3)
SIZE = (3, 5)  # corners (0, 0), (4, 0), (4, 2), (0, 2)
POLE = np.array([[1, 0, 0], [0, 1, 0], [-0.25, 0, 1]])  # w = 0 at x = 4


def turned(degrees, axis=2):
    return rotation_matrix(np.radians(degrees) * I3[axis])


@pytest.mark.parametrize("degrees", [0.0, 1e-9, 1e-4, 30.0, 90.0, 179.0, 179.9999999, 180.0])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rotation_error_is_the_angle_of_turn(degrees, axis):
    start = turned(40, axis=1) @ turned(-70, axis=0)
    assert rotation_error(turned(degrees, axis) @ start, start) == pytest.approx(degrees, abs=1e-12, rel=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_rotation_error_is_symmetric_and_bounded(seed):
    A, B = (np.linalg.qr(m)[0] for m in np.random.default_rng(seed).normal(size=(2, 3, 3)))
    A, B = A * np.linalg.det(A), B * np.linalg.det(B)
    forth, back = rotation_error(A, B), rotation_error(B, A)
    assert forth == pytest.approx(back, abs=1e-9)
    assert 0 <= forth <= 180
    cosine = np.clip((np.trace(A @ B.T) - 1) / 2, -1, 1)
    assert np.cos(np.radians(forth)) == pytest.approx(cosine, abs=1e-12)


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        ([1, 0, 0], 0.0),
        ([-5, 0, 0], 0.0),
        ([0, 2, 0], 90.0),
        ([1, 1, 0], 45.0),
        ([-1, 1, 0], 45.0),
        ([np.sqrt(3), 0, 1], 30.0),
        ([1e-200, 1e-200, 0], 45.0),
        ([1e200, 1e200, 0], 45.0),
        ([1, 1e-10, 0], np.degrees(1e-10)),
        ([[1], [1], [0]], 45.0),
    ],
)
def test_translation_error_ignores_sign_and_length(t, expected):
    assert translation_error(t, [3, 0, 0]) == pytest.approx(expected, abs=1e-12)


def test_pose_error_is_the_larger_of_both():
    assert pose_error(turned(10), [1, 1, 0], I3, [1, 0, 0]) == pytest.approx(45)
    assert pose_error(turned(60), [1, 1, 0], I3, [1, 0, 0]) == pytest.approx(60)


@pytest.mark.parametrize("bad", [None, np.full((3, 3), np.nan), np.diag([1, 1, np.inf])])
def test_a_missing_or_broken_rotation_counts_180(bad):
    assert rotation_error(bad, I3) == 180
    assert pose_error(bad, [1, 0, 0], I3, [1, 0, 0]) == 180


@pytest.mark.parametrize("bad", [None, [np.nan, 0, 1], [np.inf, 0, 0], [0, 0, 0]])
def test_a_missing_or_broken_translation_counts_180(bad):
    assert translation_error(bad, [1, 0, 0]) == 180
    assert pose_error(I3, bad, I3, [1, 0, 0]) == 180


@pytest.mark.parametrize(
    ("H", "expected"),
    [
        ([[1, 0, 3], [0, 1, -4], [0, 0, 1]], 5),  # the length of a shift
        (np.diag([2, 1, 1]), 2),  # (x, y) -> (2x, y): the corners move by 0, 4, 4 and 0
        # w = 1 + x / 4: (4, 0) -> (2, 0) and (4, 2) -> (2, 1), so the corners move by 0, 2, sqrt(5) and 0.
        ([[1, 0, 0], [0, 1, 0], [0.25, 0, 1]], (2 + np.sqrt(5)) / 4),
        (None, np.inf),
        (np.full((3, 3), np.nan), np.inf),
        (np.zeros((3, 3)), np.inf),
        (POLE, np.inf),
    ],
)
def test_corner_error_is_the_mean_distance_and_that_of_a_failure_infinite(H, expected):
    assert corner_error(H, I3, SIZE) == pytest.approx(expected, rel=1e-15)


def test_corner_error_ignores_the_scale_of_both():
    H = np.array([[1, 0.1, 3], [0, 1, -4], [0.001, 0, 1]])
    assert corner_error(-1e-150 * H, 1e150 * I3, SIZE) == pytest.approx(corner_error(H, I3, SIZE))


def shift(x, y):
    """Return the homography of a shift."""
    return np.array([[1.0, 0, x], [0, 1, y], [0, 0, 1]])


@pytest.mark.parametrize(
    ("H", "H_gt", "size1", "size2", "step", "expected"),
    [
        (shift(3, -4), I3, (30, 50), (30, 50), 1, 5),  # the length of a shift
        (shift(3, -4), I3, (30, 50), (30, 50), 7, 5),
        # Image 2 sees the columns 0 to 4 of 10, at 5 to 9. (x, y) -> (2x + 5, y) moves them by 0, 1, 2, 3, 4; all ten
        # columns would give 4.5.
        ([[2, 0, 5], [0, 1, 0], [0, 0, 1]], shift(5, 0), (4, 10), (4, 10), 1, 2),
        (np.diag([2, 1, 1]), I3, (4, 10), (4, 3), 1, 1),  # a smaller image 2 sees columns 0 to 2
        (np.diag([1, 3, 1]), I3, (4, 10), (3, 10), 1, 2),  # a lower one sees rows 0 to 2, of (x, y) -> (x, 3y)
        # x = 0, 1, 2 are mapped to -0.5, 0.5, 1.5, which image 2 of three columns sees, because whole pixels count;
        # 2.5, of x = 3, it does not. (x, y) -> (2x - 0.5, y) moves them by 0, 1, 2.
        ([[2, 0, -0.5], [0, 1, 0], [0, 0, 1]], shift(-0.5, 0), (1, 9), (1, 3), 1, 1),
        # Every third pixel: rows 0 and 3 of 5, (x, y) -> (x, 2y), have distances 0 and 3; columns 0, 3, 6 and 9 of 11.
        (np.diag([1, 2, 1]), I3, (5, 11), (5, 11), 3, 1.5),
        (np.diag([2, 1, 1]), I3, (5, 11), (5, 11), 3, 4.5),
        *((bad, I3, SIZE, SIZE, 1, np.inf) for bad in (None, np.full((3, 3), np.nan), np.diag([1, np.inf, 1]))),
        (np.zeros((3, 3)), I3, SIZE, SIZE, 1, np.inf),
        (POLE, I3, SIZE, SIZE, 1, np.inf),
        (POLE, POLE, SIZE, SIZE, 1, 0),  # image 2 does not see what is at infinity
    ],
)
def test_visible_area_error_is_the_mean_distance_of_the_pixels_that_image_2_sees(H, H_gt, size1, size2, step, expected):
    assert visible_area_error(H, H_gt, size1, size2, step=step) == expected


def test_visible_area_error_is_finite_if_image_2_does_not_see_the_pole():
    assert visible_area_error(POLE, I3, SIZE, (3, 4)) < np.inf


def test_visible_area_error_agrees_with_a_plain_loop():
    H_gt = np.array([[1.1, 0.1, -3], [-0.1, 0.9, 4], [0.002, -0.001, 1]])
    H = H_gt + np.array([[0, 0.01, 1], [0, 0, 0.5], [0, 1e-4, 0]])
    distances = []
    for y in range(20):
        for x in range(30):
            u, v, w = H_gt @ [x, y, 1]
            if -0.5 <= u / w < 24.5 and -0.5 <= v / w < 17.5:
                a, b, c = H @ [x, y, 1]
                distances.append(np.hypot(u / w - a / c, v / w - b / c))
    assert 50 < len(distances) < 550
    assert visible_area_error(-2 * H, 3 * H_gt, (20, 30), (18, 25)) == pytest.approx(np.mean(distances))


def test_mean_average_accuracy_has_thresholds_from_1():
    # Thresholds 1, 2, 3, 4; an error at a threshold is within.
    np.testing.assert_array_equal(accuracies([0.0, 1.0, 2.5, 4.5, np.inf, np.nan], 4, steps=4), [1, 1, 0.5, 0, 0, 0])
    # linspace(1, 5, 100) has 100 - 25 = 75 thresholds of at least 2: 1 + 4 * 24 / 99 < 2 <= 1 + 4 * 25 / 99.
    assert accuracies([2.0], 5) == pytest.approx(0.75)


def test_auc_by_hand():
    # (0, 1/4), (2, 2/4), (6, 3/4), (8, 3/4): areas 2 * 3/8 + 4 * 5/8 + 2 * 6/8 = 4.75, of 8.
    assert auc([6.0, 0.0, 2.0, 100.0], 8) == pytest.approx(4.75 / 8)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 30), min_size=1, max_size=20), st.floats(1, 20))
def test_auc_is_the_integral_of_the_joined_recall(errors, threshold):
    area, last, recall = 0.0, 0.0, 0.0
    for e in sorted(e for e in errors if e < threshold):
        area += (e - last) * (recall + 0.5 / len(errors))
        last, recall = e, recall + 1 / len(errors)
    area += (threshold - last) * recall
    assert auc(errors, threshold) == pytest.approx(area / threshold, abs=1e-12)


def test_auc_counts_nan_and_inf_as_failures():
    assert auc([0.0, np.nan], 5) == auc([0.0, np.inf], 5) == 0.5
    assert auc([180.0, 5.1], 5) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rotation_error(I3, np.full((3, 3), np.nan)), "^R_gt must be finite"),
        (lambda: translation_error([1, 2, 3], [0, 0, 0]), "^t_gt must not be zero"),
        (lambda: corner_error(I3, [[1, 0, 0], [0, 1, 0], [-0.25, 0, 1]], SIZE), "^H_gt sends a corner"),
        (lambda: visible_area_error(I3, np.full((3, 3), np.inf), SIZE, SIZE), "^H_gt must be finite"),
        (lambda: visible_area_error(None, shift(5, 0), SIZE, SIZE), "^H_gt maps no pixel of image 1 into image 2"),
    ],
)
def test_bad_truth_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_distance_of_corners_does_not_depend_on_the_scales_and_is_infinite_at_infinity():
    shift = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 4.0], [0.0, 0.0, 1.0]])
    assert corner_distance(1e200 * shift, -1e-200 * np.eye(3), (480, 640)) == pytest.approx(5)
    horizon = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.25, 0.0, 1.0]])
    assert corner_distance(horizon, np.eye(3), (5, 5)) == corner_distance(np.eye(3), horizon, (5, 5)) == np.inf
