"""The solver of four points with an unknown focal length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.maths.quaternion import matrix_of
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from tests.problems.in_loop import solve_sample
from tests.reference import p4pf as reference
from tests.reference import space

TILT = 0.5


def found(X, x):
    unit = np.abs(x).max() or 1.0
    models = [(matrix_of(model[:7]), model[7]) for model in solve_sample(UNKNOWN_FOCAL_POSE, x / unit, X)]
    return [(pose[:, :3], pose[:, 3], f * unit) for pose, f in models]


def distance(model, truth):
    """Return the largest difference of R, of t relative to its length, and of f relative to it."""
    (R, t, f), (R0, t0, f0) = model, truth
    return max(np.abs(R - R0).max(), np.abs(t - t0).max() / np.linalg.norm(t0), abs(f / f0 - 1))


def error(model, X, x):
    R, t, f = model
    return space.reprojection_errors(R, t, X, x / f).max() * f


@given(seed=st.integers(0, 2**32), tilt=st.sampled_from([None, TILT]))
def test_models_are_rotations_in_front_of_the_camera(seed, tilt):
    X, x, *_ = reference.scene(np.random.default_rng(seed), tilt=tilt)
    for R, t, f in found(X, x):
        assert R @ R.T == pytest.approx(np.eye(3), abs=1e-9)
        assert np.linalg.det(R) > 0
        assert f > 0
        assert np.all(X @ R[2] + t[2] > 0)


@pytest.mark.parametrize("tilt", [None, TILT], ids=["general", "plane"])
def test_the_truth_is_among_the_models(tilt):
    rng, errors = np.random.default_rng(0), []
    for _ in range(300):
        X, x, *truth = reference.scene(rng, tilt=tilt)
        errors.append(min((distance(model, truth) for model in found(X, x)), default=np.inf))
    assert np.mean(np.array(errors) < 1e-4) >= 0.98


def test_points_near_a_plane():
    rng, errors = np.random.default_rng(1), []
    for _ in range(200):
        X, _, R, t, f = reference.scene(rng, tilt=TILT)
        X = X + rng.normal(0, 0.01, X.shape)
        seen = X @ R.T + t
        models = found(X, f * seen[:, :2] / seen[:, 2:])
        errors.append(min((abs(model[2] / f - 1) for model in models), default=np.inf))
    assert np.mean(np.array(errors) < 0.1) >= 0.8


def test_the_models_are_those_of_the_eigenvalue_problem():
    rng, agree = np.random.default_rng(2), 0
    for _ in range(60):
        X, x, *_ = reference.scene(rng)
        exact = [model for model in found(X, x) if error(model, X, x) < 1e-5]
        expected = reference.p4pf(X, x)
        focals = [np.unique(np.round(sorted(model[2] for model in models), 4)) for models in (exact, expected)]
        agree += len(focals[0]) == len(focals[1]) and np.allclose(*focals, atol=1e-3)
    assert agree >= 56


def test_the_focal_lengths_are_those_of_another_library():
    poselib = pytest.importorskip("poselib", reason="the peer poselib is not installed")
    rng, agree = np.random.default_rng(3), 0
    for _ in range(200):
        X, x, *_, f = reference.scene(rng)
        theirs = [focal for focal in poselib.p4pf(x, X, True)[1] if abs(focal / f - 1) < 1e-6]
        agree += not theirs or min((abs(model[2] / f - 1) for model in found(X, x)), default=1) < 1e-4
    assert agree >= 190


@pytest.mark.parametrize("tilt", [None, TILT], ids=["general", "plane"])
def test_the_unit_of_the_points_has_no_effect(tilt):
    X, x, *_ = reference.scene(np.random.default_rng(4), tilt=tilt)
    expected = [f for *_, f in found(X, x)]
    assert len(expected) > 0
    for unit in (1e-4, 1e4):
        assert [f for *_, f in found(unit * X, x)] == pytest.approx(expected)


def test_a_plane_parallel_to_the_image_has_a_usual_focal_length():
    X, x, *_ = reference.scene(np.random.default_rng(5), tilt=0.0)
    ((R, t, f),) = found(X, x)
    assert error((R, t, f), X, x) < 1e-9
    assert f == pytest.approx(1.7 * np.abs(x).max())


@pytest.mark.parametrize("degenerate", ["equal", "collinear", "equal images", "collinear images", "one twice"])
def test_degenerate_samples_have_no_model(degenerate):
    X, x, *_ = reference.scene(np.random.default_rng(6), tilt=TILT)
    if degenerate == "equal":
        X = np.ones((4, 3))
    elif degenerate == "collinear":
        X = np.outer(np.arange(4.0), [1.0, 2.0, 3.0])
    elif degenerate == "equal images":
        x = np.zeros((4, 2))
    elif degenerate == "collinear images":
        x = np.outer([0.1, 0.5, 0.2, 0.7], [1.0, 0.5])
    else:
        X, x = X[[0, 1, 2, 2]], x[[0, 1, 2, 2]]
    assert found(X, x) == []
