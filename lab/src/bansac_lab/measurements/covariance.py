"""Check covariances by simulation: normalised squared errors and the coverage of 95 % regions.

Every run has new data, see ``known_scene``, with a noise of .5. The error of the estimate is expressed in the
parameters of ``bansac.covariance``. Its square, normalised by the covariance, has a chi-square distribution if the
covariance is right. Divided by the number of parameters, its mean is then 1, and 95 % of the runs lie below the 95 %
quantile. Runs without success do not count.
"""

import numpy as np

import bansac
from bansac_lab.known_scenes import FUNCTIONS, SCENES, KnownScene, known_scene
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.reports import lines, share

CASES = {"300 points": (300, 1.0), "300 points, half outliers": (300, 0.5), "60 points": (60, 1.0)}
"""Number of points and inlier ratio."""

NOISE, COVERED = 0.5, 0.95


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the mean of the normalised errors over that of chi-square, and the coverage."""
    from scipy.stats import chi2  # type: ignore[import-untyped]

    name, case = unit.payload
    runs = (normalised_error(name, known_scene(name, *CASES[case], NOISE, seed), seed) for seed in range(setup.runs))
    errors = [run for run in runs if run is not None]
    if not errors:
        raise ValueError("no run has success")
    squares, (parameters, *_) = map(np.array, zip(*errors, strict=True))
    cell: Row = {"problem": name, "case": case, "parameters": int(parameters), "runs": len(squares)}
    coverage = float(np.mean(squares <= chi2.ppf(COVERED, parameters)))
    return [{**cell, "mean": float(squares.mean() / parameters), "coverage": coverage}]


def normalised_error(name: str, scene: KnownScene, seed: int) -> tuple[float, int] | None:
    """Return the normalised squared error and the number of parameters; None without success."""
    result = FUNCTIONS[name](*scene.arguments, seed=seed)
    if not result.success:
        return None
    covariance = bansac.covariance(name, result, *scene.arguments)
    numbers, true = np.concatenate([np.ravel(part) for part in result.model]), scene.model.ravel()
    change = true - numbers
    if name in ("line", "plane", "essential", "fundamental"):  # of either sign
        change = min(change, -true - numbers, key=np.linalg.norm)
    if name == "ellipse":
        change[4] = (change[4] + np.pi / 2) % np.pi - np.pi / 2
    error = np.linalg.lstsq(covariance.basis.T, change, rcond=None)[0]
    return float(error @ np.linalg.solve(covariance.matrix, error)), error.size


def table(document: Document) -> str:
    """Return the table of the mean normalised errors and of the coverage."""
    problems = document["problems"]
    cases = list(next(iter(problems.values())))
    rows = []
    for name, of in problems.items():
        cells = (f"{of[case]['mean']:.2f}, {share(of[case]['coverage'])}" for case in cases)
        rows.append([f"`{name}`", str(of[cases[0]]["parameters"]), *cells])
    return lines(["estimator", "parameters", *cases], rows)


MEASUREMENT = of_module(
    __name__,
    title="Errors and coverage of the covariances",
    units=lambda setup: each(dict.fromkeys(setup.problems), CASES),
    report=lambda setup, rows: Report(records={"runs": setup.runs, "problems": nested(rows, "problem", "case")}),
    options=(
        Option("runs", int, 300, "Runs of an estimator and a case.", least=1),
        Option("problems", tuple[str, ...], SCENES, "Only these, joined by commas.", choices=SCENES),
    ),
    tables={"covariances": table},
    packages=("scipy",),
)
