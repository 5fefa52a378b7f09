"""RANSAC, BANSAC and P-BANSAC with and without SPRT verification, which is not in the paper.

With SPRT the network is not updated if every model of an iteration was rejected: hundreds of bad models would
otherwise push all probabilities down. Without it the update runs at every iteration, as in Algorithm 1. SPRT's stop
needs SPRT's tests; in its place comes RANSAC's.
"""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import BANSAC, P_BANSAC, RANSAC
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import AUC_10, ITERATIONS, MODELS_TESTED, Summary, metric_table

__all__ = ["EXPERIMENT"]

_METHODS = (RANSAC, BANSAC, P_BANSAC)
_HEADINGS = {"sprt": "SPRT", "none": "none"}

GRID = Grid(
    models=("E", "F"),
    configurations=tuple(
        Configuration(
            f"{method.label}, {verification}",
            method,
            # The default stop of the method follows the verification.
            {"verification": "sprt" if verification == "sprt" else None},
            {"verification": verification},
        )
        for method in _METHODS
        for verification in _HEADINGS
    ),
    ablation=True,
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return a table in the layout of the paper's ablations."""
    summary = Summary(rows)
    columns = {f"{method.label}, {name}": heading for method in _METHODS for name, heading in _HEADINGS.items()}
    title = "With and without SPRT verification before the update of the probabilities."
    table = metric_table(
        summary,
        title,
        columns,
        groups=[(method.label, len(_HEADINGS)) for method in _METHODS],
        extra=(AUC_10, ITERATIONS, MODELS_TESTED),
    )
    return Report(tables={"verification": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="verification",
    title="With and without SPRT verification",
    reference="not in the paper",
    defaults="E and F, all pairs of sacre_coeur, 5 repeats",
    report=report,
)
