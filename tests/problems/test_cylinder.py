"""The cylinder: contract, known answers, noise, covariance, several cylinders, and points that do not determine one."""

import numpy as np
import pytest

import bansac
from bansac.problems.cylinder import scene
from tests.problems.of_scene import check


def distances(model, points):
    return np.abs(np.linalg.norm(np.cross(points[:, :3] - model[:3], model[3:6]), axis=1) - model[6])


def test_it_fulfils_the_contract_of_a_problem():
    check("cylinder", distances)


@pytest.mark.parametrize("factor", [-1.0, 3.0])
def test_sign_and_length_of_the_normals_do_not_matter(factor):
    points, model = scene(60, np.random.default_rng(3))
    points[::2, 3:] *= factor
    np.testing.assert_allclose(bansac.fit_cylinder(points).model, model, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", ["square", "ring"])
def test_points_of_a_plane_determine_no_cylinder(shape):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 100)
    normals = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]) if shape == "ring" else [[0.0, 0.0, 1.0]]
    flat = 50.0 * normals if shape == "ring" else rng.uniform(-50, 50, (100, 3)) * [1, 1, 0]
    normals = normals + rng.normal(0, 0.03, (100, 3))
    result = bansac.fit_cylinder(np.hstack([flat + rng.normal(0, 0.1, (100, 3)), normals]))
    assert result.configuration == "undetermined_curvature"
    assert "a plane fits as well" in result.message


def test_parallel_normals_give_no_cylinder():
    points = np.random.default_rng(0).uniform(0, 1, (30, 3))
    result = bansac.fit_cylinder(np.hstack([points, np.tile([0.0, 0.0, 2.0], (30, 1))]))
    assert not result.success
    assert result.model is None
