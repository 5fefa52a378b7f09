"""The sphere: contract, known answers, noise, covariance, several spheres, and points that do not determine one."""

import numpy as np
import pytest

import bansac
from tests.problems.of_scene import check


def distances(model, points):
    return np.abs(np.linalg.norm(points - model[:3], axis=1) - model[3])


def test_it_fulfils_the_contract_of_a_problem():
    check("sphere", distances)


@pytest.mark.parametrize("shape", ["square", "ring"])
def test_points_of_a_plane_determine_no_sphere(shape):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 100)
    ring = 50.0 * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    flat = rng.uniform(-50, 50, (100, 3)) * [1, 1, 0] if shape == "square" else ring
    result = bansac.fit_sphere(flat + rng.normal(0, 0.1, (100, 3)))
    assert result.configuration == "undetermined_curvature"
    assert "a plane fits as well" in result.message


def test_a_cap_with_enough_depth_determines_the_sphere():
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(300, 3)) * [0.3, 0.3, 0.0] + [0, 0, 1]
    points = 100.0 * normals / np.linalg.norm(normals, axis=1, keepdims=True) + rng.normal(0, 0.1, (300, 3))
    result = bansac.fit_sphere(points)
    assert result.configuration is None
    np.testing.assert_allclose(result.model, [0, 0, 0, 100], atol=1.0)


def test_collinear_points_have_no_sphere():
    result = bansac.fit_sphere(np.linspace(0, 1, 30)[:, None] * [1.0, 2.0, 3.0])
    assert not result.success
    assert result.model is None
