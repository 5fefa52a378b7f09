"""Relative poses with depths: gains, wrong depths, units, shifts, unknown depths, planes, rotations and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from numba import config

import bansac
from bansac.estimate.result import RelativePose
from bansac.synthetic import (
    SceneMatches,
    depth_matches,
    epipolar_matches,
    planar_scene_matches,
    rotation_matches,
    with_depths,
)

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


def estimate(scene, **arguments):
    """Return the result with the depths of a scene."""
    arguments = {"depth1": scene.depth1, "depth2": scene.depth2, "seed": 0} | arguments
    return bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, **arguments)


def error(pose, scene):
    """Return the larger one of the angles of the rotation and of the translation, in degrees."""
    cosines = 0.5 * (np.trace(pose.R @ scene.R.T) - 1.0), pose.t @ scene.t / np.linalg.norm(pose.t)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max()


def test_few_inliers_are_found_with_depths():
    errors = {True: [], False: []}
    for seed in range(10):
        scene = depth_matches(200, 0.1, 1.0, seed)
        for used, values in errors.items():
            result = estimate(scene) if used else estimate(scene, depth1=None, depth2=None)
            values.append(error(result.model, scene))
    assert np.mean(np.array(errors[True]) < 5.0) > np.mean(np.array(errors[False]) < 5.0) + 0.2


def test_the_last_fit_uses_the_depths():
    scenes = [depth_matches(100, 0.5, 1.0, seed, depth_noise=0.02) for seed in range(10)]
    with_them = [error(estimate(scene).model, scene) for scene in scenes]
    without = [error(estimate(scene, depth1=None, depth2=None).model, scene) for scene in scenes]
    assert np.mean(with_them) < 0.8 * np.mean(without)


def test_the_translation_has_the_unit_of_the_first_depths_and_the_scale_is_that_of_the_second(tmp_path):
    scene = depth_matches(200, 0.6, 0.3, 1, depth_noise=0.01)
    ratios = [np.median(scene.depth1[scene.inliers] / scene.points[scene.inliers, 2])]
    ratios.append(np.median(scene.depth2[scene.inliers] / (scene.points @ scene.R.T + scene.t)[scene.inliers, 2]))
    result = estimate(scene)
    assert "the depths agree with the matches" in result.message
    assert np.linalg.norm(result.model.t) == pytest.approx(ratios[0], rel=0.1)
    assert result.model.scale == pytest.approx(ratios[1] / ratios[0], rel=0.02)
    assert result.success
    assert result.configuration == "general"
    result.save(tmp_path / "result.npz")
    assert bansac.Result.load(tmp_path / "result.npz").model.scale == result.model.scale


def test_units_of_depths_do_not_matter():
    scene = depth_matches(200, 0.3, 1.0, 2)
    poses = [
        estimate(replace(scene, depth1=f * scene.depth1, depth2=g * scene.depth2)).model
        for f, g in [(1, 1), (1e-3, 1e4)]
    ]
    np.testing.assert_allclose(poses[0].R, poses[1].R, atol=2e-3)
    assert poses[1].scale / poses[0].scale == pytest.approx(1e7, rel=0.02)


@pytest.mark.parametrize("wrong", ["permuted", "constant", "reversed"])
def test_wrong_depths_change_no_result(wrong):
    for seed in range(5):
        scene = epipolar_matches(200, 0.4, 1.0, seed)
        rng = np.random.default_rng(seed)
        depths = rng.permutation(with_depths(scene, seed=seed).depth1)
        depths = {"permuted": depths, "constant": np.full(200, 3.0), "reversed": 1.0 / with_depths(scene).depth1}[wrong]
        result = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, depth1=depths, depth2=depths, seed=0)
        assert "the depths do not agree with the matches" in result.message
        assert result.model.scale is None
        assert error(result.model, scene) < 3.0
        assert np.linalg.norm(result.model.t) == pytest.approx(1.0)


def test_noise_without_a_model_is_no_success_with_depths():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x1, x2, depths = rng.uniform(0, 500, (60, 2)), rng.uniform(0, 500, (60, 2)), rng.uniform(1, 9, (2, 60))
        K = np.array([[500.0, 0, 250], [0, 500, 250], [0, 0, 1]])
        assert not bansac.estimate_relative_pose(x1, x2, K, depth1=depths[0], depth2=depths[1], seed=0).success


def test_a_large_shift_of_the_depths_is_removed(tmp_path):
    errors = []
    for seed in range(6):
        scene = depth_matches(200, 0.5, 0.5, seed, depth_noise=0.02, shift=6.0)
        result = estimate(scene)
        errors.append(error(result.model, scene))
        assert result.model.shift1 / np.nanmedian(scene.depth1 / (scene.points[:, 2] + 6.0)) == pytest.approx(
            6.0, rel=0.3
        )
    assert np.median(errors) < 1.0
    result.save(tmp_path / "result.npz")
    assert bansac.Result.load(tmp_path / "result.npz").model.shift2 == result.model.shift2


def covariance(result, scene, **depths):
    """Return the covariance with the depths of a scene."""
    depths = {"depth1": scene.depth1, "depth2": scene.depth2} | depths
    return bansac.covariance("relative_pose", result, scene.x1, scene.x2, scene.K, **depths)


def test_the_covariance_without_depths_is_that_of_the_rotation_and_of_the_direction():
    scene = depth_matches(300, 0.6, 0.5, 0)
    none = {"depth1": None, "depth2": None}
    some = [covariance(result, scene, **none).matrix for result in (estimate(scene), estimate(scene, **none))]
    np.testing.assert_allclose(np.sqrt(np.diag(some[0])), np.sqrt(np.diag(some[1])), rtol=0.3)
    wrong = estimate(scene, depth1=np.ones(300), depth2=np.ones(300))
    assert covariance(wrong, scene).matrix.shape == (5, 5)  # the pose is that without depths


@pytest.mark.parametrize("smooth", [False, True])
def test_the_errors_of_poses_with_depths_are_those_of_the_covariance(smooth):
    squares = []
    for seed in range(40):
        scene, exact = (depth_matches(200, 0.5, 1.0, seed, depth_noise=e, smooth=smooth) for e in (0.05, 0.0))
        result = estimate(scene)
        matrix, basis = covariance(result, scene)
        k, model = np.argmax(scene.inliers), result.model
        first = exact.depth1[k] / scene.points[k, 2]
        second = exact.depth2[k] / (scene.R @ scene.points[k] + scene.t)[2]
        true = np.concatenate([scene.R.ravel(), first * scene.t, [second / first]])
        found = np.concatenate([model.R.ravel(), model.t, [model.scale]])
        error = np.linalg.lstsq(basis.T, true - found, rcond=None)[0]
        squares.append(error @ np.linalg.solve(matrix, error))
    assert 0.5 < np.mean(squares) / 7 < 1.4
    assert np.mean(np.array(squares) < 14.07) > 0.85  # the 95 % quantile


def test_smooth_errors_of_depths_make_the_scale_less_certain():
    spreads = []
    for smooth in (False, True):
        scene = depth_matches(2000, 0.5, 1.0, 1, smooth=smooth)
        spreads.append(np.sqrt(covariance(estimate(scene), scene).matrix[6, 6]))
    assert 0.7 < spreads[0] / (0.05 * np.sqrt(2 / 1000)) < 1.8
    assert spreads[1] > 3 * spreads[0]


def test_the_covariance_has_the_units_of_the_depths():
    scene = depth_matches(200, 0.6, 0.5, 2)
    result = estimate(scene)
    pose = RelativePose(
        result.model.R, 1e-3 * result.model.t, scale=1e7 * result.model.scale, depth_used=result.model.depth_used
    )
    other = covariance(replace(result, model=pose), scene, depth1=1e-3 * scene.depth1, depth2=1e4 * scene.depth2)
    unit = np.array([1, 1, 1, 1e-3, 1e-3, 1e-3, 1])
    np.testing.assert_allclose(other.matrix, covariance(result, scene).matrix * np.outer(unit, unit), rtol=1e-3)


@pytest.mark.parametrize("image", ["depth1", "depth2"])
def test_the_depths_of_one_image_give_a_covariance_without_the_scale(image):
    scene = depth_matches(300, 0.6, 0.5, 0)
    one = {"depth1": None, "depth2": None, image: getattr(scene, image)}
    found = covariance(estimate(scene, **one), scene, **one)
    assert (found.matrix.shape, found.basis.shape, found.doubt) == ((6, 6), (6, 13), "")


def test_shifts_of_depths_are_doubts_or_make_t_less_certain():
    none, small, large = (depth_matches(400, 0.6, 0.5, 0, shift=shift) for shift in (0.0, 1.0, 6.0))
    results = [estimate(scene) for scene in (none, small, large)]
    found = [covariance(result, scene) for result, scene in zip(results, (none, small, large), strict=True)]
    assert (found[0].doubt, found[1].doubt, found[2].doubt) == ("", "the depths have a shift", "")
    spreads = [np.trace(f.matrix[3:6, 3:6]) / np.sum(r.model.t**2) for f, r in zip(found, results, strict=True)]
    assert spreads[2] > 2 * spreads[0]
    for depths in ({"depth1": 2 * none.depth1}, {"depth1": none.depth1[::-1], "depth2": none.depth2[::-1]}):
        with pytest.raises(ValueError, match="the depths do not fit the pose"):
            covariance(results[0], none, **depths)


def test_few_known_depths_do_no_harm():
    errors = []
    for seed in range(10):
        scene = depth_matches(300, 0.3, 1.0, seed)
        unknown = np.random.default_rng(seed).random(300) > 0.1
        depths = {name: np.where(unknown, np.nan, getattr(scene, name)) for name in ("depth1", "depth2")}
        without = estimate(scene, depth1=None, depth2=None)
        errors.append([error(pose.model, scene) for pose in (estimate(scene, **depths), without)])
    assert np.mean(errors, axis=0)[0] < 1.1 * np.mean(errors, axis=0)[1]


def test_wrong_depths_of_one_image_are_left_out():
    scene = depth_matches(200, 0.5, 0.5, 1)
    wrong = np.random.default_rng(0).permutation(scene.depth2)
    result, alone = estimate(scene, depth2=wrong), estimate(scene, depth2=None)
    assert "the depths of image 1 agree with the matches, and those of image 2 do not" in result.message
    np.testing.assert_allclose(np.linalg.norm(result.model.t), np.linalg.norm(alone.model.t), rtol=0.05)
    assert result.model.scale == alone.model.scale == 1.0
    assert result.model.depth_used == alone.model.depth_used == "depth1"
    found = bansac.covariance("relative_pose", result, scene.x1, scene.x2, scene.K, depth1=scene.depth1, depth2=wrong)
    assert found.matrix.shape == (6, 6)


def test_inverse_or_permuted_depths_of_one_image_leave_those_of_the_other_in_use():
    for seed in range(6):
        scene = depth_matches(300, 0.5, 1.0, seed)
        for wrong in (1.0 / scene.depth2, np.random.default_rng(seed).permutation(scene.depth2)):
            assert estimate(scene, depth2=wrong).model.depth_used == "depth1"
        assert estimate(scene, depth1=1.0 / scene.depth1).model.depth_used == "depth2"


def test_right_depths_of_few_inliers_are_kept_in_both_images():
    for seed in range(8):
        assert estimate(depth_matches(200, 0.1, 1.0, seed)).model.depth_used == "depth1 and depth2"


def test_the_translation_has_the_unit_of_the_only_depths():
    scene = depth_matches(200, 0.6, 0.3, 1, depth_noise=0.01)
    unit = np.nanmedian(scene.depth2 / (scene.points @ scene.R.T + scene.t)[:, 2])
    result = estimate(scene, depth1=None)
    assert result.model.scale == 1.0
    assert np.linalg.norm(result.model.t) == pytest.approx(unit, rel=0.05)


def test_a_second_motion_with_depths_is_no_error():
    for seed in range(4):
        parts = [depth_matches(80, 0.9, 0.5, 10 * seed + k) for k in range(2)]
        names = "x1", "x2", "depth1", "depth2"
        x1, x2, *depths = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        K = parts[0].K
        result = bansac.estimate_relative_pose(x1, x2, K, depth1=depths[0], depth2=depths[1], seed=seed)
        assert min(error(result.model, part) for part in parts) < 5.0


def test_unknown_depths_are_as_none():
    scene = epipolar_matches(100, 0.6, 0.5, 0)
    results = [
        bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, seed=0, **depths)
        for depths in ({}, {"depth1": np.full(100, np.nan), "depth2": np.zeros(100)})
    ]
    assert results[0].message == results[1].message
    np.testing.assert_array_equal(results[0].model.R, results[1].model.R)


def test_depths_decide_between_a_scene_in_a_narrow_view_and_the_scene_with_reversed_depths():
    rng, K = np.random.default_rng(0), np.array([[8000.0, 0, 320], [0, 8000, 240], [0, 0, 1]])
    for seed in range(5):
        x1, t = rng.uniform(0, 1, (200, 2)) * [640, 480], np.array([np.cos(seed), np.sin(seed), 0.0])
        points = np.column_stack([(x1 - K[:2, 2]) / 8000, np.ones(200)]) * rng.uniform(27, 33, 200)[:, None]
        x2 = ((points + t) / (points + t)[:, 2:] @ K.T)[:, :2]
        scene = SceneMatches(x1, x2 + rng.normal(0, 0.3, x2.shape), K1=K, K2=K, R=np.eye(3), t=t, points=points)
        assert error(estimate(with_depths(scene, seed=seed, smooth=True)).model, scene) < 5.0


@pytest.mark.parametrize("image", ["depth1", "depth2"])
def test_depths_of_one_image_and_unknown_ones_are_enough(image):
    scene = depth_matches(300, 0.3, 0.5, 4)
    depths = getattr(scene, image).copy()
    depths[::3], depths[1], depths[4] = np.nan, 0.0, np.inf
    result = estimate(scene, **{"depth1": None, "depth2": None, image: depths})
    assert "the depths agree" in result.message
    assert error(result.model, scene) < 2.0


def test_a_rotation_has_no_translation_in_depths():
    scene = rotation_matches(200, 0.6, 0.5, 1)
    depths = np.random.default_rng(0).uniform(4, 12, 200)
    result = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, depth1=depths, depth2=depths, seed=0)
    assert result.configuration == "pure_rotation"
    assert "the depths do not agree" in result.message


def test_planes_keep_their_motion():
    right = 0
    for seed in range(10):
        scene = with_depths(planar_scene_matches(200, 0.6, 1.0, 0.5, seed), seed=seed)
        right += error(estimate(scene).model, scene) < 5.0
    assert right >= 9


def test_many_data_and_batches_take_depths():
    scene = depth_matches(12_000, 0.5, 0.5, 0)
    assert error(estimate(scene).model, scene) < 0.5
    small = depth_matches(200, 0.4, 0.5, 0)
    pair = {"x1": small.x1, "x2": small.x2, "K1": small.K, "depth1": small.depth1, "depth2": small.depth2}
    named, matches = bansac.estimate_many("relative_pose", [pair, small], seed=0)
    alone = [estimate(small, seed=result.seed).model.scale for result in (named, matches)]
    assert [named.model.scale, matches.model.scale] == alone


def test_depths_of_matches_are_used_where_a_model_takes_them_and_those_of_a_call_never_ignored():
    scene = depth_matches(60, 0.8, 0.5, 0)
    for name in ("essential", "fundamental", "homography"):
        results = [bansac.estimate_many(name, [pair])[0] for pair in (scene, replace(scene, depth1=None, depth2=None))]
        np.testing.assert_array_equal(results[0].model, results[1].model)
        with pytest.raises(TypeError, match="depth1"):
            bansac.estimate_many(name, [scene], depth1=scene.depth1)
    short = replace(scene, depth2=scene.depth2[1:])
    assert "depth2 must have shape (60,)" in bansac.estimate_many("relative_pose", [short])[0].message


def test_a_first_motion_is_used_beside_depths():
    scene = depth_matches(200, 0.3, 0.5, 5)
    result = estimate(scene, initial_model=(scene.R, scene.t))
    assert error(result.model, scene) < 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth1": np.ones(3)}, r"depth1 must have shape \(50,\), one depth for each match, got \(3,\)"),
        ({"depth2": -np.ones(50)}, "depth2 must be positive, or NaN if unknown, got -1"),
        ({"depth1": np.ones(50), "preset": "paper"}, "depth1 and depth2 need"),
        ({"depth1": np.ones(50), "gravity1": [0, 1, 0], "gravity2": [0, 1, 0]}, "depth1 and depth2 need"),
        ({"depth1": np.ones(50), "K1": bansac.Camera.unknown_focal(640, 480)}, "need known focal lengths"),
        ({"depth1": ["a"] * 50}, "depth1"),
    ],
)
def test_wrong_depths_are_named(arguments, message):
    scene = epipolar_matches(50, 0.8, 0.5, 0)
    with pytest.raises((ValueError, TypeError), match=message):
        bansac.estimate_relative_pose(scene.x1, scene.x2, **{"K1": scene.K, **arguments})


@pytest.mark.parametrize("n", [0, 2, 5, 8])
def test_too_few_matches_are_no_success(n):
    scene = epipolar_matches(20, 0.5, 0.5, 0)
    depths = np.ones(n)
    result = bansac.estimate_relative_pose(scene.x1[:n], scene.x2[:n], scene.K, depth1=depths, depth2=depths, seed=0)
    assert not result.success
