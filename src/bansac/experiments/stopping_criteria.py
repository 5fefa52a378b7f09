"""BANSAC with seven combinations of stopping criteria (tab:stopping_criteria).

PROSAC's criterion needs an order of the matches. BANSAC gets it from the scores, and keeps its own P^0 = 0.5 and tau =
0.01: the sampling is the same in all rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.pairs import Configuration, Grid
from bansac.evaluation.paper_methods import BANSAC, Method
from bansac.evaluation.summary import (
    ITERATIONS,
    MODEL_TITLES,
    ROTATION_5,
    ROTATION_10,
    TIME,
    TRANSLATION_5,
    TRANSLATION_10,
    Summary,
)
from bansac.evaluation.tables import Section, Table, TableRow

__all__ = ["EXPERIMENT"]

_CRITERIA = ("ransac", "sprt", "prosac", "bansac")
_COMBINATIONS = ("ransac", "sprt", "prosac", "bansac", "ransac+bansac", "sprt+bansac", "prosac+bansac")
_METRICS = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10, TIME, ITERATIONS)
_HEADINGS = ("mAA (5°)", "mAA (10°)", "mAA (5°)", "mAA (10°)", "Avg. [ms]", "not in the paper")
_GROUPS = (("Rotation", 2), ("Translation", 2), ("Time", 1), ("Iterations", 1))

_ORDERED_BANSAC = Method("BANSAC", BANSAC.settings, scored=True)


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
    lines: list[Section | TableRow] = []
    for model in summary.models:
        lines.append(Section(MODEL_TITLES[model]))
        for stopping in _COMBINATIONS:
            labels = tuple("✓" if criterion in stopping.split("+") else "" for criterion in _CRITERIA)
            values = tuple(summary.mean(metric, model, stopping) for metric in _METRICS)
            lines.append(TableRow(labels, values))
    table = Table(
        "BANSAC with different stopping criteria.",
        tuple(criterion.upper() for criterion in _CRITERIA),
        _HEADINGS,
        tuple(lines),
        _GROUPS,
        tuple(metric.better for metric in _METRICS),
    )
    return Report(tables={"stopping_criteria": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="stopping-criteria",
    title="BANSAC with seven combinations of stopping criteria",
    reference="tab:stopping_criteria",
    defaults="E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats",
    report=report,
)
