"""The solvers of six matches with an unknown focal length."""

import numpy as np
import pytest

from bansac.problems.relative_focal import ONE_FOCAL, SHARED_FOCAL
from tests.problems.in_loop import solve_sample
from tests.reference import focal_6pt as reference
from tests.reference.epipolar import distance_up_to_scale

both = pytest.mark.parametrize("shared", [True, False], ids=["shared", "second"])


def solve(shared, x1, x2):
    """Return the fundamental matrices and the focal lengths of six matches."""
    models = solve_sample(SHARED_FOCAL if shared else ONE_FOCAL, x1, x2)
    return models[:, :9].reshape(-1, 3, 3), models[:, 9]


@pytest.mark.parametrize(("shared", "scenes", "least"), [(True, 200, 198), (False, 60, 59)], ids=["shared", "second"])
def test_the_focal_length_is_among_the_models(shared, scenes, least):
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(scenes):
        f = np.exp(rng.uniform(np.log(0.7), np.log(5)))
        x1, x2, F = reference.scene(rng, f if shared else 1.3, f)
        models = zip(*solve(shared, x1 if shared else x1 / 1.3, x2), strict=True)
        truth = F if shared else F @ np.diag([1.3, 1.3, 1])
        found += any(distance_up_to_scale(model, truth) < 1e-6 and abs(focal / f - 1) < 1e-6 for model, focal in models)
    assert found >= least


@both
def test_the_models_are_those_of_the_eigenvalue_problem(shared):
    rng = np.random.default_rng(1)
    agree = 0
    for _ in range(60):
        x1, x2, _ = reference.scene(rng, 1.5, 1.5)
        expected = reference.focal_lengths(x1, x2, shared)
        expected = expected[(expected > 0.3) & (expected < 40)]
        found = np.sort(solve(shared, x1, x2)[1])
        found = found[(found > 0.3) & (found < 40)]
        agree += len(found) == len(expected) and np.allclose(found, expected, rtol=1e-5)
    assert agree >= 56


@both
def test_every_model_agrees_with_its_sample_and_its_focal_length(shared):
    rng = np.random.default_rng(2)
    for _ in range(50):
        x1, x2 = rng.uniform(-1, 1, (2, 6, 2))
        for F, f in zip(*solve(shared, x1, x2), strict=True):
            h1, h2 = np.insert(x1, 2, 1, axis=1), np.insert(x2, 2, 1, axis=1)
            assert np.abs(np.einsum("ni,ij,nj->n", h2, F, h1)).max() < 1e-9
            assert np.linalg.norm(F) == pytest.approx(1)
            D = np.diag([f, f, 1])
            s = np.linalg.svd(D @ F @ (D if shared else np.eye(3)))[1]
            assert s[0] == pytest.approx(s[1], rel=1e-2)
            assert s[2] < 1e-3 * s[0]


@both
@pytest.mark.parametrize(
    ("x1", "x2"),
    [
        (np.zeros((6, 2)), np.zeros((6, 2))),
        (np.ones((6, 2)), np.full((6, 2), 2.0)),
        (np.outer(np.arange(6), [1.0, 0.5]), np.outer(np.arange(6), [0.3, 1.0])),
        (np.repeat(np.eye(2), 3, axis=0), np.repeat(np.eye(2), 3, axis=0)),
    ],
    ids=["zeros", "equal", "collinear", "repeated"],
)
def test_degenerate_samples_have_no_model(x1, x2, shared):
    assert len(solve(shared, x1, x2)[1]) == 0


@pytest.mark.parametrize("motion", ["pure rotation", "identity", "plane"])
def test_samples_that_determine_no_focal_length_do_not_crash(motion):
    rng = np.random.default_rng(4)
    x1 = rng.uniform(-1, 1, (6, 2))
    H = {"identity": np.eye(3), "plane": np.eye(3) + 0.1 * rng.normal(size=(3, 3))}.get(motion)
    if H is None:
        c, s = np.cos(0.1), np.sin(0.1)
        H = np.diag([2, 2, 1]) @ [[c, 0, s], [0, 1, 0], [-s, 0, c]] @ np.diag([0.5, 0.5, 1])
    x2 = np.insert(x1, 2, 1, axis=1) @ H.T
    F, f = solve(True, x1, x2[:, :2] / x2[:, 2:])
    assert np.isfinite(F).all()
    assert (f > 0).all()
