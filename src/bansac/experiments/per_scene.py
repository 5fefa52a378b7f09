"""Six methods on E and F, scene by scene (tab:photoTourism_results, both halves)."""

from __future__ import annotations

from collections.abc import Iterable

from bansac.evaluation.experiment import Report, Row, Setup
from bansac.evaluation.grid import Grid
from bansac.evaluation.methods import PAPER_METHODS
from bansac.evaluation.pairs import Configuration
from bansac.evaluation.summary import MODEL_TITLES, ROTATION_10, TIME, TRANSLATION_10, Summary
from bansac.evaluation.tables import Section, Table, TableRow

_METRICS = (ROTATION_10, TRANSLATION_10, TIME)

GRID = Grid(models=("E", "F"), configurations=tuple(Configuration(method.label, method) for method in PAPER_METHODS))


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the paper's table: scenes down, methods across, a section for each metric."""
    summary = Summary(rows)
    names = [method.label for method in PAPER_METHODS]
    scenes = list(dict.fromkeys(scene for model in summary.models for scene in summary.sets(model)))
    lines: list[Section | TableRow] = []
    for metric in _METRICS:
        lines.append(Section(metric.heading))
        for scene in scenes:
            values = tuple(summary.of_set(metric, model, scene, name) for model in summary.models for name in names)
            lines.append(TableRow((scene,), values, better=metric.better, arrow=False))
    table = Table(
        "Calibrated and uncalibrated relative pose estimation for each scene.",
        ("Seq.",),
        tuple(names) * len(summary.models),
        tuple(lines),
        tuple((MODEL_TITLES[model], len(names)) for model in summary.models),
    )
    return Report(tables={"per_scene": table}, notes=summary.notes())


EXPERIMENT = GRID.experiment(
    name="per-scene",
    title="Six methods on E and F, scene by scene",
    reference="tab:photoTourism_results",
    defaults="first 4000 pairs of a scene, 5 repeats",
    report=report,
)
