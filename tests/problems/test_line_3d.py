"""The line in space: contract, known answers, noise, covariance, several lines, and points that determine none."""

import numpy as np

import bansac
from tests.problems.of_scene import check


def distances(model, points):
    return np.linalg.norm(np.cross(points - model[:3], model[3:]), axis=1)


def test_it_fulfils_the_contract_of_a_problem():
    check("line_3d", distances)


def test_the_point_is_the_nearest_to_the_origin_and_the_direction_has_a_sign():
    points = np.linspace(-3, 5, 40)[:, None] * [0.0, -1.0, -2.0] + [4.0, 0.0, 0.0]
    line, _ = bansac.fit_line_3d(points, threshold=0.01)
    np.testing.assert_allclose(line, [4, 0, 0, 0, 1 / np.sqrt(5), 2 / np.sqrt(5)], atol=1e-9)


def test_the_direction_is_that_of_the_largest_scatter():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 3)) * [50.0, 0.3, 0.3] + [1.0, 2.0, 3.0]
    line, _ = bansac.fit_line_3d(points)
    largest = np.linalg.svd(points - points.mean(axis=0))[2][0]
    assert abs(largest @ line[3:]) > 1 - 1e-7
