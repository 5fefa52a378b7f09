"""Weighted motions of space against Umeyama's SVD."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from bansac.compiled.jit import kernel
from bansac.geometry import rotation_matrix
from bansac.maths.quaternion import matrix_of
from bansac.problems.motion_3d import RIGID_3D, SIMILARITY_3D
from bansac.solvers import umeyama as module
from bansac.solvers.umeyama import umeyama
from tests.problems.in_loop import fit_data
from tests.reference import space

seeds = st.integers(0, 2**32 - 1)
solve = kernel(module.solve_motion)


def fit_weighted(x1, x2, weights, with_scale):
    model = fit_data(SIMILARITY_3D if with_scale else RIGID_3D, weights, x1, x2)
    return None if model is None else matrix_of(model)


@given(seed=seeds)
def test_the_fit_is_umeyama_s(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    x1, x2 = rng.normal(size=(2, n, 3)) * 10 ** rng.uniform(-3, 3) + rng.normal(size=3)
    if rng.random() < 0.5:  # near a motion
        x2 = rng.uniform(0.1, 10) * x1 @ rotation_matrix(rng.normal(size=3)).T + 0.01 * x2
    weights = rng.uniform(0.1, 1, n)
    for with_scale in (True, False):
        expected = space.umeyama(x1, x2, weights, with_scale)
        found = fit_weighted(x1, x2, weights, with_scale)
        cost = [(weights * np.sum((x1 @ m[:, :3].T + m[:, 3] - x2) ** 2, axis=1)).sum() for m in (found, expected)]
        assert cost[0] <= cost[1] * (1 + 1e-9) + 1e-18
        np.testing.assert_allclose(np.linalg.det(found[:, :3]) > 0, True)


@given(seed=seeds)
def test_the_fit_is_that_of_opencv_and_without_scale_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    x1, weights = rng.normal(size=(n, 3)), rng.uniform(0.1, 1, n)
    x2 = rng.uniform(0.1, 10) * x1 @ rotation_matrix(rng.normal(size=3)).T + rng.normal(size=3)
    x2 += 0.05 * rng.normal(size=(n, 3))
    motion, scale = cv2.estimateAffine3D(x1, x2, force_rotation=True)
    expected = np.column_stack([scale * motion[:, :3], motion[:, 3]])
    np.testing.assert_allclose(umeyama(x1, x2), expected, atol=1e-9)
    m1, m2 = weights @ x1 / weights.sum(), weights @ x2 / weights.sum()
    R = Rotation.align_vectors(x2 - m2, x1 - m1, weights=weights)[0].as_matrix()
    expected = np.column_stack([R, m2 - R @ m1])
    np.testing.assert_allclose(fit_weighted(x1, x2, weights, False), expected, atol=1e-9)


@given(seed=seeds, with_scale=st.booleans())
def test_a_sample_has_the_least_squares_of_its_three_matches_only(seed, with_scale):
    rng = np.random.default_rng(seed)
    x1 = rng.normal(size=(9, 3))
    x2 = rng.uniform(0.5, 2) * x1 @ rotation_matrix(rng.normal(size=3)).T + 0.1 * rng.normal(size=(9, 3)) + [1, 2, 3]
    order, model = rng.permutation(9), np.empty(7)
    sample = order[:3]
    assert solve(np.ascontiguousarray(np.hstack([x1, x2]).T), sample, with_scale, model, np.empty(module.SCRATCH))
    expected = space.umeyama(x1[sample], x2[sample], np.ones(3), with_scale)
    np.testing.assert_allclose(matrix_of(model), expected, atol=1e-6)


@pytest.mark.parametrize("rows", [0, 1])
def test_points_on_a_line_determine_no_motion(rows):
    sets = [np.random.default_rng(0).normal(size=(6, 3)), np.arange(6.0)[:, None] * [1, 2, 3]]
    assert umeyama(sets[rows], sets[1 - rows]) is None
    assert umeyama(np.ones((4, 3)), sets[0][:4]) is None
    assert fit_weighted(sets[0], sets[0], np.zeros(6), True) is None
