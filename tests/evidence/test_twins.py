"""The comparison of twins, and the way from one to the other."""

import numpy as np
import pytest

from bansac.evidence.twins import compare_twins, find_twins
from bansac.geometry import essential_from_pose, normalise_points
from bansac.problems.essential import ESSENTIAL
from bansac.synthetic import epipolar_matches
from bansac_lab.measurements.rival_scenes import narrow_view
from bansac_lab.scenes import scene_of


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (np.full(100, 1.01), (False, True)),  # the sum rises by 2 variances
        (np.full(100, 1.03), (False, False)),  # by 6
        (np.full(100, 0.99), (True, True)),
        (np.full(100, 0.97), (True, False)),
        (np.append(np.full(99, 1.0), 1e6), (False, True)),  # an outlier costs as much as one at two thresholds
    ],
)
def test_the_sum_of_squared_errors_decides(second, expected):
    assert compare_twins(np.ones(100), second, 1.0, components=1, parameters=0) == expected


def test_errors_of_two_components_have_half_the_variance():
    arguments = np.ones(100), np.full(100, 1.015), 1.0  # 3 variances, 6 of one component
    assert compare_twins(*arguments, components=1, parameters=0)[1]
    assert not compare_twins(*arguments, components=2, parameters=0)[1]


def rays_and_truth(scene):
    truth, inliers = scene.truth, scene.inliers
    rays = np.vstack([normalise_points(truth.K1, x[inliers]).T for x in (truth.x1, truth.x2)])
    return np.ascontiguousarray(rays), essential_from_pose(truth.R, truth.t)


def test_only_a_badly_determined_model_has_a_valley():
    rays, E = rays_and_truth(scene_of("E", epipolar_matches(400, 0.8, 0.5, seed=0)))
    assert find_twins(ESSENTIAL, rays, E.ravel()) == []
    rays, E = rays_and_truth(narrow_view(0))
    few = np.ascontiguousarray(rays[:, :8])
    ends = find_twins(ESSENTIAL, few, E.ravel())
    lengths = [np.linalg.norm(end - E.ravel()) for end in ends]
    np.testing.assert_allclose(sum(ends), 4 * E.ravel(), atol=1e-12)
    np.testing.assert_allclose(lengths, max(lengths) * np.array([1, 0.5, 0.5, 1]))
    assert max(lengths) > 2 * 0.07
    random = np.random.default_rng(0).normal(size=(20, 5)) @ ESSENTIAL.tangent_basis(E.ravel())
    others = E.ravel() + lengths[1] * random / np.linalg.norm(random, axis=1)[:, None]
    valley, *costs = (np.sum(ESSENTIAL.distances(few, model) ** 2) for model in (ends[1], *others))
    assert valley < min(costs)  # it rises least


def test_what_is_beyond_the_range_of_floats_has_no_valley():
    rays, E = rays_and_truth(narrow_view(0))
    with np.errstate(all="ignore"):
        assert find_twins(ESSENTIAL, 1e200 * rays[:, :8], E.ravel()) == []


def test_exact_matches_have_no_valley():
    rays, E = rays_and_truth(scene_of("E", epipolar_matches(50, 1.0, 0.0, seed=0)))
    assert find_twins(ESSENTIAL, rays, E.ravel()) == []
