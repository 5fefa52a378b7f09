"""The motions of an essential matrix, and the choice of the one with the points in front of both cameras."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.geometry import decompose_essential, recover_pose
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)


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
    found_R, found_t, in_front = recover_pose(reference.cross_matrix(t) @ R, data[:2].T, data[2:].T, inliers)
    assert in_front == 18
    assert found_R == pytest.approx(R, abs=1e-9)
    assert found_t == pytest.approx(t, abs=1e-9)


@pytest.mark.parametrize("bad", [np.eye(2), np.full((3, 3), np.nan)])
def test_decomposition_refuses_what_is_no_matrix(bad):
    with pytest.raises(ValueError, match="E must be a finite 3 x 3 matrix"):
        decompose_essential(bad)


@pytest.mark.parametrize(
    ("x1", "x2", "inliers", "message"),
    [
        (np.zeros((4, 3)), np.zeros((4, 2)), None, r"x1 must have shape \(N, 2\), got \(4, 3\)"),
        (np.zeros((4, 2)), np.zeros((5, 2)), None, r"x2 must have the shape of x1, \(4, 2\), got \(5, 2\)"),
        (np.zeros((4, 2)), np.zeros((4, 2)), [True], r"inliers must have shape \(4,\), got \(1,\)"),
    ],
)
def test_pose_names_the_bad_argument(x1, x2, inliers, message):
    with pytest.raises(ValueError, match=message):
        recover_pose(np.diag([1.0, 1.0, 0.0]), x1, x2, inliers)
