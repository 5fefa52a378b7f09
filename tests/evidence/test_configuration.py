"""The configurations of two views: general scenes, planes, rotations, lines, and scenes with a dominant plane."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest

import bansac
from bansac.compiled.jit import plain
from bansac.evidence.configuration import (
    UNVERIFIED,
    configuration_message,
    find_configuration,
    matches_of_plane,
    plane_distance,
    rate_by_noise,
)
from bansac.geometry import apply_transform, normalise_points
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.synthetic import epipolar_matches, homography_matches, planar_scene_matches, rotation_matches
from bansac_lab.families import awkward_scene
from tests.reference import degensac as reference

whole_search = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a minute as plain Python: whole searches")

SEEDS = range(10)


def line_matches(seed, n=200, outliers=60, noise=0.3):
    """Return matches of points on a line of both images, and wrong ones."""
    rng = np.random.default_rng(seed)
    along = rng.uniform(0, 1, n)
    x1 = np.column_stack([50 + 500 * along, 40 + 250 * along])
    x2 = np.column_stack([90 + 480 * along**1.1, 60 + 260 * along**1.1])
    x1, x2 = x1 + rng.normal(0, noise, (n, 2)), x2 + rng.normal(0, noise, (n, 2))
    wrong = rng.uniform(0, [[[640, 480]]], (2, outliers, 2))
    return SimpleNamespace(x1=np.vstack([x1, wrong[0]]), x2=np.vstack([x2, wrong[1]]))


def found_by_f(scene):
    return bansac.estimate_fundamental(scene.x1, scene.x2).configuration


def found_by_pose(scene):
    return bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.0).configuration


@whole_search
@pytest.mark.parametrize(("n", "ratio", "noise"), [(500, 0.5, 0.5), (200, 0.4, 0.3), (100, 0.9, 0.5)])
def test_general_scenes_are_general(n, ratio, noise):
    for seed in SEEDS:
        scene = epipolar_matches(n, ratio, noise, seed)
        assert found_by_f(scene) == "general"
        assert found_by_pose(scene) == "general"


@whole_search
@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (5, 3), (5, 5), (6, 5)])
def test_an_exact_grid_that_moves_by_whole_pixels_is_a_plane(shape):
    rng = np.random.default_rng(shape)
    for seed in range(5):
        x1 = 50.0 + rng.integers(20, 100) * np.indices(shape).reshape(2, -1).T
        result = bansac.estimate_fundamental(x1, x1 + rng.integers(-40, 41, 2), threshold=1.0, seed=seed)
        assert (result.success, result.configuration, result.num_inliers) == (True, "planar", len(x1))


@whole_search
@pytest.mark.parametrize(("n", "ratio", "noise"), [(500, 0.5, 0.5), (200, 0.4, 0.3), (100, 0.8, 0.3)])
def test_planes_and_rotations_are_said(n, ratio, noise):
    for seed in SEEDS:
        plane, rotation = planar_scene_matches(n, ratio, 1.0, noise, seed), rotation_matches(n, ratio, noise, seed)
        assert found_by_f(plane) == found_by_f(rotation) == "planar"
        assert found_by_pose(plane) == "planar"
        assert found_by_pose(rotation) == "pure_rotation"


@whole_search
@pytest.mark.parametrize(("n", "noise"), [(1000, 1.2), (10_000, 0.8)])
def test_noise_above_the_threshold_gives_planes_no_depth(n, noise):
    plane, rotation = planar_scene_matches(n, 0.7, 1.0, noise, 1), rotation_matches(n, 0.7, noise, 1)
    assert bansac.estimate_relative_pose(plane.x1, plane.x2, plane.K).configuration == "planar"
    assert bansac.estimate_relative_pose(rotation.x1, rotation.x2, rotation.K).configuration == "pure_rotation"
    for scene in (epipolar_matches(n, 0.7, noise, 1), planar_scene_matches(n, 0.7, 0.8, noise, 1)):
        assert bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K).configuration == "general"


@whole_search
def test_little_depth_shows_among_many_outliers():
    """The parallax is at most 6 pixels, and fewer than 30 of 120 inliers are off a plane."""
    right = 0
    for seed in range(40):
        scene = awkward_scene("short baseline", "F", 300, 0.4, seed=seed)
        x1, x2 = scene.arguments
        found = bansac.estimate_fundamental(x1, x2, threshold=scene.threshold, seed=seed)
        right += found.configuration == "general"
    assert right >= 36


@whole_search
def test_a_large_threshold_hides_no_depth():
    plane, rotation = planar_scene_matches(500, 0.6, 1.0, 0.25, 1), rotation_matches(500, 0.6, 0.25, 1)
    deep = planar_scene_matches(500, 0.6, 0.8, 0.25, 1)
    for scene, expected in ((plane, "planar"), (rotation, "pure_rotation"), (deep, "general")):
        assert bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=10).configuration == expected
    assert bansac.estimate_fundamental(deep.x1, deep.x2, threshold=10).configuration == "general"


@whole_search
def test_a_scene_with_a_dominant_plane_is_general():
    for seed in SEEDS:
        assert found_by_f(planar_scene_matches(500, 0.5, 0.7, 0.25, seed)) == "general"


def test_points_on_a_line_of_one_image_are_collinear():
    scene = line_matches(1, outliers=0)
    data = np.ascontiguousarray(np.vstack([scene.x1.T, np.random.default_rng(0).uniform(0, 500, (2, 200))]))
    for problem in (HOMOGRAPHY, FUNDAMENTAL, ESSENTIAL):  # a homography maps a line to a line: image 2 is enough
        for arranged in (data, np.ascontiguousarray(np.roll(data, 2, axis=0)))[problem is HOMOGRAPHY :]:
            assert find_configuration(problem, arranged, np.zeros(200), 1.0) == "collinear"


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_inliers_off_a_line_are_chance_if_there_are_as_many_near_the_threshold(unit):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        data, residuals = rng.uniform(0, 500, (4, 1360)), np.zeros(1360)
        data[:2, :160] = line_matches(seed, 160, 0).x1.T
        residuals[160:] = rng.uniform(0, 30, 1200)  # some 40 inliers
        order = rng.permutation(1360)
        data, residuals = np.ascontiguousarray(unit * data[:, order]), unit * residuals[order]
        assert find_configuration(FUNDAMENTAL, data, residuals, unit) == "collinear"
        only_inliers = np.where(residuals > unit, 100 * unit, residuals)
        assert find_configuration(FUNDAMENTAL, data, only_inliers, unit) == "general"


@whole_search
def test_a_homography_has_a_plane():
    scene = homography_matches(seed=1)
    result = bansac.estimate_homography(scene.x1, scene.x2)
    assert result.configuration == "planar"
    assert result.message == f"homography with {result.num_inliers} of 500 inliers"


@whole_search
def test_it_does_not_depend_on_where_the_origin_is():
    for make in (epipolar_matches, lambda **s: planar_scene_matches(plane_share=1.0, **s)):
        scene = make(seed=3)
        result = bansac.estimate_fundamental(scene.x1, scene.x2)
        data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
        moved = data + np.array([[1e6], [-2e6], [5e5], [1e6]])
        facts = result.residuals.copy(), result.threshold  # writable, as within a search: one compilation less
        assert find_configuration(FUNDAMENTAL, moved, *facts) == find_configuration(FUNDAMENTAL, data, *facts)


def test_the_matches_of_a_plane_follow_its_homography():
    scene = planar_scene_matches(400, 0.6, 0.9, 0.2, 5)
    distances = np.linalg.norm(apply_transform(scene.H, scene.x1) - scene.x2, axis=1)
    data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
    residuals = np.where(scene.inliers, 0.1, 100.0)
    plane = matches_of_plane(FUNDAMENTAL, data, residuals, 0.5)
    assert plane[scene.on_plane].mean() > 0.98
    assert distances[plane].max() < 4
    assert not matches_of_plane(FUNDAMENTAL, data, np.full(400, np.inf), 0.5).any()


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, ["collinear", "collinear", "collinear"]),
        (1, ["collinear", "collinear", "collinear"]),
        (3, ["planar", "planar", "pure_rotation"]),
        (4, ["planar", "planar", "planar"]),
        (7, ["planar", "general", "general"]),
        (8, ["planar", "general", "general"]),
    ],
)
def test_few_inliers_are_no_crash(n, expected):
    scene = epipolar_matches(40, 1.0, 0.0, seed=1)
    data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
    residuals = np.where(np.arange(40) < n, 0.0, 100.0)
    problems = (HOMOGRAPHY, FUNDAMENTAL, ESSENTIAL)
    assert [find_configuration(problem, data, residuals, 1.0) for problem in problems] == expected


@pytest.mark.parametrize("n", [10, 12])
def test_few_exact_matches_of_a_general_scene_are_general(n):
    for seed in SEEDS:
        scene = epipolar_matches(n + 3, n / (n + 3), 0.0, seed)
        data = np.ascontiguousarray(np.column_stack([scene.x1, scene.x2]).T)
        assert find_configuration(FUNDAMENTAL, data, np.where(scene.inliers, 0.0, 100.0), 0.5) == "general"


def row(n, *others):
    """Return matches of a row of n points and of others (4 x N)."""
    x = np.vstack([np.column_stack([np.arange(n) * 40.0 + 50, np.full(n, 80.0)]), *others])
    return np.ascontiguousarray(np.hstack([x, x + np.array([30.0, 20.0])]).T)


OFF_ROW = [[100.0, 400]], [[300.0, 450]], [[410.0, 250]], [[80.0, 330]]


@pytest.mark.parametrize("threshold", [0.2, 1.0, 10.0])
@pytest.mark.parametrize(
    ("off", "of_h", "of_f"),
    [
        (1, "collinear", "collinear"),
        (2, UNVERIFIED, "collinear"),
        (3, UNVERIFIED, "collinear"),
        (4, "planar", UNVERIFIED),
    ],
)
def test_matches_off_a_line_determine_a_model_before_they_verify_it(off, of_h, of_f, threshold):
    data = row(20, *OFF_ROW[:off])
    residuals = np.zeros(data.shape[1])
    assert find_configuration(HOMOGRAPHY, data, residuals, threshold) == of_h
    assert find_configuration(FUNDAMENTAL, data, residuals, threshold) == of_f


@pytest.mark.parametrize("outliers", [2, 6])
def test_a_model_of_a_line_and_of_some_outliers_is_not_determined(outliers):
    data = row(20, *OFF_ROW[:2], np.random.default_rng(0).uniform(0, 500, (outliers, 2)))
    residuals = np.where(np.arange(data.shape[1]) < 22, 0.0, 100.0)
    assert find_configuration(HOMOGRAPHY, data, residuals, 1.0) == "collinear"


def test_an_exact_curve_is_no_line_at_a_threshold_of_its_size():
    angles = np.linspace(0, 6, 60)
    x = np.column_stack([5 * np.cos(angles), 3 * np.sin(angles)])
    data = np.ascontiguousarray(np.hstack([x, x + 3]).T)
    for threshold in (0.1, 1.0, 10.0):
        for problem in (HOMOGRAPHY, FUNDAMENTAL):
            found = find_configuration(problem, data, np.zeros(60), threshold, by_chance=True)
            assert found in (None, "planar")


def test_equal_points_are_collinear():
    data = np.repeat(np.arange(4.0)[:, None], 30, axis=1)
    assert find_configuration(FUNDAMENTAL, data, np.zeros(30), 1.0) == "collinear"


@whole_search
def test_the_message_says_what_is_not_determined():
    scene = planar_scene_matches(500, 0.5, 1.0, 0.3, seed=1)
    assert "does not determine the fundamental matrix" in bansac.estimate_fundamental(scene.x1, scene.x2).message
    assert "two motions" in bansac.estimate_essential(scene.x1, scene.x2, scene.K).message
    turned = rotation_matches(500, 0.5, 0.3, seed=1)
    assert "does not determine a translation" in bansac.estimate_essential(turned.x1, turned.x2, turned.K).message
    assert configuration_message(FUNDAMENTAL, "general") == configuration_message(HOMOGRAPHY, "planar") == ""


def test_rotations_are_told_from_planes_by_rays_alone():
    scene = rotation_matches(300, 1.0, 0.2, seed=2)
    rays = np.column_stack([normalise_points(scene.K, scene.x1), normalise_points(scene.K, scene.x2)]).T.copy()
    pixel = 1 / scene.K[0, 0]
    residuals = np.random.default_rng(0).uniform(0, 0.4 * pixel, 300)
    assert find_configuration(ESSENTIAL, rays, residuals, pixel) == "pure_rotation"
    assert find_configuration(FUNDAMENTAL, rays, residuals, pixel) == "planar"


def test_the_distance_from_a_plane_agrees_with_its_definition():
    rng = np.random.default_rng(0)
    data = rng.uniform(-1, 1, (4, 40))
    for _ in range(5):
        H = rng.normal(size=(3, 3)) + 2 * np.eye(3)
        expected = [reference.plane_distance(H, match) ** 0.5 for match in data.T]
        assert [plane_distance(data, H.ravel(), k) for k in range(40)] == pytest.approx(expected)


@pytest.mark.parametrize("sine", [0.05, 0.5, 0.9])
def test_the_rate_by_noise_is_that_of_random_directions(sine):
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 100_000)
    simulated = np.mean(np.abs(np.sin(angles)) <= sine)
    assert plain(rate_by_noise)(sine) == pytest.approx(simulated, rel=0.05)


def test_curves_have_no_configuration():
    x = np.linspace(0, 1, 50)
    assert bansac.fit_line(np.column_stack([x, x]), threshold=0.01).configuration is None
