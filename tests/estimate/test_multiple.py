"""Several models in the same data."""

import cv2
import numpy as np
import pytest
import skimage.data

import bansac
from bansac.geometry import normalise_points
from bansac.problems.estimators import MODELS
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches
from bansac_lab.known_scenes import known_scene


def crossing_lines(count, outliers, noise=0.004, seed=0):
    """Return points of a star of lines through the centre, uniform outliers, and the true labels."""
    rng = np.random.default_rng(seed)
    angles = np.pi * (np.arange(count) + 0.3) / count
    parts = []
    for angle in angles:
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        parts.append(rng.uniform(-1, 1, (60, 1)) * along + (0.1 + rng.normal(0, noise, (60, 1))) * across)
    points = np.vstack([*parts, rng.uniform(-1, 1, (outliers, 2))])
    return points, np.repeat([*range(count), -1], [60] * count + [outliers])


def assigned(labels, truth):
    """Return the share of right labels, where each true model has the label that most of its points have."""
    right = np.sum((labels == -1) & (truth == -1))
    for k in range(truth.max() + 1):
        right += np.bincount(labels[truth == k] + 1, minlength=2)[1:].max()
    return right / len(truth)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_all_lines_are_found_and_no_other(count):
    points, truth = crossing_lines(count, 100)
    result = bansac.estimate_multiple("line", points)
    assert len(result.models) == count
    assert result.success
    assert result.stop_reason == "no_more"
    assert assigned(result.labels, truth) > 0.9
    sizes = [np.count_nonzero(result.labels == k) for k in range(count)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(f" {size}" in result.message for size in sizes)


def test_probabilities_are_those_of_the_labels_and_each_model_has_its_residuals():
    points, _ = crossing_lines(3, 60)
    result = bansac.estimate_multiple(LINE, points)
    models, labels = result
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0)
    best = result.probabilities[np.arange(len(points)), labels]  # column -1 is that of label -1
    np.testing.assert_array_equal(best, result.probabilities.max(axis=1))
    for k, (model, found) in enumerate(zip(models, result.results, strict=True)):
        np.testing.assert_array_equal(found.inliers, found.residuals <= found.threshold)
        np.testing.assert_allclose(found.residuals, np.abs(points @ model[:2] + model[2]), atol=1e-12)
        np.testing.assert_array_equal(found.probabilities, result.probabilities[:, k])
    with pytest.raises(ValueError, match="read-only"):
        result.labels[0] = 0
    assert "3 x line" in repr(result)


def test_a_shared_point_belongs_to_the_nearer_line():
    points, _ = crossing_lines(2, 0, noise=0.002)
    result = bansac.estimate_multiple("line", points, threshold=0.02)
    residuals = np.array([found.residuals for found in result.results])
    contested = np.all(residuals < 0.01, axis=0) & (np.abs(residuals[0] - residuals[1]) > 0.005)
    assert contested.any()
    np.testing.assert_array_equal(result.labels[contested], residuals.argmin(axis=0)[contested])


def test_noise_and_too_few_points_have_no_model():
    for n in (0, 1):
        result = bansac.estimate_multiple("line", np.zeros((n, 2)))
        assert not result.success
        assert len(result.labels) == n
        assert "at least 2" in result.message
    for seed in range(5):
        result = bansac.estimate_multiple("line", np.random.default_rng(seed).uniform(-1, 1, (150, 2)))
        assert not result.success
        assert result.models == ()
        assert np.all(result.labels == -1)
        assert result.probabilities.shape == (150, 1)
        assert "chance" in result.message
        assert "no line in 150 points; the last search: line with" in result.message


