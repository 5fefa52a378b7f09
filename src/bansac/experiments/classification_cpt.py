"""The functions gamma_1 to gamma_3 of P(c | x), for BANSAC and P-BANSAC (table:ablation_classification_CPT)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import BANSAC, P_BANSAC
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import Summary, metric_table

__all__ = ["EXPERIMENT"]

_METHODS = (BANSAC, P_BANSAC)
_HEADINGS = {"gamma_1": "γ₁", "gamma_2": "γ₂", "gamma_3": "γ₃"}

GRID = Grid(
    models=("E", "F"),
    configurations=tuple(
        Configuration(f"{method.label}, {gamma}", method, {"gamma": gamma}, {"gamma": gamma})
        for method in _METHODS
        for gamma in _HEADINGS
    ),
    ablation=True,
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table, with P-BANSAC beside BANSAC."""
    summary = Summary(rows)
    columns = {f"{method.label}, {gamma}": heading for method in _METHODS for gamma, heading in _HEADINGS.items()}
    groups = [(method.label, len(_HEADINGS)) for method in _METHODS]
    title = "BANSAC and P-BANSAC with different functions γ of the inlier ratio for P(c | x)."  # noqa: RUF001
    table = metric_table(summary, title, columns, groups=groups)
    return Report(tables={"classification_cpt": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="classification-cpt",
    title="Functions gamma_1 to gamma_3 of P(c | x)",
    reference="table:ablation_classification_CPT",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    report=report,
)
