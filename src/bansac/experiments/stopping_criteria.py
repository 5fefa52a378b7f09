"""BANSAC with seven combinations of stopping criteria (tab:stopping_criteria).

PROSAC's criterion needs an order of the matches. BANSAC gets it from the scores, and keeps its own P^0 = 0.5 and tau =
0.01: the sampling is the same in all rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import BANSAC
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import Summary, settings_table

_CRITERIA = ("ransac", "sprt", "prosac", "bansac")
_COMBINATIONS = ("ransac", "sprt", "prosac", "bansac", "ransac+bansac", "sprt+bansac", "prosac+bansac")

_ORDERED_BANSAC = dataclasses.replace(BANSAC, scored=True)


def _configuration(stopping: str) -> Configuration:
    settings = {"stopping": stopping, "tau": 0.01}
    if "prosac" in stopping:
        return Configuration(stopping, _ORDERED_BANSAC, settings, {"stopping": stopping}, prior=0.5)
    return Configuration(stopping, BANSAC, settings, {"stopping": stopping})


GRID = Grid(
    models=("E", "F"), configurations=tuple(_configuration(stopping) for stopping in _COMBINATIONS), ablation=True
)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table: criteria down, metrics across."""
    summary = Summary(rows)
    labels = {
        stopping: tuple("✓" if criterion in stopping.split("+") else "" for criterion in _CRITERIA)
        for stopping in _COMBINATIONS
    }
    stub = tuple(criterion.upper() for criterion in _CRITERIA)
    table = settings_table(summary, "BANSAC with different stopping criteria.", stub, labels, "not in the paper")
    return Report(tables={"stopping_criteria": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="stopping-criteria",
    title="BANSAC with seven combinations of stopping criteria",
    reference="tab:stopping_criteria",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    report=report,
)
