"""Absolute poses with an unknown focal length: the problem against literal references."""

import numpy as np
import pytest

from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from tests.problems.test_every_problem import LITERAL, random_model


def test_a_point_behind_the_camera_has_no_derivatives():
    model = np.array([1.0, 0, 0, 0, 0, 0, 1, 2])
    data = np.array([[0.1, 0.1], [0.2, 0.2], [0, 0], [0, 0], [1, -3.0]])
    residuals, jacobian = np.empty((2, 2)), np.full((16, 2), np.nan)
    UNKNOWN_FOCAL_POSE.manifold[0](data, model, 0, 2, residuals, jacobian)
    assert residuals[:, 0] == pytest.approx([-0.1, -0.2])
    assert residuals[0, 1] > 1e5
    assert np.isfinite(jacobian).all()
    assert not jacobian[:, 1].any()


def test_the_significance_form_has_image_points_and_projections():
    rng, name = np.random.default_rng(1), "absolute pose, f unknown"
    model, data = random_model(name, rng), rng.normal(size=(5, 30))
    model[6] = 5.0
    problem, matches, identity = UNKNOWN_FOCAL_POSE.significance_form(data, model)
    assert problem.sample_size == UNKNOWN_FOCAL_POSE.sample_size
    np.testing.assert_allclose(matches[:2], data[:2], rtol=1e-12)
    np.testing.assert_allclose(problem.distances(matches, identity), LITERAL[name](model, data), rtol=1e-6)


@pytest.mark.parametrize("f", [0.0, 0.01, 1e4, np.nan])
def test_an_extreme_focal_length_has_no_projection(f):
    assert not UNKNOWN_FOCAL_POSE.manifold[2](np.array([1.0, 0, 0, 0, 0, 0, 1, f]), np.empty(1))
