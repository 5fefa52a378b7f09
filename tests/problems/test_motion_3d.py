"""Rigid motions and similarities of space against known answers; the fit is tested with the solver."""

import re

import numpy as np
import pytest
from numba import config

import bansac
from bansac.geometry import rotation_matrix
from bansac.lab.known_scenes import known_scene
from bansac.maths.quaternion import matrix_of
from bansac.problems.motion_3d import RIGID_3D, SIMILARITY_3D
from tests.problems.in_loop import solve_sample

ESTIMATORS = {RIGID_3D.name: bansac.estimate_rigid_3d, SIMILARITY_3D.name: bansac.estimate_similarity_3d}
both = pytest.mark.parametrize("name", ESTIMATORS)
R = rotation_matrix([0.3, -1.0, 0.5])
compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, its searches take seconds each")


@pytest.mark.parametrize(("name", "problem"), [("rigid_3d", RIGID_3D), ("similarity_3d", SIMILARITY_3D)])
def test_a_sample_has_one_motion_or_none(name, problem):
    scene = known_scene(name, 3, 1.0, 0.0, seed=0)
    data = np.hstack(scene.arguments)
    (model,) = solve_sample(problem, data)
    np.testing.assert_allclose(matrix_of(model), scene.model, atol=1e-9)
    data[1] = 0.5 * (data[0] + data[2])
    assert len(solve_sample(problem, data)) == 0


@compiled
@both
def test_a_reflection_is_no_motion(name):
    x1 = np.random.default_rng(1).uniform(0, 10, (60, 3))
    assert not ESTIMATORS[name](x1, x1 * [1, 1, -1], threshold=0.05).success


@compiled
@both
def test_points_on_a_line_and_noise_are_no_success(name):
    rng = np.random.default_rng(2)
    line = np.linspace(0, 10, 50)[:, None] * [1, 2, 3] + rng.normal(0, 0.01, (50, 3))
    assert "lie on a line" in ESTIMATORS[name](line, line @ R.T, threshold=0.1).message
    assert not ESTIMATORS[name](line, line @ R.T, threshold=0.1).success
    x1, x2 = rng.uniform(0, 10, (2, 80, 3))
    assert not ESTIMATORS[name](x1, x2, threshold=0.1).success


@compiled
@pytest.mark.parametrize("name", ["rigid_3d", "similarity_3d", "affine_3d"])
def test_matches_at_random_in_a_window_are_no_motion(name):
    rng = np.random.default_rng(0)
    x1 = rng.uniform(0, 10, (200, 3))
    assert not getattr(bansac, f"estimate_{name}")(
        x1, x1 + rng.uniform([1.4, -0.6, -0.6], [2.6, 0.6, 0.6], (200, 3))
    ).success


@compiled
def test_the_message_names_a_threshold_for_noise_that_is_not_found():
    x1, x2 = known_scene("rigid_3d", 100, 0.4, 120.0, seed=0).arguments
    result = bansac.estimate_rigid_3d(x1, x2)
    assert not result.success
    threshold = float(re.search(r"with threshold=(\S+) a model has \d+ inliers", result.message)[1])
    assert bansac.estimate_rigid_3d(x1, x2, threshold=threshold).success
    assert "with threshold" not in bansac.estimate_rigid_3d(x1, np.random.default_rng(0).permutation(x2)).message
