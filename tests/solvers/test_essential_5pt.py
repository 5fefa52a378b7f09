"""The five-point solver."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.solvers.essential_5pt import essential_5pt
from tests.reference import epipolar as reference

seeds = st.integers(0, 2**32)


def test_five_points_give_the_truth_among_the_models():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        data, R, t = reference.random_scene(rng, 5)
        models = essential_5pt(data[:2].T, data[2:].T)
        found += any(reference.distance_up_to_scale(E, reference.cross_matrix(t) @ R) < 1e-6 for E in models)
    assert found >= 993


@given(seeds)
def test_every_model_is_essential_and_agrees_with_its_sample(seed):
    data = np.random.default_rng(seed).uniform(-1, 1, (4, 5))
    models = essential_5pt(data[:2].T, data[2:].T)
    assert len(models) <= 10
    x1, x2 = reference.homogeneous(data)
    for E in models:
        size = np.abs(E).max()
        assert np.linalg.norm(E) == pytest.approx(np.sqrt(2))
        assert np.abs(np.einsum("in,ij,jn->n", x2, E, x1)).max() < 1e-7 * size
        trace_constraint = 2 * E @ E.T @ E - np.trace(E @ E.T) * E
        # The worst root of a random sample has lost half of the digits.
        assert np.abs(trace_constraint).max() < 1e-3


def test_the_models_are_those_of_opencv():
    # OpenCV gives all matrices of five points; its digits suffice for nearly all samples.
    rng = np.random.default_rng(3)
    agree = np.zeros(300, bool)
    for k in range(300):
        data = reference.random_scene(rng, 5)[0] if k % 2 else rng.uniform(-1, 1, (4, 5))
        x1, x2 = data[:2].T.copy(), data[2:].T.copy()
        models, others = essential_5pt(x1, x2), cv2.findEssentialMat(x1, x2, np.eye(3))[0]
        others = [] if others is None else others.reshape(-1, 3, 3)
        if len(models) == len(others):
            agree[k] = max(reference.farthest(models, others), reference.farthest(others, models)) < 1e-6
    assert agree.mean() >= 0.97


def test_rays_and_points_give_the_same_models():
    data, _, _ = reference.random_scene(np.random.default_rng(2), 5)
    rays1, rays2 = (rows.T for rows in reference.homogeneous(data))
    unit1, unit2 = (rays / np.linalg.norm(rays, axis=1, keepdims=True) for rays in (rays1, rays2))
    expected = essential_5pt(data[:2].T, data[2:].T)
    for rays in ((unit1, unit2), (unit1.tolist(), unit2.tolist()), (-3.0 * rays1, rays2)):  # also backwards
        assert essential_5pt(*rays) == pytest.approx(expected, abs=1e-6)


def test_degenerate_samples_have_no_model():
    assert len(essential_5pt(np.zeros((5, 2)), np.zeros((5, 2)))) == 0
    assert len(essential_5pt(np.ones((5, 2)), np.full((5, 2), 2.0))) == 0


def test_sideways_motion_is_found():
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(200):
        x1 = rng.uniform(-1, 1, (5, 2))
        x2 = x1 + np.outer(1 / rng.uniform(2, 8, 5), [1, 0])
        truth = reference.cross_matrix([1, 0, 0])
        found += any(reference.distance_up_to_scale(E, truth) < 1e-6 for E in essential_5pt(x1, x2))
    assert found >= 190
