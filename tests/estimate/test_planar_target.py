"""The two poses of a planar target: the better one wins, and both are named if both explain the points."""

import numpy as np
import pytest

import bansac
from bansac.estimate import absolute_pose
from bansac.geometry import apply_transform, rotation_matrix
from bansac_lab.metrics import rotation_error

K = np.array([[800.0, 0, 320], [0, 800, 240], [0, 0, 1]])
R = rotation_matrix(np.array([0.0, 0.0, 0.7])) @ rotation_matrix(np.array([0.5, 0.0, 0.0]))


def target(depth, noise=0.5, n=60, thickness=0.0, R=R, seed=0):
    """Return 3D points, their images with a third of outliers, and the translation."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.5, 0.5, (n, 3)) * [1, 1, thickness] + [3.0, -2.0, 1.0]
    t = depth * np.array([0.1, -0.05, 1.0]) - R @ [3.0, -2.0, 1.0]
    pixels = apply_transform(K, points @ R.T + t) + rng.normal(0, noise, (n, 2))
    pixels[: n // 3] = rng.uniform(0, [640, 480], (n // 3, 2))
    return points, pixels, t


@pytest.mark.parametrize("seed", [5, 12, 13, 17, 30])
@pytest.mark.parametrize("camera", [K, bansac.Camera("OPENCV", [800, 800, 320, 240, -1e-3, 0, 0, 0])])
def test_the_better_pose_wins(monkeypatch, camera, seed):
    points, pixels, _ = target(8.0, 1.0, n=30, seed=seed)
    result = bansac.estimate_absolute_pose(points, pixels, camera)
    assert rotation_error(result.model.R, R) < 6
    assert (result.configuration, result.rival) == (None, None)
    np.testing.assert_array_equal(result.inliers, result.residuals <= result.threshold)
    monkeypatch.setattr(absolute_pose, "choose_pose", lambda refine, all, s: refine(s, s.model) if all else s)
    other = bansac.estimate_absolute_pose(points, pixels, camera)
    assert rotation_error(other.model.R, R) > 35  # the search ends at the mirrored pose


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("camera", [K, bansac.Camera.unknown_focal(641, 481)], ids=["K", "unknown focal length"])
def test_far_targets_are_ambiguous(seed, camera):
    points, pixels, _ = target(40.0, 0.5, seed=seed)
    result = bansac.estimate_absolute_pose(points, pixels, camera, seed=seed)
    assert result.success
    assert result.configuration == "ambiguous"
    assert "; a second absolute pose" in result.message
    errors = [rotation_error(pose.R, R) for pose in (result.model, result.rival.model)]
    assert min(errors) < 20
    assert rotation_error(result.model.R, result.rival.model.R) > 20
    assert result.rival.inliers.sum() > 0.9 * result.num_inliers
    assert repr(result.rival).startswith(f"Rival({result.rival.inliers.sum()} inliers at threshold ")
    assert (result.rival.model.K is None) == (camera is K)


def test_the_wrong_pose_of_a_target_of_few_points_is_seldom_claimed():
    claimed = 0
    for seed in range(40):
        points, pixels, _ = target(12.0, 1.0, n=12, seed=seed)
        result = bansac.estimate_absolute_pose(points, pixels, K)
        poses = [result.model] if result.rival is None else [result.model, result.rival.model]
        claimed += result.success and min(rotation_error(pose.R, R) for pose in poses) > 15
    assert claimed <= 3


@pytest.mark.parametrize(("thickness", "depth"), [(1.0, 3.0), (0.2, 3.0), (1.0, 40.0)])
def test_other_points_do_not_change(monkeypatch, thickness, depth):
    points, pixels, _ = target(depth, thickness=thickness)
    new = bansac.estimate_absolute_pose(points, pixels, K)
    monkeypatch.setattr(absolute_pose, "choose_pose", lambda refine, refines_all, solution: solution)
    old = bansac.estimate_absolute_pose(points, pixels, K)
    for first, second in zip((*new.model, new.residuals), (*old.model, old.residuals), strict=True):
        np.testing.assert_array_equal(first, second)
    assert new.message == old.message


@pytest.mark.parametrize("n", [3, 4, 6, 60])
def test_exact_targets(n):
    points, pixels, _ = target(3.0, noise=0.0, n=3 * n)
    result = bansac.estimate_absolute_pose(points[n:], pixels[n:], K)
    if n > 3:
        assert rotation_error(result.model.R, R) < 1e-3
        assert result.rival is None


@pytest.mark.parametrize("turn", [0.0, 0.02])
def test_frontal_targets_have_one_pose(turn):
    points, pixels, _ = target(5.0, R=rotation_matrix(np.array([turn, 0.0, 0.5])))
    result = bansac.estimate_absolute_pose(points, pixels, K)
    assert result.success
    assert result.rival is None


def test_points_on_a_line_have_no_mirror_image():
    points, pixels, t = target(3.0, noise=0.0)
    points[:, 1] = -2.0
    pixels = apply_transform(K, points @ R.T + t)
    assert bansac.estimate_absolute_pose(points, pixels, K).rival is None


def test_few_points_cannot_verify_a_pose():
    points, pixels, _ = target(3.0, noise=0.0, n=9, thickness=1.0)
    result = bansac.estimate_absolute_pose(points[3:6], pixels[3:6], K)
    assert result.message.endswith("no more than chance gives: few data cannot verify it")
    assert bansac.estimate_absolute_pose(points[3:7], pixels[3:7], K).success
