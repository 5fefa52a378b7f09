"""Levenberg-Marquardt: the sums against literal ones, and the end of the steps against the conditions of a minimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from bansac.engine.refinement.levenberg_marquardt import (
    CONVERGED,
    _compiled_accumulate,
    make_work,
    minimize,
    select_manifold,
)
from bansac.engine.state import BLOCK
from bansac.problems.circle import CIRCLE
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE
from tests.reference import epipolar, homography
from tests.reference import levenberg_marquardt as reference

seeds = st.integers(0, 2**32)
NOISE = 1e-3


def add_normal_equations(residuals, jacobian, size, squared_scale, smooth, times=1):
    """Return the cost, the lower triangle and the gradient of a block, added up some times."""
    m = len(jacobian) // len(residuals)
    rounded = -(-m // 3) * 3
    normal = np.zeros((rounded + 1, rounded))
    for _ in range(times):
        weights = np.full((5, BLOCK), np.nan)
        cost = _compiled_accumulate()(residuals, jacobian, size, smooth, squared_scale, weights, normal)
    return cost, np.tril(normal[:m, :m]), normal[rounded, :m]


@given(seeds, st.integers(1, 3), st.integers(1, 9), st.integers(1, BLOCK), st.floats(0.05, 20.0), st.booleans())
def test_the_normal_equations_are_the_literal_ones(seed, c, m, size, squared_scale, smooth):
    rng = np.random.default_rng(seed)
    residuals, jacobian = rng.normal(size=(c, BLOCK)), rng.normal(size=(c * m, BLOCK))
    jacobian *= rng.integers(0, 2, (c * m, 1))  # rows of zeros
    cost, triangle, gradient = add_normal_equations(residuals, jacobian, size, squared_scale, smooth, times=2)
    expected, A, g = reference.normal_equations(
        residuals[:, :size], jacobian.reshape(c, m, BLOCK)[:, :, :size], squared_scale, smooth
    )
    assert cost == pytest.approx(expected)
    assert triangle == pytest.approx(2 * np.tril(A), abs=1e-9)
    assert gradient == pytest.approx(2 * g, abs=1e-9)


def test_the_biweight_cost_of_huge_residuals_is_bounded():
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


def start_near(name, rng):
    """Return the problem, data, the true model and a model near it."""
    problem, data, truth = make_scene(name, rng)
    start = truth + 3e-3 * rng.normal(size=truth.size)
    assert problem.manifold[2](start, np.empty(problem.scratch_size))
    return problem, data, truth, start


def run_kernel(problem, data, model, scale, smooth, max_steps=50):
    found = model.copy()
    steps = minimize(
        select_manifold(problem),
        make_work(problem),
        data,
        scale * scale,
        smooth,
        max_steps,
        CONVERGED,
        found,
        np.empty(problem.scratch_size),
    )
    return found, steps


def conditions(problem, data, model, scale, smooth):
    """Return the literal cost, and what a Gauss-Newton step promises to gain."""
    n, m, c = data.shape[1], problem.model_size, problem.residual_size
    residuals, jacobian = np.empty((c, n)), np.empty((c * m, n))
    linearize, tangent, _ = problem.manifold
    linearize(data, model, 0, n, residuals, jacobian)
    basis = np.empty((problem.parameters or m, m))
    tangent(model, basis)
    cost, A, g = reference.normal_equations(residuals, jacobian.reshape(c, m, n), scale**2, smooth)
    A, g = basis @ A @ basis.T, basis @ g
    return cost, g @ np.linalg.lstsq(A, g, rcond=1e-9)[0]


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("name", SCENES)
@settings(max_examples=15)
@given(seed=seeds)
def test_it_ends_at_a_minimum(name, smooth, seed):
    rng = np.random.default_rng(seed)
    problem, data, _, start = start_near(name, rng)
    scale = (12 if smooth else 3) * NOISE  # the biweight loss has other minima if it is narrow
    model, _ = run_kernel(problem, data, start, scale, smooth, max_steps=200)
    cost, promise = conditions(problem, data, model, scale, smooth)
    assert cost <= conditions(problem, data, start, scale, smooth)[0] * (1 + 1e-9)
    assert promise <= 1e-3 * cost


# The same costs by SciPy, which minimises over as few parameters as a model has, from literal residuals.


# The parameters of a model, the model of parameters, and the residuals of the data, n or n x 2.
LITERAL = {
    "homography": (
        lambda m: m[:8] / m[8],
        lambda p: np.append(p, 1).reshape(3, 3),
        lambda data, H: homography.apply(H, data[:2].T) - data[2:].T,
    ),
    "line": (
        lambda m: np.array([np.arctan2(m[1], m[0]), m[2]]),
        lambda p: np.array([np.cos(p[0]), np.sin(p[0]), p[1]]),
        lambda data, line: line[:2] @ data + line[2],
    ),
    "circle": (np.copy, np.copy, lambda data, circle: np.hypot(data[0] - circle[0], data[1] - circle[1]) - circle[2]),
}


def literal_residuals(name, data, model):
    """Return residuals (n x components)."""
    model = model.reshape(3, 3) if model.size == 9 else model
    return LITERAL[name][2](data, model).reshape(data.shape[1], -1)


def literal_cost(name, data, model, scale):
    return reference.cost((literal_residuals(name, data, model) ** 2).sum(axis=1), scale**2, True)


def by_scipy(name, data, start, scale):
    """Return the model of least biweight cost near the start: residuals whose squares are the losses."""
    parameters, model_of, _ = LITERAL[name]

    def residuals(p):
        r = literal_residuals(name, data, model_of(p))
        q = np.minimum((r**2).sum(axis=1, keepdims=True) / scale**2, 1) + 1e-300
        return (r * np.sqrt((1 - (1 - q) ** 3) / 3 / ((r**2).sum(axis=1, keepdims=True) / scale**2 + 1e-300))).ravel()

    return model_of(least_squares(residuals, parameters(start), xtol=1e-12, ftol=1e-12, gtol=1e-12).x)


@pytest.mark.parametrize("name", LITERAL)
def test_the_biweight_cost_is_that_of_scipy_from_the_same_start(name):
    excess = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        problem, data, _, start = start_near(name, rng)
        scale = 12 * NOISE
        model, _ = run_kernel(problem, data, start, scale, True, max_steps=200)
        found, expected = (literal_cost(name, data, m, scale) for m in (model, by_scipy(name, data, start, scale)))
        assert found < literal_cost(name, data, start, scale)
        excess.append(found / expected - 1)
    # The steps end where one gains little, which is a little before the minimum if they are short.
    assert np.median(excess) < 1e-4
    assert max(excess) < 1e-2


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
