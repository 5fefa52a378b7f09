"""One way out: residuals, inliers, verdict and message of a result are those of its final model."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.estimate import solution
from bansac.geometry import apply_transform
from bansac.synthetic import epipolar_matches, homography_matches, planar_scene_matches
from bansac_lab.measurements.rival_scenes import CLASSES
from bansac_lab.metrics import corner_error
from bansac_lab.scenes import errors

SCENE = epipolar_matches(200, inlier_ratio=0.6, noise=0.5, seed=1)
PLANE = planar_scene_matches(300, 0.5, 1.0, 0.5, 1)
POINTS = np.random.default_rng(4).uniform([-2, -2, 4], [2, 2, 8], (150, 3))
PIXELS = 700.0 * POINTS[:, :2] / POINTS[:, 2:] + [320, 240] + np.random.default_rng(5).normal(0, 1, (150, 2))
UNKNOWN = bansac.Camera.unknown_focal(640, 480)
DISTORTED = bansac.Camera("OPENCV", (*SCENE.K[[0, 1, 0, 1], [0, 1, 2, 2]], -0.05, 0.01, 0.0, 0.0), 640, 480)
CALLS = {
    "distorted E": lambda **s: bansac.estimate_essential(SCENE.x1, SCENE.x2, DISTORTED, **s),
    "distorted pose": lambda **s: bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, DISTORTED, **s),
    "distorted absolute pose": lambda **s: bansac.estimate_absolute_pose(POINTS, PIXELS, DISTORTED, **s),
    "focal length": lambda **s: bansac.estimate_relative_pose(SCENE.x1, SCENE.x2, UNKNOWN, **s),
    "focal length of an absolute pose": lambda **s: bansac.estimate_absolute_pose(POINTS, PIXELS, UNKNOWN, **s),
    "plane": lambda **s: bansac.estimate_relative_pose(PLANE.x1, PLANE.x2, PLANE.K, **s),
}


@pytest.mark.filterwarnings("ignore:K has")  # not the camera of these points
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_success", [True, False])
def test_a_refined_model_has_the_verdict_on_its_own_inliers(name, is_success, monkeypatch):
    measured = []

    def record(function, *arguments, **settings):
        measured.append(next(a for a in arguments if isinstance(a, solution.MeasuredModel)))
        return function(*arguments, **settings)._replace(success=is_success)

    for verdict in ("find_verdict", "plane_motion_verdict"):
        function = getattr(solution, verdict)
        monkeypatch.setattr(solution, verdict, lambda *a, function=function, **s: record(function, *a, **s))
    result = CALLS[name]()
    np.testing.assert_array_equal(measured[-1].inliers, result.inliers)
    np.testing.assert_array_equal(result.inliers, result.residuals <= result.threshold)
    assert f" with {result.num_inliers} of {len(result.inliers)} inliers" in result.message
    assert result.success == is_success
    assert (result.probabilities is not None) == is_success


def test_lengths_in_messages_are_in_the_unit_of_the_threshold():
    in_pixels = bansac.estimate_essential(SCENE.x1, SCENE.x2, SCENE.K, threshold=400.0)
    scaled = dataclasses.replace(SCENE, x1=SCENE.x1 / 100, x2=SCENE.x2 / 100)
    in_hundreds = bansac.estimate_essential(scaled.x1, scaled.x2, np.diag([0.01, 0.01, 1]) @ SCENE.K, threshold=4.0)
    assert not in_pixels.success
    assert "the threshold of 400 is too large for data with an extent of " in in_pixels.message
    assert "the threshold of 4 is too large for data with an extent of " in in_hundreds.message
    extents = [float(text.message.partition("extent of ")[2].partition(":")[0]) for text in (in_pixels, in_hundreds)]
    assert extents[0] == pytest.approx(100 * extents[1], rel=0.01)
    assert extents[0] > 100


@pytest.mark.parametrize("name", ["half-turn", "period"])
def test_a_true_homography_with_less_support_than_a_symmetric_one_is_its_rival(name):
    scenes = [CLASSES[name][1](seed) for seed in range(30)]
    results = [bansac.estimate_homography(*scene.data) for scene in scenes]
    rivals = [(scene, result.rival) for scene, result in zip(scenes, results, strict=True) if result.rival is not None]
    assert len(rivals) >= 29
    assert sum(errors(scene, rival.model)["corner_error"] < 5 for scene, rival in rivals) >= 29


def test_outliers_of_a_search_window_hide_few_homographies_and_are_not_claimed():
    scenes = [CLASSES["window-H"][1](seed) for seed in range(40)]
    results = [bansac.estimate_homography(*scene.data) for scene in scenes]
    rights = [errors(scene, of.model)["corner_error"] < 5 for scene, of in zip(scenes, results, strict=True)]
    assert sum(rights) >= 37
    assert all(of.success == right for of, right in zip(results, rights, strict=True))


@pytest.mark.parametrize("width", [4.0, 10.0])
def test_a_homography_within_a_search_window_is_found(width):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        H = np.eye(3)
        H[:2] += rng.normal(0.0, (0.004, 0.004, 2.0), (2, 3))
        x1 = rng.uniform(0.0, (640.0, 480.0), (600, 2))
        x2 = x1 + rng.uniform(-width, width, x1.shape)
        x2[:150] = apply_transform(H, x1[:150]) + rng.normal(0.0, 0.5, (150, 2))
        result = bansac.estimate_homography(x1, x2)
        found += result.success and corner_error(result.model, H, (480, 640)) < 2.0
    assert found >= 8


@pytest.mark.parametrize("bend", [lambda x: 15.0 * np.sin(x / 100.0), lambda x: 12.0 * (x[:, :1] > 320.0)])
def test_errors_of_a_bent_or_broken_plane_are_not_those_of_a_search_window(bend):
    for seed in range(5):
        matches = homography_matches(500, 0.7, 0.5, seed)
        assert bansac.estimate_homography(matches.x1, matches.x2 + bend(matches.x1)).success
