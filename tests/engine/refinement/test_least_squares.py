"""The last step against a literal version."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bansac.engine.refinement.least_squares import refine_to_inliers
from bansac.engine.state import pack_run
from bansac.problems.line import LINE
from bansac.problems.polynomial import polynomial
from bansac.synthetic import line_points, polynomial_points
from tests.engine.builder import build_run, line_through
from tests.reference import curves, space
from tests.reference import refinement as reference

THRESHOLD = 0.05


def fit_line(points):
    return space.hyperplane(points, np.ones(len(points))) if len(np.unique(points, axis=0)) > 1 else None


def fit_parabola(points):
    if len(np.unique(points[:, 0])) < 3:
        return None
    return np.polynomial.polynomial.polyfit(points[:, 0], points[:, 1], 2)


PROBLEMS = {
    "line": (LINE, fit_line, curves.line_distances),
    "parabola": (polynomial(2), fit_parabola, curves.polynomial_distances),
}
SCORES = {
    "inliers": lambda distances: np.count_nonzero(distances <= THRESHOLD),
    "msac": lambda distances: np.maximum(1 - (distances / THRESHOLD) ** 2, 0).sum(),
}


def run_kernel(problem, points, model, scoring):
    run = build_run(problem, points.T, threshold=THRESHOLD, scoring=scoring, local_optimization=None)
    _, _, distances = next(row for row in PROBLEMS.values() if row[0] is problem)
    found = distances(model, points)
    run.best_model[:] = model
    run.progress["best_inliers"] = np.count_nonzero(found <= THRESHOLD)
    run.progress["best_score"] = SCORES[scoring](found)
    kept = refine_to_inliers(pack_run(run))
    return run.best_model, kept, run.progress


@given(
    st.sampled_from(["line", "parabola"]),
    st.sampled_from(["inliers", "msac"]),
    st.integers(6, 150),
    st.floats(0.3, 1.0),
    st.floats(0.005, 0.06),
    st.integers(0, 2**32 - 1),
)
def test_it_is_least_squares_to_the_inliers_until_they_stay(kind, scoring, n, ratio, noise, seed):
    (problem, fit, distances), rng = PROBLEMS[kind], np.random.default_rng(seed)
    if kind == "line":  # the model through a random minimal sample
        points = line_points(n, inlier_ratio=ratio, noise=noise, seed=seed).points
        model = line_through(*points[rng.choice(n, 2, replace=False)])
    else:
        points = polynomial_points(n, degree=2, inlier_ratio=ratio, noise=noise, seed=seed).points
        model = fit_parabola(points[rng.choice(n, 3, replace=False)])
    assume(np.abs(model).max() < 10)
    expected, rounds, (margin, score_margin) = reference.refine(
        points, model, THRESHOLD, fit=fit, distances=distances, score=SCORES[scoring]
    )
    assume(margin > 1e-5)  # the residuals of the loop have single precision
    assume(scoring == "inliers" or score_margin > 1e-2)
    found, kept, progress = run_kernel(problem, points, model, scoring)
    assert kept == rounds
    if kind == "line":
        expected = expected * np.sign(expected[:2] @ found[:2])
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert progress["best_inliers"] == np.count_nonzero(distances(expected, points) <= THRESHOLD)
    assert progress["best_score"] == pytest.approx(SCORES[scoring](distances(expected, points)), rel=1e-4, abs=1e-3)
    assert progress["best_score"] >= SCORES[scoring](distances(model, points)) - 1e-3


def test_it_goes_on_while_the_score_rises():
    # Along a shallow curve each line reaches a little further.
    x = np.linspace(0, 40, 400)
    points = np.column_stack([x, 0.0003 * x**2])
    model = np.array([0.0, 1.0, 0.0])
    literal, kept, (margin, _) = reference.refine(
        points, model, THRESHOLD, fit=fit_line, distances=curves.line_distances, score=SCORES["inliers"]
    )
    assert margin > 1e-6
    assert kept > 10
    found, rounds, _ = run_kernel(LINE, points, model, "inliers")
    assert rounds == kept
    assert found * np.sign(found[:2] @ literal[:2]) == pytest.approx(literal, abs=1e-6)


def test_a_model_without_inliers_stays():
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    model = np.array([1.0, 0.0, 50.0])
    found, kept, progress = run_kernel(LINE, points, model, "inliers")
    assert kept == 0
    assert found.tolist() == model.tolist()
    assert progress["best_inliers"] == 0
