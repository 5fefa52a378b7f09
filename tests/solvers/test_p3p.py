"""The poses of three points against Grunert's quartic and known answers."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.geometry import rotation_matrix
from bansac.maths.quaternion import matrix_of
from bansac.problems.absolute_pose import ABSOLUTE_POSE
from tests.problems.in_loop import solve_sample
from tests.reference import space

seeds = st.integers(0, 2**32 - 1)


def p3p(X, x):
    return [matrix_of(model) for model in solve_sample(ABSOLUTE_POSE, x, X)]


def three_points(rng):
    """Return a pose, three points in front of the camera and their images."""
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    x = rng.uniform(-1, 1, (3, 2))
    seen = np.column_stack([x, np.ones(3)]) * rng.uniform(1, 10, (3, 1))
    return np.column_stack([R, t]), (seen - t) @ R, x


def nearest(pose, poses):
    """Return the largest difference of an entry to the nearest of the poses."""
    return min((np.abs(pose - other).max() for other in poses), default=np.inf)


@given(seed=seeds)
def test_the_truth_is_among_the_poses_and_all_of_them_are_exact(seed):
    truth, X, x = three_points(np.random.default_rng(seed))
    u, v = x[1:] - x[0]
    if abs(u[0] * v[1] - u[1] * v[0]) < 0.01:  # nearly collinear images
        return
    poses = p3p(X, x)
    assert nearest(truth, poses) < 1e-6
    for pose in poses:
        np.testing.assert_allclose(pose[:, :3] @ pose[:, :3].T, np.eye(3), atol=1e-12)
        assert np.linalg.det(pose[:, :3]) > 0
        assert space.reprojection_errors(pose[:, :3], pose[:, 3], X, x).max() < 1e-8


@given(seed=seeds)
def test_the_poses_are_those_of_grunert_s_quartic(seed):
    rng = np.random.default_rng(seed)
    _, X, x = three_points(rng)
    x = x + rng.normal(0, 0.05, x.shape)
    expected = [
        pose for pose in space.p3p(X, x) if space.reprojection_errors(pose[:, :3], pose[:, 3], X, x).max() < 1e-9
    ]
    poses = p3p(X, x)
    for pose in expected:
        assert nearest(pose, poses) < 1e-4 * (1 + np.abs(pose).max())


def test_the_poses_are_those_of_opencv():
    rng = np.random.default_rng(0)
    counts = []
    for k in range(500):
        _, X, x = three_points(rng)
        if k % 2:
            x = x + rng.normal(0, 0.05, x.shape)
        poses = p3p(X, x)
        # OpenCV's solver of Ke and Roumeliotis gives points behind the camera, too, and numbers that are none.
        _, turns, shifts = cv2.solveP3P(X, x, np.eye(3), None, cv2.SOLVEPNP_AP3P)
        others = [np.column_stack([cv2.Rodrigues(r)[0], t]) for r, t in zip(turns, shifts, strict=True)]
        others = [p for p in others if space.reprojection_errors(p[:, :3], p[:, 3], X, x).max() < 1e-6]
        assert len(poses) == len(others)
        assert max((nearest(pose, others) for pose in poses), default=0.0) < 1e-5
        assert max((nearest(pose, poses) for pose in others), default=0.0) < 1e-5
        counts.append(len(poses))
    assert set(counts) >= {0, 1, 2, 3, 4}


def test_symmetric_views_have_their_pose():
    # Seen along the axis of an isosceles triangle, the cubic of the pencil has a root at infinity.
    for X in (
        [[-1, 0, 4], [1, 0, 4], [0, 1, 4]],
        [[0, 0, 2], [3, 0, 5], [0, 3, 5]],
        [[-1, -1, 5], [1, -1, 5], [1, 1, 5]],
    ):
        points = np.array(X, float)
        for shift in range(3):
            turned = np.roll(points, shift, axis=0)
            assert nearest(np.eye(3, 4), p3p(turned, turned[:, :2] / turned[:, 2:])) < 1e-6


@pytest.mark.parametrize(
    ("X", "x"),
    [
        ([[0, 0, 5], [1, 1, 6], [2, 2, 7]], [[0, 0], [1, 0], [0, 1]]),
        ([[0, 0, 5], [0, 0, 5], [2, 2, 7]], [[0, 0], [1, 0], [0, 1]]),
        ([[0, 0, 5], [1, 0, 6], [2, 2, 7]], [[0, 0], [0.5, 0.5], [1, 1]]),
        ([[0, 0, 5], [1, 0, 6], [2, 2, 7]], [[0.5, 0], [0.5, 0], [1, 1]]),
    ],
    ids=["collinear points", "one point twice", "collinear images", "one image twice"],
)
def test_degenerate_samples_have_no_pose(X, x):
    assert p3p(X, x) == []
