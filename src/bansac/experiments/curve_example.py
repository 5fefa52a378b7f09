"""One run of BANSAC on a curve, panel by panel: fig:curve_fitting_example of the supplement.

The points are those of the ``synthetic`` experiment, half of them inliers; they are coloured by their probability after
0, 2, 4, 9, 11 and 14 iterations, with the true curve and the best model so far, a minimal one: nothing is refined here.
That model is the answer of a run that ends there, since a run with the same seed takes the same course however long it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.datasets.synthetic import polynomial_points
from bansac.evaluation.experiment import Experiment, Report, Row, Setup, Unit
from bansac.evaluation.tables import Table, TableRow
from bansac.experiments.synthetic_trials import CURVES, NOISE, POINTS, SHARED
from bansac.metrics import curve_rmse

__all__ = ["EXPERIMENT", "ITERATIONS"]

_Array = NDArray[np.float64]

ITERATIONS = (0, 2, 4, 9, 11, 14)
INLIER_RATE = 0.5
SETTINGS: dict[str, Any] = {**SHARED, "sampler": "bansac", "stopping": None, "refinement": None}
_ALONG = 201


def units(setup: Setup) -> list[Unit]:
    """Return the one run that there is."""
    return [Unit(key=f"{_curve(setup)}/{setup.seed}", timed=False)]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run BANSAC as far as each of the iterations and return one row for each iteration and point."""
    import bansac

    degree = CURVES[_curve(setup)]
    data = polynomial_points(POINTS, degree, INLIER_RATE, NOISE, setup.seed)
    rows: list[Row] = []
    for iteration in ITERATIONS:
        result = bansac.fit_polynomial(
            data.points, degree, seed=setup.seed, trace=True, **{**SETTINGS, "max_iterations": max(iteration, 1)}
        )
        assert result.trace is not None
        model = result.model if iteration else None
        common: Row = {
            "iteration": iteration,
            "seed": setup.seed,
            "inliers": 0 if model is None else result.num_inliers,
            "rmse": None if model is None else curve_rmse(model, data.model),
            **{f"c{k}": None if model is None else float(model[k]) for k in range(degree + 1)},
        }
        for i, probability in enumerate(result.trace.snapshots[iteration]):
            x, y = data.points[i].tolist()
            true = bool(data.inliers[i])
            rows.append({**common, "point": i, "x": x, "y": y, "true_inlier": true, "probability": float(probability)})
    return rows


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Draw the panels and average the probabilities."""
    degree = CURVES[_curve(setup)]
    steps: dict[int, list[Row]] = {}
    for row in rows:
        steps.setdefault(int(row["iteration"] or 0), []).append(row)
    data = polynomial_points(POINTS, degree, INLIER_RATE, NOISE, setup.seed)
    snapshots = {k: np.array([row["probability"] for row in of_step], float) for k, of_step in steps.items()}
    models = {k: [of_step[0][f"c{i}"] for i in range(degree + 1)] for k, of_step in steps.items()}
    curves = {k: _curve_points(np.array(model, float)) for k, model in models.items() if None not in model}
    return Report(
        tables={"curve_example": _table(steps)},
        figures={"curve_example": _figure(data.points, snapshots, _curve_points(data.model), curves)},
        notes=[
            f"The curve is a {_curve(setup)}, {100 * INLIER_RATE:.0f} % of the points are inliers; seed {setup.seed}. "
            "The dashed curve is the best minimal model so far, before any refinement."
        ],
    )


def _figure(points: _Array, snapshots: Mapping[int, _Array], true: _Array, curves: Mapping[int, _Array]) -> Any:
    from bansac.plotting import plot_point_evolution

    return plot_point_evolution(points, snapshots, iterations=tuple(snapshots), curve_true=true, curves=curves)


def _table(steps: Mapping[int, list[Row]]) -> Table:
    columns = ("mean P of inliers", "mean P of outliers", "inliers of the best model", "its RMSE")
    lines = []
    for iteration, rows in steps.items():
        true = np.array([row["true_inlier"] for row in rows], bool)
        probabilities = np.array([row["probability"] for row in rows], float)
        means = [float(probabilities[true].mean()), float(probabilities[~true].mean())]
        cells: list[Any] = [*means, rows[0]["inliers"], rows[0]["rmse"]]
        lines.append(TableRow((str(iteration),), tuple(cells)))
    return Table("Curve fitting by BANSAC, one run", ("Iteration",), columns, tuple(lines))


def _curve_points(coefficients: _Array) -> _Array:
    x = np.linspace(-1, 1, _ALONG)
    return np.column_stack([x, np.polynomial.polynomial.polyval(x, coefficients)])


def _curve(setup: Setup) -> str:
    name = str(setup.extra.get("curve", "parabola"))
    if name not in CURVES:
        raise ValueError(f"curve must be one of {', '.join(CURVES)}; got {name!r}")
    return name


EXPERIMENT = Experiment(
    name="curve-example",
    title="One run of BANSAC on a curve, its points coloured by probability",
    reference="fig:curve_fitting_example",
    needs_data=False,
    defaults="a parabola, 50 % inliers, iterations 0, 2, 4, 9, 11, 14",
    units=units,
    run_unit=run_unit,
    report=report,
    options=("curve",),
    values=(curve_rmse, POINTS, NOISE, SHARED),
)
