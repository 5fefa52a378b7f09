"""Orders 1 to 3 of the Markov assumption (table:ablation_markov_assumptions)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import BANSAC
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import Summary, metric_table

__all__ = ["EXPERIMENT"]

_HEADINGS = {1: "1st Order", 2: "2nd Order", 3: "3rd Order"}

GRID = Grid(
    models=("E", "F"),
    configurations=tuple(
        Configuration(f"order {order}", BANSAC, {"order": order}, {"order": order}) for order in _HEADINGS
    ),
    ablation=True,
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table."""
    summary = Summary(rows)
    columns = {f"order {order}": heading for order, heading in _HEADINGS.items()}
    title = "Ablation study on the Markov assumption: BANSAC with the orders 1, 2 and 3."
    return Report(tables={"markov_order": metric_table(summary, title, columns)}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="markov-order",
    title="Orders 1 to 3 of the Markov assumption",
    reference="table:ablation_markov_assumptions",
    defaults="E and F (the paper: E), all pairs of sacre_coeur, 5 repeats",
    report=report,
)
