"""Every problem: residuals and samples against the definition, derivatives against differences, normalisation, fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from bansac.engine.frame import Frame
from bansac.maths.quaternion import matrix_of
from bansac.problems.absolute_focal import UNKNOWN_FOCAL_POSE
from bansac.problems.essential import ESSENTIAL_SYMMETRIC
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.polynomial import polynomial
from bansac.problems.relative_focal import ONE_FOCAL, SHARED_FOCAL
from tests.engine.builder import BASE
from tests.problems.in_loop import compile_residuals, fit_data, solve_sample
from tests.reference import curves, epipolar, homography, space

# Problems with a scene have files of their own.
FREE = [row for row in ESTIMATORS if not row.scene and row.name not in ("polynomial", "relative_pose")]
PROBLEMS = {row.name: row.load_problem() for row in FREE}
PROBLEMS |= {
    "cubic": polynomial(3),
    "symmetric": ESSENTIAL_SYMMETRIC,
    "shared focal length": SHARED_FOCAL,
    "one focal length": ONE_FOCAL,
    "absolute_pose, f unknown": UNKNOWN_FOCAL_POSE,
}
FITS = {name: problem for name, problem in PROBLEMS.items() if problem.fit is not None}
NORMALISED = {name: problem for name, problem in PROBLEMS.items() if problem.normalise is not None}
EPIPOLAR = ("fundamental", "essential", "symmetric")
STEP = 1e-6

names = pytest.mark.parametrize("name", PROBLEMS)
seeds = st.integers(0, 2**32)


def random_model(name, rng):
    """Return a model on the manifold, of the norm that ``project`` gives."""
    if name == "fundamental":
        U, V = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
        ratio = rng.choice([1.0, rng.uniform(0.01, 1.0)])
        F = U[:, :2] @ np.diag([1.0, ratio]) @ V[:, :2].T
        return (F / np.linalg.norm(F)).ravel()
    if name in EPIPOLAR:
        t = rng.normal(size=3)
        return (epipolar.cross_matrix(t / np.linalg.norm(t)) @ epipolar.random_rotation(rng, 3.0)).ravel()
    if "focal" in name:
        return focal_model(name, rng, rng.uniform(0.5, 3.0))[1]
    if name == "homography":
        H = np.eye(3) + 0.2 * rng.normal(size=(3, 3))
        return (H / np.linalg.norm(H)).ravel()
    if name == "line":
        angle = rng.uniform(0, 7)
        return np.array([np.cos(angle), np.sin(angle), rng.normal()])
    if name == "ellipse":
        scale, angle = rng.uniform(0.5, 2.0, 2)
        model = np.array([1.0, 0.3 * angle, scale, *rng.normal(0, 0.1, 2), -rng.uniform(0.1, 0.5)])
        return model / np.linalg.norm(model)
    model = rng.normal(size=PROBLEMS[name].model_size)
    if name == "similarity":
        model[4], model[3] = model[0], -model[1]
    if "absolute_pose" in name:
        model[6:] = 3.0  # the data are in front of the camera
    if "absolute_pose" in name or name == "rigid_3d":
        model[:4] /= np.linalg.norm(model[:4])
    return model / np.linalg.norm(model[:3]) if name == "plane" else model


def focal_model(name, rng, f):
    """Return E of unit translation, and F and f of cameras with this focal length."""
    E, second = random_model("essential", rng).reshape(3, 3), np.diag([1.0, 1.0, f])
    return E, np.append(second @ E @ (second if name == "shared focal length" else np.eye(3)), f)


def shift_of(matrix, data):
    """Return the differences (N, d) of points mapped by d x (d + 1) numbers and their partners."""
    d = len(data) // 2
    matrix = np.reshape(matrix, (d, d + 1))
    return data[:d].T @ matrix[:, :d].T + matrix[:, d] - data[d:].T


def turned(model, data):
    """Return the differences of turned and shifted points and their partners."""
    return space.rotate(model[:4], data[:3].T) + model[4:] - data[3:].T


def sampson(model, data):
    return np.sqrt(epipolar.sampson(data, model[:9].reshape(3, 3)))


def in_image(model, data, f=1.0):
    """Return reprojection errors, infinite behind the camera."""
    matrix = matrix_of(model[:7])
    return f * space.reprojection_errors(matrix[:, :3], matrix[:, 3], data[2:].T, data[:2].T / f)


# The distances of data, or their components (N, c), by the definition.
LITERAL = {
    "homography": lambda m, x: homography.apply(m.reshape(3, 3), x[:2].T) - x[2:].T,
    "affine": shift_of,
    "similarity": shift_of,
    "affine_3d": shift_of,
    "rigid_3d": turned,
    "similarity_3d": turned,
    "fundamental": sampson,
    "essential": sampson,
    "shared focal length": sampson,
    "one focal length": sampson,
    "symmetric": lambda m, x: np.sqrt(epipolar.symmetric(x, m.reshape(3, 3))),
    "absolute_pose": in_image,
    "absolute_pose, f unknown": lambda m, x: in_image(m, x, m[7]),
    "line": lambda m, x: curves.line_distances(m, x.T),
    "circle": lambda m, x: curves.circle_distances(m, x.T),
    "cubic": lambda m, x: curves.polynomial_distances(m, x.T),
    "ellipse": lambda m, x: space.sampson(m, x.T),
    "plane": lambda m, x: m[:3] @ x + m[3],
}
SINGLE = ("homography", "fundamental", "symmetric", "line", "circle", "cubic")


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float64") for name in PROBLEMS), *((name, "float32") for name in SINGLE)]
)
@settings(max_examples=15)
@given(seed=seeds)
def test_the_residuals_are_the_literal_ones(name, dtype, seed):
    rng = np.random.default_rng(seed)
    problem, model, squared = PROBLEMS[name], random_model(name, rng), np.full(20, -1.0, dtype)
    data = rng.uniform(-1, 1, (problem.channels, 20)) * (10 if "pose" in name else 1)
    residuals = problem.compiled("residuals") if dtype == "float64" else compile_residuals(problem.residuals)
    residuals(data.astype(dtype), model.astype(dtype), 5, 20, squared)
    assert (squared[15:] == -1.0).all()
    expected = (LITERAL[name](model, data[:, 5:]).reshape(15, -1) ** 2).sum(axis=1)
    found = np.where(np.isfinite(squared[:15]), squared[:15], np.inf)  # infinite or no number behind the camera
    single = dtype == "float32"
    np.testing.assert_allclose(found, expected, rtol=1e-3 if single else 1e-7, atol=1e-5 if single else 1e-12)
    components = (problem.linearized(data, model)[0][:, 5:] ** 2).sum(axis=0)
    np.testing.assert_allclose(components[found < np.inf], expected[found < np.inf], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_point_at_infinity_of_a_homography_is_no_inlier(dtype):
    H = np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0], dtype)
    squared = np.empty(2, dtype)
    with np.errstate(all="ignore"):
        residuals = compile_residuals(PROBLEMS["homography"].residuals)
        residuals(np.array([[0, 0], [0, 1], [0, 0], [0, 0]], dtype), H, 0, 2, squared)
    assert not (squared <= 1e30).any()


def moved(problem, model, direction):
    """Return the model moved along a direction, back on the manifold."""
    there = model + direction
    assert problem.manifold[2](there, np.empty(problem.scratch_size))
    return there


@names
@settings(max_examples=15)
@given(seed=seeds)
def test_the_derivatives_along_the_tangents_are_differences_on_the_manifold(name, seed):
    rng = np.random.default_rng(seed)
    problem = PROBLEMS[name]
    data, model = rng.uniform(-0.5, 0.5, (problem.channels, 20)), random_model(name, rng)
    residuals, jacobian = problem.linearized(data, model)
    for direction in problem.tangent_basis(model):
        ahead, _ = problem.linearized(data, moved(problem, model, STEP * direction))
        behind, _ = problem.linearized(data, moved(problem, model, -STEP * direction))
        derivatives = np.einsum("cmn,m->cn", jacobian, direction)
        # Near an epipole, or where H takes points far away, the differences are inaccurate.
        regular = np.abs(ahead + behind - 2 * residuals) < 1e-8 * (1 + np.abs(derivatives))
        assert regular.mean() > 0.5
        assert derivatives[regular] == pytest.approx((ahead - behind)[regular] / (2 * STEP), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", ["homography", *EPIPOLAR])
@settings(max_examples=15)
@given(seed=seeds)
def test_the_tangents_are_independent_and_stay_on_the_manifold_to_first_order(name, seed):
    rng = np.random.default_rng(seed)
    problem, model = PROBLEMS[name], random_model(name, rng)
    basis = problem.tangent_basis(model)
    assert len(basis) == {"homography": 8, "fundamental": 7}.get(name, 5)
    assert np.linalg.svd(basis)[1].min() > 0.1
    assert moved(problem, model, np.zeros(9)) == pytest.approx(model, abs=1e-12)
    direction = rng.normal(size=len(basis)) @ basis
    direction *= 1e-4 / np.linalg.norm(direction)
    assert np.linalg.norm(moved(problem, model, direction) - model - direction) < 1e-6
    singular_values = np.linalg.svd(moved(problem, model, 1e3 * direction).reshape(3, 3))[1]
    if name in EPIPOLAR:
        assert singular_values[2] < 1e-9
    if name in ("essential", "symmetric"):
        assert singular_values[:2] == pytest.approx([1, 1], abs=1e-9)
    else:
        assert np.linalg.norm(singular_values) == pytest.approx(1)


@pytest.mark.parametrize("name", ["shared focal length", "one focal length", "absolute_pose, f unknown"])
@pytest.mark.parametrize("f", [-1.0, 0.0, 0.01, 1e4, np.inf, np.nan])
def test_an_extreme_focal_length_has_no_projection(name, f):
    problem, model = PROBLEMS[name], random_model(name, np.random.default_rng(0))
    model[-1] = f
    assert not problem.manifold[2](model, np.empty(problem.scratch_size))


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="a kernel's division by 0 gives inf, Python raises an error")
@names
def test_a_model_that_is_lost_has_no_projection(name):
    problem = PROBLEMS[name]
    if problem.project is not None:
        for lost in (np.zeros(problem.model_size), np.full(problem.model_size, np.nan)):
            assert not problem.manifold[2](lost, np.empty(problem.scratch_size))


@pytest.mark.parametrize(
    ("name", "offset", "error"),
    [
        *((name, 1.0, 1e-9) for name in NORMALISED),
        ("line", 1e6, 1e-6),
        ("circle", 1e6, 1e-6),
        ("cubic", 100.0, 1e-6),
        ("homography", 1e4, 1e-3),
        ("fundamental", 1e3, 1e-3),
    ],
)
@settings(max_examples=15)
@given(seed=seeds)
def test_normalisation_changes_residuals_by_the_scale_only(name, offset, error, seed):
    rng = np.random.default_rng(seed)
    problem = NORMALISED[name]
    data = rng.uniform(-0.5, 0.5, (problem.channels, 20)) * rng.uniform(0.5, 20)
    data += offset * rng.normal(size=(problem.channels, 1))
    model = random_model(name, rng)
    normalised, transform = data.copy(), np.zeros(1 + 2 * problem.channels)
    problem.normalise(normalised, transform)
    expected = problem.distances(normalised, model)
    found = model.copy()
    problem.denormalise(found, transform)
    assert problem.distances(data, found) * transform[0] == pytest.approx(expected, rel=max(error, 1e-6), abs=error)
    # An initial model of the caller takes the way back.
    frame = Frame(problem, np.ascontiguousarray(data), BASE, 1.0)
    back = frame.from_data(found)
    assert back is not None
    shuffled = expected[frame.order]
    assert frame.scale * frame.distances(back) == pytest.approx(shuffled, rel=max(error, 1e-6), abs=error)


@pytest.mark.parametrize("name", FITS)
def test_the_scale_of_the_weights_has_no_effect_on_the_fit(name):
    rng = np.random.default_rng(1)
    problem = FITS[name]
    data, weights = rng.uniform(-0.5, 0.5, (problem.channels, 12)), rng.uniform(0.5, 1.0, 12)
    if problem.channels == 2:  # an ellipse
        angles = np.linspace(0.0, 6.0, 12)
        data = 0.01 * data + [np.cos(angles), 0.5 * np.sin(angles)]
    # The smaller weights have a sum below 1.
    first, second = (fit_data(problem, scale * weights, data.T) for scale in (1.0, 1e-3))
    assert second * np.sign(first @ second) == pytest.approx(first, rel=1e-6, abs=1e-9)


def residuals_and_derivatives(problem, point, model):
    """Return the components of the residual of a point, and their derivatives by its coordinates."""
    moves = STEP * np.hstack([np.zeros((point.size, 1)), np.eye(point.size), -np.eye(point.size)])
    values = problem.linearized(np.ascontiguousarray(point[:, None] + moves), model)[0]
    ahead, behind = values[:, 1 : 1 + point.size], values[:, 1 + point.size :]
    return values[:, 0], (ahead - behind) / (2 * STEP)


def exact_datum(problem, model, rng):
    """Return the datum of the model nearest to a random one by Newton's method, or None, and the derivatives there."""
    point = rng.uniform(-0.5, 0.5, problem.channels)
    for _ in range(12):
        residual, derivatives = residuals_and_derivatives(problem, point, model)
        if np.abs(residual).max() < 1e-10:
            return point, derivatives
        point = point - np.linalg.lstsq(derivatives, residual, rcond=1e-4)[0]
    return None, None


@names
def test_the_codimension_is_the_rank_of_the_derivatives_by_the_point(name):
    problem, rng, ranks = PROBLEMS[name], np.random.default_rng(0), []
    for _ in range(10):
        point, derivatives = exact_datum(problem, random_model(name, rng), rng)
        if point is not None:
            ranks.append(np.linalg.matrix_rank(derivatives, tol=1e-4 * np.linalg.norm(derivatives)))
    assert len(ranks) >= 3  # a random circle may have a negative radius
    assert set(ranks) == {problem.traits.codimension}


@names
def test_the_model_of_an_exact_sample_is_among_those_of_the_solver(name):
    problem, rng, distances = PROBLEMS[name], np.random.default_rng(1), []
    for _ in range(20):
        model = random_model(name, rng)
        points = [exact_datum(problem, model, rng)[0] for _ in range(problem.sample_size + 3)]
        if all(point is not None for point in points):
            data = np.array(points)
            models = solve_sample(problem, data[: problem.sample_size])
            distances.append(min((problem.distances(data.T.copy(), found).max() for found in models), default=np.inf))
    assert np.mean(np.array(distances) < 1e-6) >= 0.7
