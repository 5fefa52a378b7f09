"""Six methods, with and without local optimisation, on E, F and H (tab:results_E_F_H_LO)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import LOCAL_OPTIMIZATION, PAPER_METHODS
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import (
    EXTRA_POSE_METRICS,
    HOMOGRAPHY_METRICS,
    ITERATIONS,
    MODEL_TITLES,
    POSE_METRICS,
    Summary,
    metric_rows,
)
from bansac.evaluation.tables import Section, Table, TableRow

GRID = Grid(
    models=("E", "F", "H"),
    configurations=(
        *(Configuration(method.label, method, {}, {"local_optimization": False}) for method in PAPER_METHODS),
        *(
            Configuration(f"{method.label}+LO", method, LOCAL_OPTIMIZATION, {"local_optimization": True})
            for method in PAPER_METHODS
        ),
    ),
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table; a section for each model that there are data for."""
    summary = Summary(rows)
    names = [configuration.name for configuration in GRID.configurations]
    lines: list[Section | TableRow] = []
    for model in summary.models:
        metrics = (*HOMOGRAPHY_METRICS, ITERATIONS) if model == "H" else (*POSE_METRICS, *EXTRA_POSE_METRICS)
        lines += [Section(MODEL_TITLES[model]), *metric_rows(summary, metrics, model, names)]
    columns = tuple(method.label for method in PAPER_METHODS)
    table = Table(
        "Calibrated relative pose, uncalibrated relative pose and homography estimation: BANSAC and P-BANSAC beside "
        "RANSAC, NAPSAC, P-NAPSAC and PROSAC, with and without the local optimization of LO-RANSAC.",
        ("Metrics",),
        columns * 2,
        tuple(lines),
        (("Without Local Optimization", len(columns)), ("With Local Optimization", len(columns))),
    )
    return Report(tables={"main_table": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="main-table",
    title="Six methods on E, F and H, with and without local optimisation",
    reference="tab:results_E_F_H_LO",
    defaults="first 4000 pairs of a scene, 5 repeats (E, F); all pairs, 10 repeats, corner error (H)",
    report=report,
)