def with_outliers(y, noise, seed, slope=0.0):
    """Return points at these heights, or on lines of these slopes, with noise, among 40 outliers."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, len(y))
    points = np.column_stack([x, y + slope * x + rng.normal(0, noise, len(y))])
    return np.vstack([points, rng.uniform(-1, 1, (40, 2))])


@pytest.mark.parametrize("gap", [0.02, 0.04])
def test_parallel_lines_are_not_one_line_of_large_noise(gap):
    truth = np.repeat([0, 1, -1], [60, 60, 40])
    result = bansac.estimate_multiple("line", with_outliers(np.repeat([0.0, gap], 60), 0.002, seed=0))
    assert len(result.models) == 2
    assert assigned(result.labels, truth) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_a_line_of_large_noise_is_not_split(seed):
    assert len(bansac.estimate_multiple("line", with_outliers(np.full(150, 0.3), 0.02, seed)).models) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_precise_line_within_the_noise_of_another_one_is_found(seed):
    y, noise, slope = (np.repeat(of_each, [100, 80]) for of_each in ([0.0, 0.05], [0.04, 0.002], [0.0, 0.2]))
    assert len(bansac.estimate_multiple("line", with_outliers(y, noise, seed, slope)).models) == 2


def test_the_edge_of_a_worn_coin_is_one_circle():
    coins = skimage.data.coins()[15:150, 15:182]
    points = np.argwhere(cv2.Canny(cv2.GaussianBlur(coins, (0, 0), 2), 50, 120))[:, ::-1]
    assert [len(bansac.estimate_multiple("circle", points, seed=seed).models) for seed in range(2)] == [6, 6]


@pytest.mark.parametrize("seed", [0, 21])
def test_a_threshold_below_the_noise_ends(seed):
    """A significant model whose points are all more likely outliers explains nothing, and is not found again."""
    result = bansac.estimate_multiple("line", with_outliers(np.full(150, 0.3), 0.02, seed), threshold=0.01)
    assert result.stop_reason == "no_more"
    assert all(np.any(result.labels == k) for k in range(len(result.models)))


def test_max_models_and_max_seconds_end_the_search():
    points, _ = crossing_lines(3, 60)
    result, again = (bansac.estimate_multiple("line", points, max_models=2, seed=7) for _ in range(2))
    assert len(result.models) == 2
    assert result.seed == 7
    np.testing.assert_array_equal(result.probabilities, again.probabilities)
    assert result.stop_reason == "max_models"
    assert "max_models" in result.message
    crowded = np.vstack([points, np.add(points[:60], [0.0, 0.03])])  # points become free after the contest
    assert len(bansac.estimate_multiple("line", crowded, max_models=2).models) <= 2
    short = bansac.estimate_multiple("line", points, max_seconds=1e-9)
    assert short.stop_reason == "max_seconds"
    assert len(short.models) <= 1


def test_planes_of_two_images_with_and_without_priors():
    rng = np.random.default_rng(3)
    x1 = rng.uniform(0, 600, (200, 2))
    x2 = rng.uniform(0, 600, (200, 2))
    maps = [
        [[1.0, 0.05, 20.0], [0.0, 1.1, 5.0], [1e-5, 0.0, 1.0]],
        [[0.9, 0.0, -40.0], [0.1, 0.95, 30.0], [0.0, 0.0, 1.0]],
    ]
    truth = np.repeat([0, 1, -1], [80, 60, 60])
    for k, H in enumerate(maps):
        own = truth == k
        image = np.column_stack([x1[own], np.ones(own.sum())]) @ np.array(H).T
        x2[own] = image[:, :2] / image[:, 2:] + rng.normal(0, 0.5, (own.sum(), 2))
    data = np.hstack([x1, x2])
    for given in ({}, {"scores": np.where(truth >= 0, 0.8, 0.3)}, {"sampler": "uniform"}):
        models, labels = bansac.estimate_multiple(HOMOGRAPHY, data, **given)
        assert [model.shape for model in models] == [(3, 3), (3, 3)]
        assert np.mean(labels == truth) > 0.95


def test_invalid_arguments_are_named():
    points, _ = crossing_lines(1, 10)
    bad = [({"max_models": k}, f"max_models must be an integer >= 1 or None, got {k!r}") for k in (0, 2.5, "2", True)]
    for change, message in (
        *bad,
        ({"problem": "lines"}, r"problem must be .*'line'.* got 'lines'"),
        ({"problem": "polynomial"}, r"problem must be .*'line'.* got 'polynomial'"),
        ({"problem": points}, r"problem must be .* got ndarray"),
        ({"priors": np.ones(3)}, "priors"),
        ({"data": np.zeros((5, 3))}, "data must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            bansac.estimate_multiple(**{"problem": "line", "data": points} | change)


@pytest.mark.parametrize("name", ["affine_3d", "affine-3d", "estimate_affine_3d"])
def test_one_problem_has_the_same_names_everywhere(name):
    scene = known_scene("affine_3d", 40, 1.0, 1e-3, 0)
    function = getattr(bansac, name, name)
    result = bansac.estimate_many(function, [scene.arguments], threshold=0.01)[0]
    several = bansac.estimate_multiple(function, np.hstack(scene.arguments), threshold=0.01)
    assert result.success
    assert len(several.models) == 1
    assert bansac.covariance(function, result, *scene.arguments).matrix.shape == (12, 12)


@pytest.mark.parametrize("name", ["ellipse", "rigid-3d", "similarity-3d"])
def test_models_have_the_form_of_the_estimator(name):
    row = MODELS[name]
    scenes = [known_scene(row.name, 80, 1.0, 1e-3, seed) for seed in (0, 1)]
    data, truth = np.vstack([np.hstack(scene.arguments) for scene in scenes]), [scene.model for scene in scenes]
    result = bansac.estimate_multiple(name, data, threshold=0.01)
    for models in (result.models, [found.model for found in result.results]):
        assert len(models) == 2
        nearest = [min(models, key=lambda model, true=true: np.abs(model - true).sum()) for true in truth]
        np.testing.assert_allclose(nearest, truth, atol=0.01)
    assert bansac.estimate_multiple(row.load_problem(), data, threshold=0.01).models[0].shape == (
        row.load_problem().model_shape
    )


def test_absolute_poses_and_essential_matrices_have_their_public_types():
    scene = epipolar_matches(100, inlier_ratio=1.0, noise=0.0, seed=1)
    x1, x2 = (normalise_points(scene.K, x) for x in (scene.x1, scene.x2))
    (E,), _ = bansac.estimate_multiple("E", np.hstack([x1, x2]), threshold=1e-3)
    assert E.shape == (3, 3)
    X = np.random.default_rng(0).uniform([-2, -2, 4], [2, 2, 8], (100, 3))
    (pose,), _ = bansac.estimate_multiple("absolute-pose", np.hstack([X[:, :2] / X[:, 2:], X - [0, 0, 6]]))
    assert isinstance(pose, bansac.AbsolutePose)
    np.testing.assert_allclose(pose.t, [0, 0, 6], atol=1e-6)
