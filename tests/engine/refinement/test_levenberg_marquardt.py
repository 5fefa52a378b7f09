"""Levenberg-Marquardt: the sums against literal ones, and the end of the steps against the conditions of a minimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.engine.refinement.levenberg_marquardt import accumulate, make_work, minimize, select_manifold
from bansac.engine.state import BLOCK
from bansac.numeric.jit import fast_kernel
from bansac.problems.circle import CIRCLE
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from tests.reference import epipolar
from tests.reference import levenberg_marquardt as reference

seeds = st.integers(0, 2**32)
NOISE = 1e-3


def add_normal_equations(residuals, jacobian, size, squared_scale, cauchy, times=1):
    """Return the cost, the lower triangle and the gradient of a block, added up some times."""
    m = len(jacobian) // len(residuals)
    rounded = -(-m // 3) * 3
    normal = np.zeros((rounded + 1, rounded))
    for _ in range(times):
        weights = np.full((5, BLOCK), np.nan)
        cost = fast_kernel(accumulate)(residuals, jacobian, size, cauchy, squared_scale, weights, normal)
    return cost, np.tril(normal[:m, :m]), normal[rounded, :m]


@settings(max_examples=50)
@given(seeds, st.integers(1, 3), st.integers(1, 9), st.integers(1, BLOCK), st.floats(0.05, 20.0), st.booleans())
def test_the_normal_equations_are_the_literal_ones(seed, c, m, size, squared_scale, cauchy):
    rng = np.random.default_rng(seed)
    residuals, jacobian = rng.normal(size=(c, BLOCK)), rng.normal(size=(c * m, BLOCK))
    jacobian *= rng.integers(0, 2, (c * m, 1))  # rows of zeros
    cost, triangle, gradient = add_normal_equations(residuals, jacobian, size, squared_scale, cauchy, times=2)
    expected, A, g = reference.normal_equations(
        residuals[:, :size], jacobian.reshape(c, m, BLOCK)[:, :, :size], squared_scale, cauchy
    )
    assert cost == pytest.approx(expected)
    assert triangle == pytest.approx(2 * np.tril(A), abs=1e-9)
    assert gradient == pytest.approx(2 * g, abs=1e-9)


def test_the_cauchy_cost_of_huge_residuals_does_not_overflow():
    residuals = np.full((1, BLOCK), 1e60)
    cost, _, _ = add_normal_equations(residuals, np.zeros((1, BLOCK)), BLOCK, 4.0, True)
    assert cost == pytest.approx(reference.cost(residuals[0] ** 2, 4.0, True))


# Scenes: exact data (channels x n), and the true model.


def two_views(rng, n):
    data, R, t = epipolar.random_scene(rng, n)
    return data, (epipolar.cross_matrix(t) @ R).ravel()


def plane(rng, n):
    H = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
    x = rng.uniform(-1, 1, (2, n))
    y = H @ np.vstack([x, np.ones(n)])
    return np.vstack([x, y[:2] / y[2]]), (H / np.linalg.norm(H)).ravel()


def straight(rng, n):
    angle, c = rng.uniform(0, 7), rng.normal()
    along, normal = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    return along[:, None] * rng.uniform(-1, 1, n) - c * normal[:, None], np.append(normal, c)


def ring(rng, n):
    cx, cy, angles = rng.normal(), rng.normal(), rng.uniform(0, 7, n)
    return np.array([cx + np.cos(angles), cy + np.sin(angles)]), np.array([cx, cy, 1.0])


SCENES = {
    "essential": (ESSENTIAL, two_views),
    "fundamental": (FUNDAMENTAL, two_views),
    "homography": (HOMOGRAPHY, plane),
    "line": (LINE, straight),
    "circle": (CIRCLE, ring),
}


def make_scene(name, rng, noise=NOISE, outliers=0.3, n=200):
    """Return the problem, noisy data with outliers, and the true model."""
    problem, make = SCENES[name]
    data, model = make(rng, n)
    data = data + noise * rng.normal(size=data.shape)
    outlier = rng.random(n) < outliers
    data[:, outlier] += rng.uniform(-1, 1, (problem.channels, int(outlier.sum())))
    return problem, np.ascontiguousarray(data), model


def run_kernel(problem, data, model, scale, cauchy, max_steps=50):
    found = model.copy()
    steps = minimize(
        select_manifold(problem),
        make_work(problem),
        data,
        scale * scale,
        cauchy,
        max_steps,
        found,
        np.empty(problem.scratch_size),
    )
    return found, steps


def conditions(problem, data, model, scale, cauchy):
    """Return the literal cost, and what a Gauss-Newton step promises to gain."""
    n, m, c = data.shape[1], problem.model_size, problem.residual_size
    residuals, jacobian = np.empty((c, n)), np.empty((c * m, n))
    linearize, tangent, _ = problem.manifold
    linearize(data, model, 0, n, residuals, jacobian)
    basis = np.empty((problem.parameters or m, m))
    tangent(model, basis)
    cost, A, g = reference.normal_equations(residuals, jacobian.reshape(c, m, n), scale**2, cauchy)
    A, g = basis @ A @ basis.T, basis @ g
    return cost, g @ np.linalg.lstsq(A, g, rcond=1e-9)[0]


@pytest.mark.parametrize("cauchy", [True, False])
@pytest.mark.parametrize("name", SCENES)
@settings(max_examples=15)
@given(seed=seeds)
def test_it_ends_at_a_minimum(name, cauchy, seed):
    rng = np.random.default_rng(seed)
    problem, data, truth = make_scene(name, rng)
    start = truth + 3e-3 * rng.normal(size=truth.size)
    assert problem.manifold[2](start, np.empty(problem.scratch_size))
    scale = 3 * NOISE
    model, _ = run_kernel(problem, data, start, scale, cauchy, max_steps=200)
    cost, promise = conditions(problem, data, model, scale, cauchy)
    assert cost <= conditions(problem, data, start, scale, cauchy)[0] * (1 + 1e-9)
    assert promise <= 1e-3 * cost
    assert conditions(problem, data, truth, scale, cauchy)[0] >= cost * (1 - 1e-3) or not cauchy


@pytest.mark.parametrize("name", SCENES)
def test_exact_data_give_the_exact_model_in_a_few_steps(name):
    rng = np.random.default_rng(1)
    problem, data, truth = make_scene(name, rng, noise=0.0, outliers=0.0)
    start = truth + 1e-3 * rng.normal(size=truth.size)
    model, steps = run_kernel(problem, data, start, 0.05, False)
    assert problem.manifold[2](truth, np.empty(problem.scratch_size))
    assert model * np.sign(model @ truth) == pytest.approx(truth, abs=1e-6)
    assert 0 < steps < 15


def test_no_data_and_no_steps_leave_the_model():
    problem, data, truth = make_scene("homography", np.random.default_rng(0))
    assert run_kernel(problem, data[:, :0].copy(), truth, 0.01, True)[0] == pytest.approx(truth)
    assert run_kernel(problem, data, truth, 0.01, True, max_steps=0)[0] == pytest.approx(truth)


def test_a_model_without_finite_cost_stays():
    problem, data, truth = make_scene("homography", np.random.default_rng(0))
    data[0, 3] = np.nan
    start = truth * 2
    found, steps = run_kernel(problem, data, start, 0.01, True)
    assert steps == 0
    assert found.tolist() == start.tolist()
