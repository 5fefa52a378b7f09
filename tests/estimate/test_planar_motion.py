"""The motion of a camera that sees a plane."""

import dataclasses

import numpy as np
import pytest

import bansac
from bansac.estimate.planar_motion import motions_of_plane
from bansac.geometry import normalise_points, recover_pose
from bansac.synthetic import planar_scene_matches, rotation_matches
from bansac_lab.measurements.rival_scenes import far_scene, repeated_plane_matches
from bansac_lab.metrics import rotation_error, translation_error
from bansac_lab.scenes import errors, scene_of

ESTIMATORS = {
    "E": bansac.estimate_essential,
    "F": bansac.estimate_fundamental,
    "relative pose": bansac.estimate_relative_pose,
}


def rays_of(scene, chosen):
    return np.ascontiguousarray(np.vstack([normalise_points(scene.K, x[chosen]).T for x in (scene.x1, scene.x2)]))


def test_exact_matches_give_the_exact_motion():
    right = 0
    for seed in range(20):
        scene = planar_scene_matches(100, 1.0, 1.0, 0.0, seed)
        R, t = motions_of_plane(rays_of(scene, scene.on_plane))[0]
        assert np.linalg.det(R) == pytest.approx(1)
        assert np.linalg.norm(t) == pytest.approx(1)
        right += rotation_error(R, scene.R) < 1e-4 and t @ scene.t > 1 - 1e-9
    assert right >= 19  # two motions agree with a plane


def test_a_rotation_and_too_few_matches_have_no_motion():
    turned = rotation_matches(50, 1.0, 0.0, seed=1)
    assert motions_of_plane(rays_of(turned, slice(0, 3))) == []
    x = normalise_points(turned.K, turned.x1).T
    assert motions_of_plane(np.vstack([x, x])) == []


def test_the_pose_of_a_planar_scene_comes_from_its_homography():
    errors, of_paper = [], []
    for seed in range(15):
        scene = planar_scene_matches(300, 0.5, 1.0, 0.5, seed)
        result = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0)
        assert result.success
        assert "homography" in result.message
        assert np.array_equal(result.inliers, result.residuals <= 1.0)
        assert (result.probabilities[result.inliers] > 0.5).all()
        errors.append(translation_error(result.model.t, scene.t))
        paper = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, preset="paper")
        of_paper.append(translation_error(paper.model.t, scene.t))
    assert np.median(errors) < 1
    assert np.sum(np.array(errors) > 10) <= 1
    assert np.sum(np.array(of_paper) > 10) >= 4


@pytest.mark.parametrize(("problem", "n", "share"), [("E", 300, 0.9), ("F", 1000, 0.95)])
def test_matches_off_a_plane_decide_on_its_motion(problem, n, share):
    """A search that draws matches of the plane ends at any motion: of these E and F 3 and 4 were wrong.

    Few matches are off the plane. If they do not lead to its motion, the result says that a plane does not determine F.
    """
    for seed in range(15):
        truth = planar_scene_matches(n, inlier_ratio=0.8, plane_share=share, noise=0.3, seed=seed)
        scene = scene_of(problem, truth)
        result = ESTIMATORS[problem](*scene.data, seed=seed)
        assert errors(scene, result.model)["pose_error"] < 5 or (problem, result.configuration) == ("F", "planar")


@pytest.mark.parametrize("problem", ["E", "relative pose"])
def test_near_matches_give_the_translation_of_a_distant_scene(problem):
    """A majority is far away and determines the rotation only: of these poses 14 were wrong."""
    wrong, ambiguous = 0, 0
    for seed in range(16):
        scene = dataclasses.replace(far_scene(0.9, seed), problem=problem)
        result = ESTIMATORS[problem](*scene.data, seed=seed)
        assert result.success
        ambiguous += result.configuration == "ambiguous"
        if errors(scene, result.model)["pose_error"] > 5:
            wrong += 1
            assert result.configuration == "pure_rotation"
    assert wrong <= 2
    assert ambiguous <= 2


def test_matches_off_a_rotation_give_it_no_translation():
    """A search of pairs among the outliers finds some that agree; a rotation stays one."""
    for seed in range(10):
        turned = rotation_matches(400, 0.6, 0.5, seed=seed)
        result = bansac.estimate_relative_pose(turned.x1, turned.x2, turned.K, seed=seed)
        assert result.configuration == "pure_rotation"
        assert rotation_error(result.model.R, turned.R) < 0.5


