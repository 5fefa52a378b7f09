"""Panels of one run of BANSAC on a curve: fig:curve_fitting_example of the supplement.

The points are those of the ``synthetic`` experiment with 50 % inliers. The panels show them after 0, 2, 4, 9, 11 and 14
iterations, coloured by probability, with the true curve and the best model. Without refinement, the best model comes
from a minimal sample. It is the result of a separate run that ends at this iteration. Runs with the same seed are
identical up to the shorter length. The table continues to 100 iterations. The first models are bad, so that their
classifications lower the probabilities of inliers as well.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from bansac.maths.arrays import Floats
from bansac.synthetic import polynomial_points
from bansac_lab.evolution import plot_point_evolution
from bansac_lab.experiments.synthetic import DEGREE, POINTS, SHARED, SIGMA
from bansac_lab.frames import to_frame
from bansac_lab.measurement import SEED, Report, Row, Setup, Unit, of_module
from bansac_lab.metrics import curve_rmse
from bansac_lab.tables import percent, sectioned

PANELS = (0, 2, 4, 9, 11, 14)
ITERATIONS = (*PANELS, 100)
INLIER_RATE = 0.5
SETTINGS: dict[str, Any] = {**SHARED, "sampler": "bansac", "stopping": None, "refinement": None}
_ALONG = 201


def units(setup: Setup) -> list[Unit]:
    """Return the only unit."""
    return [Unit(key=f"parabola/{setup.seed}")]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run BANSAC up to each of ``ITERATIONS`` and return one row for each iteration and point."""
    import bansac

    data = polynomial_points(POINTS, DEGREE, INLIER_RATE, SIGMA, setup.seed)
    rows: list[Row] = []
    for iteration in ITERATIONS:
        settings = SETTINGS | {"max_iterations": max(iteration, 1)}
        result = bansac.fit_polynomial(data.points, DEGREE, seed=setup.seed, trace=True, **settings)
        assert result.trace is not None
        model = result.model if iteration else None
        common: Row = {
            "iteration": iteration,
            "seed": setup.seed,
            "inliers": 0 if model is None else result.num_inliers,
            "mean_inlier_ratio": None if model is None else float(np.nanmean(result.trace.inlier_ratio)),
            "rmse": None if model is None else curve_rmse(model, data.model),
            **{f"c{k}": None if model is None else float(model[k]) for k in range(DEGREE + 1)},
        }
        for i, probability in enumerate(result.trace.snapshots[iteration].tolist()):
            (x, y), true = data.points[i].tolist(), bool(data.inliers[i])
            rows.append({**common, "point": i, "x": x, "y": y, "true_inlier": true, "probability": probability})
    return rows


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Draw the panels and tabulate the mean probabilities."""
    steps = dict(iter(to_frame(rows).groupby("iteration")))
    data = polynomial_points(POINTS, DEGREE, INLIER_RATE, SIGMA, setup.seed)
    models = {k: step[[f"c{i}" for i in range(DEGREE + 1)]].iloc[0].to_numpy(float) for k, step in steps.items()}
    figure = plot_point_evolution(
        data.points,
        {k: step["probability"].to_numpy() for k, step in steps.items()},
        iterations=PANELS,
        curve_true=_curve_points(data.model),
        curves={k: _curve_points(model) for k, model in models.items() if np.isfinite(model).all()},
    )
    of_models = ("inlier ratio of all models so far, mean", "inliers of the best model", "its RMSE")
    columns = ("mean P of inliers", "mean P of outliers", *of_models)
    lines = {}
    for k, step in steps.items():
        means = (float(step["probability"][step["true_inlier"] == true].mean()) for true in (True, False))
        first = step.iloc[0]
        lines[str(k)] = (*means, float(first["mean_inlier_ratio"]), int(first["inliers"]), float(first["rmse"]))
    table = sectioned("Curve fitting by BANSAC, one run", "Iteration", columns, {"": lines})
    note = (
        f"The curve is a parabola, {percent(INLIER_RATE)} % of the points are inliers; seed {setup.seed}. "
        "The dashed curve is the best minimal model so far, before any refinement."
    )
    return Report(tables={"curve_example": table}, figures={"curve_example": figure}, notes=[note])


def _curve_points(coefficients: Floats) -> Floats:
    x = np.linspace(-1, 1, _ALONG)
    return np.column_stack([x, np.polynomial.polynomial.polyval(x, coefficients)])


EXPERIMENT = of_module(
    __name__,
    title="One run of BANSAC on a curve, its points coloured by probability",
    reference="fig:curve_fitting_example",
    defaults="a parabola, 50 % inliers, iterations 0, 2, 4, 9, 11, 14",
    options=(SEED,),
    values=(POINTS, SIGMA, SHARED),
    warm_up=None,
)
