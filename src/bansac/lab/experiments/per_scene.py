"""Six methods on E and F, scene by scene (tab:photoTourism_results, both halves)."""

from __future__ import annotations

import functools

from bansac.lab.experiments.ablations import report_table
from bansac.lab.grid import Grid
from bansac.lab.pairs import Configuration
from bansac.lab.peers.methods import PAPER_METHODS
from bansac.lab.summary import MODEL_TITLES, ROTATION_10, TIME, TRANSLATION_10, Summary
from bansac.lab.tables import Section, Table, TableRow

_METRICS = (ROTATION_10, TRANSLATION_10, TIME)


def scene_table(summary: Summary) -> Table:
    """Return the paper's table: one row for each scene, one column for each method, a section for each metric."""
    names = [method.label for method in PAPER_METHODS]
    scenes = list(dict.fromkeys(scene for model in summary.models for scene in summary.sets(model)))
    lines: list[Section | TableRow] = []
    for metric in _METRICS:
        lines.append(Section(metric.heading))
        for scene in scenes:
            values = tuple(summary.of_set(metric, model, scene, name) for model in summary.models for name in names)
            lines.append(TableRow((scene,), values, better=metric.better, arrow=False))
    return Table(
        "Calibrated and uncalibrated relative pose estimation for each scene.",
        ("Seq.",),
        tuple(names) * len(summary.models),
        tuple(lines),
        tuple((MODEL_TITLES[model], len(names)) for model in summary.models),
    )


_CONFIGURATIONS = tuple(Configuration(method.label, method) for method in PAPER_METHODS)

EXPERIMENT = Grid(("E", "F"), _CONFIGURATIONS).experiment(
    name="per-scene",
    title="Six methods on E and F, scene by scene",
    reference="tab:photoTourism_results",
    defaults="first 4000 pairs of a scene, 5 repeats",
    report=functools.partial(report_table, name="per_scene", make=scene_table),
)
