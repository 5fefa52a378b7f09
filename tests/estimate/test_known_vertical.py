"""Relative poses with known verticals."""

import numpy as np
import pytest

import bansac
from bansac.evidence.weights import density_weights
from bansac.geometry import normalise_points
from bansac.synthetic import epipolar_matches
from bansac_lab.metrics import pose_error

DOWN = np.array([0.1, 1.0, 0.2])


def scene(seed, ratio=0.5):
    made = epipolar_matches(400, inlier_ratio=ratio, noise=0.5, seed=seed)
    return made, {"gravity1": DOWN, "gravity2": 9.81 * made.R @ DOWN}


def test_the_pose_is_found_among_few_inliers():
    errors = []
    for seed in range(4):
        made, verticals = scene(seed, 0.1)
        result = bansac.estimate_relative_pose(made.x1, made.x2, made.K, threshold=1.5, **verticals)
        assert result.success
        assert result.num_inliers < 100
        np.testing.assert_array_equal(result.inliers, result.residuals <= result.threshold)
        errors.append(pose_error(*result.model, made.R, made.t))
    assert max(errors) < 5


def test_an_error_of_the_vertical_does_not_reach_the_pose():
    made, verticals = scene(1)
    wrong = verticals | {"gravity1": DOWN + np.array([0.01, 0, 0])}  # half a degree, or 8 thresholds
    exact, result = (
        bansac.estimate_relative_pose(made.x1, made.x2, made.K, threshold=1.0, **given) for given in (verticals, wrong)
    )
    assert pose_error(*result.model, *exact.model) < 0.02


def test_the_threshold_may_be_estimated_and_the_verticals_up():
    made, verticals = scene(2)
    up = {name: (-value).tolist() for name, value in verticals.items()}
    result = bansac.estimate_relative_pose(made.x1, made.x2, made.K, **up)
    assert result.success
    assert result.configuration == "general"
    assert 0.8 < result.threshold < 2
    pair = {"x1": made.x1, "x2": made.x2, "K1": made.K, **up}
    (other,) = bansac.estimate_many("relative_pose", [pair], workers=1)
    np.testing.assert_allclose(other.model.R, result.model.R, atol=1e-3)


@pytest.mark.parametrize(("n", "runs"), [(12, 20), (20, 20), (100, 5)])
def test_random_matches_are_no_success(n, runs):
    """The refinement moves a model through five matches, although a sample has three."""
    rng = np.random.default_rng(0)
    K = np.array([[600.0, 0, 320], [0, 600, 320], [0, 0, 1]])
    for _ in range(runs):
        (x1, x2), (down1, down2) = rng.uniform(0, 640, (2, n, 2)), rng.normal(size=(2, 3))
        for threshold in (1.0, None):
            result = bansac.estimate_relative_pose(
                x1, x2, K, threshold=threshold, max_iterations=2000, gravity1=down1, gravity2=down2
            )
            assert not result.success


def test_the_verticals_do_not_change_the_weights():
    made, verticals = scene(4)
    shrunk = np.where(np.arange(400)[:, None] % 3 > 0, 300 + 0.02 * (made.x1 - 300), made.x1)  # two thirds are crowded
    both = np.vstack([normalise_points(made.K, shrunk).T, normalise_points(made.K, made.x2).T])
    given = {"refinement": None, "threshold": 1.0, **verticals}
    named = bansac.estimate_relative_pose(shrunk, made.x2, made.K, weighting="density", **given)
    own = bansac.estimate_relative_pose(shrunk, made.x2, made.K, weights=density_weights(both), **given)
    assert named.score == own.score
    assert named.iterations == own.iterations


def test_a_plane_is_noticed():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-2, 2, (150, 2)), np.full(150, 5.0)])
    Y = X + np.array([0.5, 0.1, 0.2])
    x1, x2 = X[:, :2] / X[:, 2:], Y[:, :2] / Y[:, 2:] + rng.normal(0, 2e-4, (150, 2))
    result = bansac.estimate_relative_pose(x1, x2, threshold=1e-3, gravity1=[0, 1, 0], gravity2=[0, 1, 0])
    assert result.configuration == "planar"
    assert pose_error(*result.model, np.eye(3), [0.5, 0.1, 0.2]) < 2


def test_bad_verticals_are_named():
    made, verticals = scene(0)
    for change, message in (
        ({"gravity2": None}, "gravity2 must be given"),
        ({"gravity1": [0, 1]}, r"gravity1 must have shape \(3,\)"),
        ({"gravity1": [0, np.inf, 0]}, "gravity1 .*finite"),
        ({"gravity2": [0, 0, 0]}, "gravity2 must not be zero"),
    ):
        with pytest.raises(ValueError, match=message):
            bansac.estimate_relative_pose(made.x1, made.x2, made.K, **verticals | change)
    camera = bansac.Camera.unknown_focal(640, 480)
    with pytest.raises(ValueError, match="known focal lengths"):
        bansac.estimate_relative_pose(made.x1, made.x2, camera, **verticals)
