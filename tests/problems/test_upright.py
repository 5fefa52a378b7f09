"""Essential matrices that keep known verticals."""

import numpy as np
import pytest
from numba import config

import bansac
from bansac.geometry import decompose_essential, essential_from_pose, normalise_points, rotation_matrix
from bansac.problems.essential import ESSENTIAL, ESSENTIAL_SYMMETRIC
from bansac.problems.upright import keep_verticals
from bansac.synthetic import epipolar_matches

DOWN = np.array([0.1, 1.0, 0.2]) / np.linalg.norm([0.1, 1.0, 0.2])


def scene(seed, n, ratio, noise=0.5):
    """Return matches, and normalised matches with the verticals (10 x N)."""
    made = epipolar_matches(n, inlier_ratio=ratio, noise=noise, seed=seed)
    verticals = np.tile(np.concatenate([DOWN, made.R @ DOWN]), (n, 1))
    points = [normalise_points(made.K, x) for x in (made.x1, made.x2)]
    return made, np.ascontiguousarray(np.hstack([*points, verticals]).T)


@pytest.mark.parametrize("problem", [ESSENTIAL, ESSENTIAL_SYMMETRIC])
@pytest.mark.parametrize("seed", range(4))
def test_a_disturbed_model_moves_to_the_true_one(problem, seed):
    made, data = scene(seed, 50, 1.0, noise=0.0)
    true = essential_from_pose(made.R, made.t)
    turn = rotation_matrix(np.random.default_rng(seed).normal(0, 1e-3, 3))
    found = keep_verticals(problem, data, (true @ turn).ravel(), 0.1)
    np.testing.assert_allclose(found.reshape(3, 3) * np.sign(found @ true.ravel()), true, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_model_keeps_the_verticals_among_outliers(seed):
    made, data = scene(seed, 100, 0.3)
    turn = rotation_matrix(np.random.default_rng(seed).normal(0, 3e-4, 3))
    model, threshold = (essential_from_pose(made.R, made.t) @ turn).ravel(), 1.5 / made.K[0, 0]
    found = keep_verticals(ESSENTIAL, data, model, threshold)
    tilts = [np.linalg.norm(R @ data[4:7, 0] - data[7:10, 0]) for R in decompose_essential(found.reshape(3, 3))[:2]]
    assert min(tilts) < 1e-9
    before, after = (np.sum(ESSENTIAL.distances(data[:4].copy(), of) <= threshold) for of in (model, found))
    assert after > 0.7 * before


def test_matches_that_determine_nothing_give_a_finite_model():
    _, data = scene(0, 10, 1.0)
    data[:4] = data[:4, :1]
    model = essential_from_pose(np.eye(3), np.array([1.0, 0.0, 0.0])).ravel()
    assert np.isfinite(keep_verticals(ESSENTIAL, data, model, 1e-3)).all()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take minutes")
def test_few_inliers_that_keep_the_verticals_are_a_success():
    found = []
    for seed in range(12):
        made, data = scene(seed, 60, 0.2)
        verticals = {"gravity1": data[4:7, 0], "gravity2": data[7:10, 0]}
        results = [
            bansac.estimate_relative_pose(made.x1, made.x2, made.K, threshold=1.5, max_iterations=5000, **known)
            for known in ({}, verticals)
        ]
        found.append([result.success for result in results])
    without, known = np.sum(found, axis=0)
    assert known >= 9
    assert known > without
