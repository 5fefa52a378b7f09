"""The last fit: errors of estimates over those of least squares, which is the best fit if the errors are normal.

Every run has new data with normal noise of .5, see ``known_scene``, without outliers and with 30 % of them. The
threshold is estimated, or three standard deviations. Least squares gets the inliers and starts from the true model. The
error of a model is the root mean square distance of the inliers without their noise. A cell has the root of the mean
squared error over that of least squares; errors above six medians of least squares count as these. Runs without success
do not count.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac.estimate.model_forms import form_of
from bansac.geometry import normalise_points
from bansac.maths.arrays import Floats
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.polynomial import polynomial
from bansac.problems.problem import Problem
from bansac_lab.frames import to_frame
from bansac_lab.known_scenes import DEGREE, FUNCTIONS, SCENES, KnownScene, known_scene
from bansac_lab.measurement import Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.tables import sectioned

PROBLEMS = tuple(name for name in SCENES if name != "relative_pose")  # its model is the essential matrix
SIZES, RATIOS, THRESHOLDS = (30, 100, 300, 1000), (1.0, 0.7), ("estimated", "3 sigma")
NOISE = 0.5
_STEPS, _MOST = 8, 6.0


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the error of the estimates over that of least squares."""
    name, threshold, ratio, n = unit.payload
    found = [errors_of(name, n, ratio, seed, threshold) for seed in range(setup.runs)]
    ours, best = np.array([pair for pair in found if pair is not None]).T
    limit = _MOST * np.median(best)
    squares = [float(np.square(np.minimum(errors, limit)).mean()) for errors in (ours, best)]
    cell: Row = {"problem": name, "threshold": threshold, "inlier_ratio": ratio, "n": n, "runs": ours.size}
    return [{**cell, "ratio": float(np.sqrt(squares[0] / squares[1]))}]


def errors_of(name: str, n: int, ratio: float, seed: int, threshold: str) -> tuple[float, float] | None:
    """Return the errors of the estimate and of least squares; None without success."""
    scene, exact = (known_scene(name, n, ratio, noise, seed) for noise in (NOISE, 0.0))
    unit = NOISE * (1.0 if name != "polynomial" else float(np.ptp(exact.arguments[0][:, 0])) / 1000)
    given: dict[str, Any] = {"threshold": 3.0 * unit} if threshold == "3 sigma" else {}
    result = FUNCTIONS[name](*scene.arguments, seed=seed, **given)
    if not result.success:
        return None
    problem = next(row for row in ESTIMATORS if row.name == name).load_problem() if name != "polynomial" else None
    problem = polynomial(DEGREE) if problem is None else problem
    from_public = form_of(problem, name).from_public
    data, clean = (np.ascontiguousarray(_columns(name, one)[:, scene.inliers]) for one in (scene, exact))
    best = least_squares(problem, data, from_public(_public(name, scene.model)))
    first, second = (problem.distances(clean, model) for model in (np.array(from_public(result.model)), best))
    return float(np.sqrt(np.mean(first**2))), float(np.sqrt(np.mean(second**2)))


def _columns(name: str, scene: KnownScene) -> Floats:
    """Return the data of a scene as those of the problem (channels x N)."""
    arrays: list[Any] = [np.asarray(array) for array in scene.arguments if np.ndim(array) == 2]
    if name == "absolute_pose":
        points, image, K = arrays
        arrays = [normalise_points(K, image), points]
    elif name == "essential":
        x1, x2, *cameras = arrays
        arrays = [normalise_points(cameras[0], x1), normalise_points(cameras[-1], x2)]
    return np.hstack(arrays).T


def _public(name: str, numbers: Floats) -> Any:
    """Return the numbers of a true model in the form of ``initial_model``."""
    if name == "absolute_pose":
        return numbers[:9].reshape(3, 3), numbers[9:]
    return numbers.reshape(3, 3) if name in ("homography", "fundamental", "essential") else numbers


def least_squares(problem: Problem, data: Floats, model: Floats) -> Floats:
    """Return the model of the least sum of squared residuals near a flat model, by the Gauss-Newton method."""
    model, scratch = model.copy(), np.empty(problem.scratch_size)
    for _ in range(_STEPS):
        residuals, derivatives = problem.linearized(data, model)
        basis = problem.tangent_basis(model)
        J = np.einsum("pk,ckn->cnp", basis, derivatives).reshape(residuals.size, -1)
        lengths = np.linalg.norm(J, axis=0)
        model -= np.linalg.lstsq(J / lengths, residuals.ravel(), rcond=None)[0] / lengths @ basis
        problem.manifold[2](model, scratch)
    return model


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the ratios of every problem."""
    frame = to_frame(rows)
    columns = tuple(f"{share:.0%} of {n}" for share in RATIOS for n in SIZES)
    sections: dict[str, dict[str, list[float | None]]] = {}
    for (threshold, name), found in frame.groupby(["threshold", "problem"], sort=False):
        cells = {(row["inlier_ratio"], row["n"]): row["ratio"] for row in found.to_dict("records")}
        values = [cells.get((share, n)) for share in RATIOS for n in SIZES]
        sections.setdefault(str(threshold), {})[str(name)] = values
    title = "Error over that of least squares on the inliers, by share of inliers and number of points"
    tables = {"last-fit": sectioned(title, "problem", columns, sections)}
    return Report(tables=tables, records={"runs": setup.runs, "cells": frame.to_dict("records")})


MEASUREMENT = of_module(
    __name__,
    title="Errors of the last fit over those of least squares",
    units=lambda setup: each(dict.fromkeys(setup.problems), THRESHOLDS, RATIOS, SIZES),
    options=(
        Option("runs", int, 100, "Runs of a cell.", least=1),
        Option("problems", tuple[str, ...], PROBLEMS, "Only these, joined by commas.", choices=PROBLEMS),
    ),
)
