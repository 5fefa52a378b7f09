"""The functions rho_1 to rho_4 from probabilities to sampling weights (table:ablation_sampling)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import BANSAC
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import Summary, metric_table

__all__ = ["EXPERIMENT"]

_HEADINGS = {"rho_1": "ρ₁", "rho_2": "ρ₂", "rho_3": "ρ₃", "rho_4": "ρ₄"}

GRID = Grid(
    models=("E", "F"),
    configurations=tuple(Configuration(rho, BANSAC, {"activation": rho}, {"activation": rho}) for rho in _HEADINGS),
    ablation=True,
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table."""
    summary = Summary(rows)
    title = "BANSAC with different activation functions ρ for the sampling weights."  # noqa: RUF001
    return Report(tables={"sampling_activation": metric_table(summary, title, _HEADINGS)}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="sampling-activation",
    title="Functions rho_1 to rho_4 of the sampling weights",
    reference="table:ablation_sampling",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    report=report,
)
