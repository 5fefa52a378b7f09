"""The solver of three matches with known verticals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.geometry import decompose_essential
from bansac.problems.essential import ESSENTIAL
from bansac.problems.upright import upright
from tests.problems.in_loop import solve_sample
from tests.reference import epipolar as reference


def solve(data, gravity1, gravity2):
    """Return the models of three matches (4 x 3) and the unit verticals."""
    verticals = np.tile([*gravity1, *gravity2], (3, 1))
    return solve_sample(upright(ESSENTIAL), data.T, verticals).reshape(-1, 3, 3)


def draw(rng):
    """Return three matches, the true E and the verticals; one of four is near an optical axis."""
    data, R, t = reference.random_scene(rng, 3)
    gravity = rng.normal(size=3) + rng.choice([0.0, 0.0, 0.0, 20.0]) * np.array([0, 0, 1])
    gravity /= np.linalg.norm(gravity)
    return data, reference.cross_matrix(t) @ R, gravity, R @ gravity


def frame(gravity):
    """Return a rotation whose second row is the vertical."""
    first = np.cross(gravity, [0.3, 0.2, 1.0])
    first /= np.linalg.norm(first)
    return np.array([first, gravity, np.cross(first, gravity)])


def test_the_truth_is_among_the_models():
    rng = np.random.default_rng(0)
    for _ in range(300):
        data, E, *verticals = draw(rng)
        assert reference.is_among(E, solve(data, *verticals))


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_every_model_is_essential_agrees_with_its_sample_and_keeps_the_vertical(seed):
    rng = np.random.default_rng(seed)
    data, gravities = rng.uniform(-1, 1, (4, 3)), rng.normal(size=(2, 3))
    gravities /= np.linalg.norm(gravities, axis=1, keepdims=True)
    models = solve(data, *gravities)
    assert len(models) <= 4
    x1, x2 = reference.homogeneous(data)
    first, second = map(frame, gravities)
    for E in models:
        assert np.linalg.svd(E)[1] == pytest.approx([1, 1, 0], abs=1e-9)
        assert np.abs(np.einsum("in,ij,jn->n", x2, E, x1)).max() < 1e-7
        M = second @ E @ first.T  # [t]x R with a rotation R about the second axis
        assert M[1, 1] == pytest.approx(0, abs=1e-9)
        R1, R2, _ = decompose_essential(M)
        assert max(R1[1, 1], R2[1, 1]) == pytest.approx(1, abs=1e-6)


def test_the_models_are_those_of_poselib():
    poselib = pytest.importorskip("poselib", reason="the peer poselib is not installed")
    rng = np.random.default_rng(1)
    for _ in range(100):
        data, _, gravity1, gravity2 = draw(rng)
        models = solve(data, gravity1, gravity2)
        frames = frame(gravity1), frame(gravity2)
        rays = [
            (F @ x).T / np.linalg.norm(x, axis=0)[:, None]
            for F, x in zip(frames, reference.homogeneous(data), strict=True)
        ]
        for pose in poselib.relpose_upright_3pt(*rays):
            E = frames[1].T @ reference.cross_matrix(pose.t / np.linalg.norm(pose.t)) @ pose.R @ frames[0]
            assert reference.is_among(E, models)


def test_equal_matches_have_no_model():
    assert solve(np.zeros((4, 3)), [0, 1, 0], [0, 1, 0]).shape == (0, 3, 3)
