"""The relative pose of matches with depths: residuals against the definition, derivatives against differences."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.problems.relative_depth import RELATIVE_DEPTH, essential_of
from bansac.synthetic import depth_matches
from tests.problems.in_loop import compile_residuals
from tests.reference import epipolar, space
from tests.reference import relative_depth as reference

seeds = st.integers(0, 2**32)


def draw(seed, n=20, noise=0.1):
    """Return a model near the identity and matches of points in front of both cameras with depths, some unknown."""
    rng = np.random.default_rng(seed)
    model = np.concatenate([[1.0], 0.1 * rng.normal(size=3), 0.3 * rng.normal(size=3), rng.uniform(0.5, 2.0, 1)])
    model[:4] /= np.linalg.norm(model[:4])
    rays, depths = np.vstack([rng.uniform(-0.5, 0.5, (2, n)), np.ones(n)]), rng.uniform(2.0, 6.0, n)
    moved = space.rotate(model[:4], (depths * rays).T).T + model[4:7, None]
    errors = np.exp(noise * rng.normal(size=(2, n)))
    data = np.vstack([rays[:2], moved[:2] / moved[2], errors * [depths, model[7] * moved[2]], np.full(n, 1e4)])
    data[:4] += 0.01 * noise * rng.normal(size=(4, n))
    data[4, :3] = data[5, 5:8] = 0.0
    return model, data


@settings(max_examples=30)
@given(seed=seeds)
def test_residuals_are_those_of_the_definition(seed):
    model, data = draw(seed)
    data[4:6, 9] = 0.0
    np.testing.assert_allclose(RELATIVE_DEPTH.distances(data, model), reference.distances(model, data), rtol=1e-6)
    squares = np.empty(20, np.float32)
    compile_residuals(RELATIVE_DEPTH.residuals)(data.astype(np.float32), model.astype(np.float32), 0, 20, squares)
    np.testing.assert_allclose(np.sqrt(squares), RELATIVE_DEPTH.distances(data, model), rtol=1e-3)


def test_a_point_behind_a_camera_is_no_inlier():
    model, data = draw(0)
    model[6] = -10.0
    assert (RELATIVE_DEPTH.distances(data, model) == np.inf).any()
    residuals, derivatives = RELATIVE_DEPTH.linearized(data, model)
    assert residuals.max() == 1e6
    assert np.isfinite(derivatives).all()


@settings(max_examples=20)
@given(seed=seeds)
def test_derivatives_are_those_of_the_components_without_weights(seed):
    model, data = draw(seed)
    data[6] = 0.0
    derivatives, step = RELATIVE_DEPTH.linearized(data, model)[1], 1e-6
    for direction in RELATIVE_DEPTH.tangent_basis(model):
        ends = [RELATIVE_DEPTH.linearized(data, model + sign * step * direction)[0] for sign in (1, -1)]
        slopes = np.einsum("cmn,m->cn", derivatives, direction)
        np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-6)


@settings(max_examples=20)
@given(seed=seeds)
def test_squared_components_add_up_to_the_smallest_cost_of_any_depth(seed):
    model, data = draw(seed, noise=0.1)
    costs = np.sum(RELATIVE_DEPTH.linearized(data, model)[0] ** 2, axis=0)
    np.testing.assert_allclose(costs, reference.smallest_costs(model, data), rtol=0.05)
    data = draw(seed, noise=0.002)[1]
    costs = np.sum(RELATIVE_DEPTH.linearized(data, model)[0] ** 2, axis=0)
    np.testing.assert_allclose(np.sqrt(costs), RELATIVE_DEPTH.distances(data, model), rtol=0.05)


def test_the_essential_matrix_of_a_model_is_that_of_its_motion():
    scene = depth_matches(10, seed=3)
    model = np.concatenate([[1.0, 0.0, 0.0, 0.0], 3.0 * scene.t, [2.0]])
    np.testing.assert_allclose(essential_of(model), epipolar.cross_matrix(scene.t).ravel(), atol=1e-12)