def translation_error_of_moved(x1, depth, t, noise, outliers, rng, seed):
    """Return the error for points at a depth, with noise, and with unrelated points in image 2 where a mask says so."""
    K = np.array([[800.0, 0, 320], [0, 800, 240], [0, 0, 1]])
    moved = depth[:, None] * np.column_stack([normalise_points(K, x1), np.ones(len(x1))]) + t
    x2 = 800 * moved[:, :2] / moved[:, 2:] + (320, 240)
    x1, x2 = x1 + rng.normal(0, noise, x1.shape), x2 + rng.normal(0, noise, x2.shape)
    x2[outliers] = rng.uniform(0, (640, 480), (outliers.sum(), 2))
    return translation_error(bansac.estimate_relative_pose(x1, x2, K, seed=seed).model.t, t)


def test_an_object_slightly_in_front_of_a_plane_keeps_its_essential_matrix():
    """Near the epipole its parallax is below three thresholds; the motions of the plane are off by 6 degrees."""
    errors = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        x1, depth = rng.uniform(0, (640, 480), (600, 2)), np.repeat([7.0, 8.0], 300)
        angle, radius = rng.uniform(0, 2 * np.pi, 300), 90 * np.sqrt(rng.uniform(size=300))
        center = 400 + 60 * np.cos(seed), 280 + 60 * np.sin(seed)
        x1[:300] = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + center
        outliers, t = rng.uniform(size=600) < 0.1, [-0.08, -0.04, -0.8]
        errors.append(translation_error_of_moved(x1, depth, t, 0.4, outliers, rng, seed))
    assert np.median(errors) < 3


def test_matches_near_a_plane_decide_on_its_motion():
    """A camera that moves forwards sees the plane of the wrong motion less obliquely: 5 of 20 poses were wrong."""
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x1 = rng.uniform(0, (640, 480), (500, 2))
        depth = 10 / (0.3 * (x1[:, 0] - 320) / 800 - 0.2 * (x1[:, 1] - 240) / 800 + 1)
        depth[:28] = rng.uniform(4, 13, 28)
        errors.append(translation_error_of_moved(x1, depth, [-0.1, 0.05, -1.2], 0.5, np.arange(500) >= 200, rng, seed))
    assert np.sum(np.array(errors) > 5) <= 4


@pytest.mark.parametrize("problem", ["E", "F", "relative pose"])
def test_matches_off_a_shifted_plane_lead_to_the_rival(problem):
    """Matches shifted by a period outnumber the right ones, which are off their plane: wrong models are ambiguous."""
    wrong, claimed, found = 0, 0, 0
    for seed in range(16):
        scene = scene_of(problem, repeated_plane_matches("step", 800, 0.25, 0.0, seed))
        result = ESTIMATORS[problem](*scene.data, seed=seed)
        is_wrong, rival = errors(scene, result.model)["pose_error"] > 5, result.rival
        wrong, claimed = wrong + is_wrong, claimed + (is_wrong and result.configuration != "ambiguous")
        found += is_wrong and rival is not None and errors(scene, rival.model)["pose_error"] < 5
    assert wrong >= 12
    assert claimed <= 2
    assert found >= 0.7 * wrong


def test_the_paper_s_pose_is_that_of_its_essential_matrix():
    scene = planar_scene_matches(300, 0.5, 1.0, 0.5, seed=4)
    settings = {"preset": "paper", "seed": 4}
    result = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, **settings)
    E = bansac.estimate_essential(scene.x1, scene.x2, scene.K, **settings)
    assert result.configuration == E.configuration == "planar"
    x1, x2 = normalise_points(scene.K, scene.x1), normalise_points(scene.K, scene.x2)
    R, t, _ = recover_pose(E.model, x1, x2, E.inliers)
    assert np.allclose(result.model.R, R)
    assert np.allclose(result.model.t, t)


@pytest.mark.filterwarnings("ignore:K1 has")  # these cameras are doubtful
@pytest.mark.parametrize(
    "scene",
    [planar_scene_matches(100, 0.7, 1.0, 0.3, 1), rotation_matches(100, 0.7, 0.3, 1)],
    ids=["plane", "rotation"],
)
@pytest.mark.parametrize("exponent", range(-6, 10, 3))
def test_no_scale_of_points_or_focal_length_ends_in_an_error(scene, exponent):
    scale = 10.0**exponent
    pixels = bansac.estimate_relative_pose(scale * scene.x1, scale * scene.x2, threshold=scale)
    K = np.diag([scale, scale, 1.0])
    focal = bansac.estimate_relative_pose(scene.x1, scene.x2, K, threshold=1.0)
    for result in (pixels, focal):
        assert result.model is None or np.linalg.det(result.model.R) == pytest.approx(1)
