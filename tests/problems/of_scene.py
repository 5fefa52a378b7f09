"""What holds for every problem with a scene of its own: its test file calls :func:`check` with a literal distance."""

import numpy as np
from numba import config

import bansac
from bansac.engine.frame import Frame
from bansac.problems.estimators import find_estimator
from tests.engine.builder import BASE

STEP = 1e-6


def noisy_scene(name, n, outliers=0.0, noise=0.5, seed=0):
    """Return a scene with noise of its coordinates and a share of wrong coordinates, the model, and the true mask."""
    row, rng = find_estimator(name), np.random.default_rng(seed)
    data, model = row.load_scene()(n, rng)
    fixed = sum(row.load_problem().traits.directions, ())
    wrong = rng.uniform(data.min(axis=0), data.max(axis=0), data.shape)
    noises = rng.normal(0.0, noise, data.shape)
    noises[:, fixed] = 0.0
    inliers = np.arange(n) >= round(outliers * n)
    return np.where(inliers[:, None], data + noises, wrong), model, inliers


def check(name, distances):
    """Check a problem against ``distances(model, data)`` of rows of data, by its definition."""
    _check_derivatives(name, distances)
    _check_normalisation(name)
    if config.DISABLE_JIT:  # the other checks are whole searches: a minute as plain Python
        return
    _check_known_answers(name, distances)
    _check_covariance(name)
    _check_several(name)


def _check_derivatives(name, distances):
    problem = find_estimator(name).load_problem()
    data, model, _ = noisy_scene(name, 30, noise=20.0)
    data, scratch = np.ascontiguousarray(data.T), np.empty(problem.scratch_size)
    expected = distances(model, data.T)
    residuals, derivatives = problem.linearized(data, model)
    np.testing.assert_allclose(problem.distances(data, model), expected, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(residuals, axis=0), expected, rtol=1e-9)
    basis = problem.tangent_basis(model)
    assert np.linalg.matrix_rank(basis) == (problem.parameters or problem.model_size)
    for direction in basis:
        values = []
        for step in (STEP, -STEP):
            moved = model + step * direction
            assert problem.manifold[2](moved, scratch)
            assert np.linalg.norm(moved - model - step * direction) < 1e-6
            values.append(problem.linearized(data, moved)[0])
        found = np.einsum("cmn,m->cn", derivatives, direction)
        np.testing.assert_allclose((values[0] - values[1]) / (2 * STEP), found, rtol=1e-4, atol=1e-3)
    if problem.project is not None:
        assert not problem.manifold[2](np.zeros(problem.model_size), scratch)


def _check_normalisation(name):
    problem = find_estimator(name).load_problem()
    data, model, _ = noisy_scene(name, 30, noise=20.0)
    frame = Frame(problem, np.ascontiguousarray(data.T), BASE, 1.0)
    inside = frame.from_data(model.copy())
    expected = problem.distances(np.ascontiguousarray(data.T), model)
    np.testing.assert_allclose(np.sort(frame.distances(inside)), np.sort(expected), rtol=1e-4)
    np.testing.assert_allclose(frame.to_data(inside), model, rtol=1e-6, atol=1e-6)


def _check_known_answers(name, distances):
    function = find_estimator(name).load_function()
    for n, outliers in ((12, 0.0), (60, 0.4)):
        data, model, inliers = noisy_scene(name, n, outliers, noise=0.0)
        result = function(data)
        assert result.success
        np.testing.assert_allclose(result.model, model, rtol=1e-6, atol=1e-6)
        assert (result.inliers == inliers).all()
    for shift in (0.0, 1e6):
        data, _, inliers = noisy_scene(name, 300, 0.5, seed=1)
        data[:, [c for c in range(data.shape[1]) if c not in _directions(name)]] += shift
        result = function(data, seed=1)
        assert result.success
        assert result.configuration is None
        assert np.mean(result.inliers[inliers]) > 0.95
        assert np.sqrt(np.mean(distances(result.model, data[inliers]) ** 2)) < 0.75
    for few in (data[:1], np.tile(data[:1], (20, 1))):
        result = function(few)
        assert not result.success
        assert result.model is None
    noise, successes = np.random.default_rng(0), 0
    for seed in range(20):
        successes += function(noise.uniform(0, 1000, (100, data.shape[1])), seed=seed, max_iterations=300).success
    assert successes == 0


def _directions(name):
    return sum(find_estimator(name).load_problem().traits.directions, ())


def _check_covariance(name):
    function, errors = find_estimator(name).load_function(), []
    for seed in range(20):
        data, model, _ = noisy_scene(name, 200, seed=seed)
        result = function(data, seed=seed)
        matrix, basis = bansac.covariance(name, result, data)
        change = np.linalg.lstsq(basis.T, result.model - model, rcond=None)[0]
        errors.append(change @ np.linalg.solve(matrix, change) / len(matrix))
    assert 0.3 < np.mean(errors) < 1.6


def _check_several(name):
    parts = [noisy_scene(name, n, seed=seed)[0] for n, seed in ((120, 7), (80, 8))]
    found = bansac.estimate_multiple(name, np.vstack(parts))
    assert len(found.models) == 2
    assert np.mean(found.labels == np.repeat([0, 1], [120, 80])) > 0.9
