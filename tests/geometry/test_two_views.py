"""Geometry of one and two views against its definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.geometry import (
    apply_transform,
    cross_matrix,
    decompose_essential,
    decompose_homography,
    essential_from_pose,
    focals_from_fundamental,
    homogeneous,
    normalise_points,
    recover_pose,
    rotation_matrix,
)
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_cross_matrix_is_the_cross_product(seed):
    t, v = np.random.default_rng(seed).normal(size=(2, 3))
    np.testing.assert_allclose(cross_matrix(t) @ v, np.cross(t, v), atol=1e-12)
    np.testing.assert_array_equal(cross_matrix(t), -cross_matrix(t).T)


@given(seeds)
def test_transform_divides_by_the_third_coordinate_and_has_an_inverse(seed):
    rng = np.random.default_rng(seed)
    H = np.eye(3) + rng.uniform(-0.1, 0.1, (3, 3))
    x = rng.uniform(-1, 1, (20, 2))
    for mapped, (u, v) in zip(apply_transform(H, x), x, strict=True):
        a, b, c = H @ [u, v, 1]
        np.testing.assert_allclose(mapped, [a / c, b / c], rtol=1e-12)
    np.testing.assert_allclose(apply_transform(np.linalg.inv(H), apply_transform(H, x)), x, atol=1e-9)
    np.testing.assert_array_equal(apply_transform(H, homogeneous(x)), apply_transform(H, x))
    with np.errstate(divide="ignore"):
        assert np.isinf(apply_transform(np.diag([1.0, 1.0, 0.0]), np.ones((1, 2)))).all()
    K = np.array([[rng.uniform(300, 900), rng.uniform(-2, 2), 320], [0, rng.uniform(300, 900), 240], [0, 0, 1]])
    np.testing.assert_allclose(apply_transform(K, normalise_points(K, x)), x, atol=1e-9)


@given(seeds)
def test_rotation_turns_about_its_axis_by_its_length(seed):
    rng = np.random.default_rng(seed)
    axis, angle = rng.normal(size=3), rng.uniform(0.1, 3)
    axis /= np.linalg.norm(axis)
    R = rotation_matrix(angle * axis)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1)
    np.testing.assert_allclose(R @ axis, axis, atol=1e-12)
    across = np.cross(axis, rng.normal(size=3))
    assert across @ R @ across / (across @ across) == pytest.approx(np.cos(angle))
    assert np.cross(across, R @ across) @ axis / (across @ across) == pytest.approx(np.sin(angle))


@given(seeds)
def test_decomposition_gives_back_the_motion(seed):
    rng = np.random.default_rng(seed)
    _, R, t = reference.random_scene(rng, 1)
    E = reference.cross_matrix(t) @ R
    R1, R2, direction = decompose_essential(rng.choice([-2.0, 0.5]) * E)
    assert min(np.abs(R1 - R).max(), np.abs(R2 - R).max()) < 1e-9
    assert abs(direction @ t) == pytest.approx(1)
    for rotation in (R1, R2):
        assert np.linalg.det(rotation) == pytest.approx(1)
        assert reference.distance_up_to_scale(reference.cross_matrix(direction) @ rotation, E) < 1e-9


@given(seeds)
def test_pose_with_all_points_in_front_is_chosen(seed):
    rng = np.random.default_rng(seed)
    data, R, t = reference.random_scene(rng, 30)
    inliers = np.ones(30, np.bool_)
    inliers[:12] = False
    data[:, :12] = rng.uniform(-1, 1, (4, 12))
    E = essential_from_pose(R, t)
    assert pytest.approx(reference.cross_matrix(t) @ R) == E
    found_R, found_t, in_front = recover_pose(E, data[:2].T, data[2:].T, inliers)
    np.testing.assert_array_equal(in_front, inliers)
    assert found_R == pytest.approx(R, abs=1e-9)
    assert found_t == pytest.approx(t, abs=1e-9)


E, CENTRE = np.diag([1.0, 1.0, 0.0]), (0.0, 0.0)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (decompose_essential, (np.eye(2),), r"E must have shape \(3, 3\)"),
        (decompose_essential, (np.full((3, 3), np.nan),), "E must be finite"),
        (recover_pose, (E, np.zeros((4, 3)), np.zeros((4, 2))), r"x1 must have shape \(N, 2\), got \(4, 3\)"),
        (recover_pose, (E, np.zeros((4, 2)), np.zeros((5, 2))), r"x2 must have shape \(4, 2\), got \(5, 2\)"),
        (recover_pose, (E, np.zeros((4, 2)), np.zeros((4, 2)), [True]), r"inliers must have shape \(4,\), got \(1,\)"),
        (decompose_homography, (np.eye(2),), "^H must have shape"),
        (decompose_homography, (np.full((3, 3), np.nan),), "^H must .*finite"),
        (decompose_homography, (E,), "^H must .*rank 3"),
        (focals_from_fundamental, (np.full((3, 3), np.inf), CENTRE, CENTRE), "F must be finite"),
        (focals_from_fundamental, (np.eye(3), (0, 0, 0), CENTRE), r"center1 must have shape \(2,\)"),
        (focals_from_fundamental, (np.eye(3), CENTRE, (np.nan, 0)), "center2 must be finite"),
    ],
)
def test_invalid_arguments_are_named(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


@given(seeds)
def test_the_motions_of_a_homography_are_four_and_one_is_right(seed):
    rng = np.random.default_rng(seed)
    R = rotation_matrix(rng.normal(size=3))
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    t = rng.normal(size=3) * rng.uniform(0.05, 0.5)
    H = R + np.outer(t, n)
    if np.linalg.det(H) < 0.05:  # the cameras are on different sides of the plane, or one is on it
        return
    solutions = decompose_homography(rng.uniform(0.1, 10) * H)
    assert len(solutions) == 4
    assert min(np.abs(S - R).max() + np.abs(s - t).max() + np.abs(m - n).max() for S, s, m in solutions) < 1e-6
    for S, s, m in solutions:
        np.testing.assert_allclose(S @ S.T, np.eye(3), atol=1e-8)
        assert np.linalg.det(S) == pytest.approx(1)
        np.testing.assert_allclose(S + np.outer(s, m), H, atol=1e-7)


def test_the_homography_of_a_rotation_has_one_motion():
    R = rotation_matrix([0.1, -0.2, 0.3])
    ((found, t, n),) = decompose_homography(3 * R)
    np.testing.assert_allclose(found, R, atol=1e-12)
    assert (t == 0).all()
    assert np.linalg.norm(n) == pytest.approx(1)


def fundamental(f1, f2, center1, center2, R, t):
    K1, K2 = (np.array([[f, 0, x], [0, f, y], [0, 0, 1.0]]) for f, (x, y) in ((f1, center1), (f2, center2)))
    return np.linalg.inv(K2).T @ essential_from_pose(R, t) @ np.linalg.inv(K1)


def general_cameras(seed):
    """Return two cameras whose optical axes do not meet."""
    rng = np.random.default_rng(seed)
    R = rotation_matrix(rng.uniform(0.2, 0.6, 3) * rng.choice([-1, 1], 3))
    centers = rng.uniform(200, 800, (2, 2))
    while True:
        t = rng.normal(size=3)
        if abs(essential_from_pose(R, t / np.linalg.norm(t))[2, 2]) > 0.05:
            return (*rng.uniform(300, 2000, 2), *centers, R, t)


@given(seeds, st.floats(-1e3, 1e3).filter(lambda scale: abs(scale) > 1e-3))
def test_focal_lengths_are_those_of_the_cameras(seed, scale):
    f1, f2, center1, center2, R, t = general_cameras(seed)
    found = focals_from_fundamental(scale * fundamental(f1, f2, center1, center2, R, t), center1, center2)
    assert found == pytest.approx((f1, f2), rel=1e-6)


# Motions of cameras whose axes meet.
MEETING_AXES = [
    (rotation_matrix([0, 0.3, 0]), (np.eye(3) - rotation_matrix([0, 0.3, 0])) @ [0, 0, 5.0]),  # at (0, 0, 5)
    (np.eye(3), [1.0, 0.0, 0.0]),  # parallel
    (np.eye(3), [0.0, 0.0, 1.0]),  # the same
]


@pytest.mark.parametrize(("R", "t"), MEETING_AXES)
def test_axes_that_meet_leave_the_focal_lengths_open(R, t):
    F = fundamental(700.0, 900.0, (0, 0), (0, 0), R, t)
    assert np.isnan(focals_from_fundamental(F, (0, 0), (0, 0))).all()


def test_a_matrix_of_no_two_cameras_has_no_focal_lengths():
    # With F[2, 2] of the other sign the square of the first focal length changes its sign, principal points at 0.
    f1, f2, _, _, R, t = general_cameras(0)
    F = fundamental(f1, f2, (0, 0), (0, 0), R, t)
    assert focals_from_fundamental(F, (0, 0), (0, 0)) == pytest.approx((f1, f2))
    F[2, 2] = -F[2, 2]
    assert np.isnan(focals_from_fundamental(F, (0, 0), (0, 0))).all()
