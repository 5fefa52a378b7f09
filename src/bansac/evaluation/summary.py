"""Means of experiments over image pairs: set by set, then over the sets; and the tables that show them.

A mean over sets is the average of their figures, whatever their numbers of pairs, as in the paper.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bansac.evaluation.experiment import Model, Row
from bansac.evaluation.tables import Better, Section, Table, TableRow, with_arrow
from bansac.metrics import auc, mean_average_accuracy

__all__ = [
    "EXTRA_POSE_METRICS",
    "HOMOGRAPHY_METRICS",
    "ITERATIONS",
    "MODELS_TESTED",
    "MODEL_TITLES",
    "POSE_METRICS",
    "TIME",
    "Metric",
    "Summary",
    "metric_rows",
    "metric_table",
]

MODEL_TITLES: dict[str, str] = {
    "E": "Calibrated Relative Pose Estimation (essential matrix estimation)",
    "F": "Uncalibrated Relative Pose Estimation (fundamental matrix estimation)",
    "H": "Homography Estimation",
}


@dataclass
class _Runs:
    """The runs of one configuration on one set."""

    pairs: set[str] = field(default_factory=set)
    rotation: array[float] = field(default_factory=lambda: array("d"))
    translation: array[float] = field(default_factory=lambda: array("d"))
    homography: array[float] = field(default_factory=lambda: array("d"))
    iterations: array[float] = field(default_factory=lambda: array("d"))
    models: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: Row) -> None:
        self.pairs.add(str(row["pair"]))
        for values, column in (
            (self.rotation, "rotation_error"),
            (self.translation, "translation_error"),
            (self.homography, "homography_error"),
            (self.iterations, "iterations"),
            (self.models, "models_tested"),
            (self.seconds, "seconds"),
        ):
            value = row.get(column)
            if isinstance(value, int | float):
                values.append(value)

    def worst_pose(self) -> list[float]:
        return [max(errors) for errors in zip(self.rotation, self.translation, strict=True)]


@dataclass(frozen=True)
class Metric:
    """A figure of merit.

    Parameters
    ----------
    label : str
        Its label in tables.
    better : {"higher", "lower"}
        Which values are better.
    compute : callable
        The figure of one configuration on one set; NaN where there is none.
    """

    label: str
    better: Better
    compute: Callable[[_Runs], float]

    @property
    def heading(self) -> str:
        """The label with an arrow that tells which values are better."""
        return with_arrow(self.label, self.better)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


ROTATION_ERROR = Metric("Rotation error [°]", "lower", lambda runs: _mean(runs.rotation))
TRANSLATION_ERROR = Metric("Translation error [°]", "lower", lambda runs: _mean(runs.translation))
ROTATION_5 = Metric("Rotation mAA (5°)", "higher", lambda runs: mean_average_accuracy(runs.rotation, 5))
ROTATION_10 = Metric("Rotation mAA (10°)", "higher", lambda runs: mean_average_accuracy(runs.rotation, 10))
TRANSLATION_5 = Metric("Translation mAA (5°)", "higher", lambda runs: mean_average_accuracy(runs.translation, 5))
TRANSLATION_10 = Metric("Translation mAA (10°)", "higher", lambda runs: mean_average_accuracy(runs.translation, 10))
AUC_10 = Metric("AUC (10°) of the larger error, not in the paper", "higher", lambda runs: auc(runs.worst_pose(), 10))
HOMOGRAPHY_5 = Metric("Homography mAA (5 px)", "higher", lambda runs: mean_average_accuracy(runs.homography, 5))
HOMOGRAPHY_10 = Metric("Homography mAA (10 px)", "higher", lambda runs: mean_average_accuracy(runs.homography, 10))
TIME = Metric("Avg. execution time [ms]", "lower", lambda runs: 1e3 * _mean(runs.seconds))
ITERATIONS = Metric("Avg. iterations, not in the paper", "lower", lambda runs: _mean(runs.iterations))
MODELS_TESTED = Metric("Avg. models tested, not in the paper", "lower", lambda runs: _mean(runs.models))

POSE_METRICS = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10, TIME)
"""The rows of the paper's tables on poses."""

HOMOGRAPHY_METRICS = (HOMOGRAPHY_5, HOMOGRAPHY_10, TIME)
"""The rows of the paper's table on homographies."""

EXTRA_POSE_METRICS = (AUC_10, ITERATIONS)
"""Rows that are not in the paper: the usual figure for poses, and what the stop does."""


class Summary:
    """The figures of all configurations.

    Parameters
    ----------
    rows : iterable of Row
        Rows of :meth:`bansac.evaluation.pairs.Grid.run_unit`.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._runs: dict[str, dict[str, dict[str, _Runs]]] = {}
        self._repeats: dict[str, set[int]] = {}
        for row in rows:
            model, name, configuration = str(row["model"]), str(row["set"]), str(row["configuration"])
            of_set = self._runs.setdefault(model, {}).setdefault(name, {})
            of_set.setdefault(configuration, _Runs()).add(row)
            self._repeats.setdefault(model, set()).add(int(row["repeat"] or 0))

    @property
    def models(self) -> list[Model]:
        """The models, in the order E, F, H."""
        order: tuple[Model, ...] = ("E", "F", "H")
        return [model for model in order if model in self._runs]

    def sets(self, model: str) -> list[str]:
        """Return the names of the sets."""
        return list(self._runs[model])

    def of_set(self, metric: Metric, model: str, set_name: str, configuration: str) -> float:
        """Return a figure on one set; NaN where there is none."""
        runs = self._runs.get(model, {}).get(set_name, {}).get(configuration)
        return metric.compute(runs) if runs is not None else math.nan

    def mean(self, metric: Metric, model: str, configuration: str) -> float:
        """Return the average of the sets' figures; NaN where one is missing."""
        figures = [self.of_set(metric, model, name, configuration) for name in self._runs[model]]
        return float(np.mean(figures))

    def notes(self) -> list[str]:
        """Say what the figures are means over."""
        notes = []
        for model, sets in self._runs.items():
            pairs = [f"{name} ({len(next(iter(by.values())).pairs)} pairs)" for name, by in sets.items()]
            notes.append(f"{model}: {', '.join(pairs)}; {len(self._repeats[model])} repeats")
        return [*notes, "pairs with too few matches (fewer than 26) are left out, and sets that have no others"]


def metric_rows(
    summary: Summary, metrics: Sequence[Metric], model: str, configurations: Sequence[str]
) -> list[TableRow]:
    """Return a row for each metric with a value for each configuration: means over the sets.

    Parameters
    ----------
    summary : Summary
        The figures.
    metrics : sequence of Metric
        The rows.
    model : {"E", "F", "H"}
        The model.
    configurations : sequence of str
        The columns.

    Returns
    -------
    list of TableRow
        The rows.
    """
    return [
        TableRow(
            (metric.label,), tuple(summary.mean(metric, model, name) for name in configurations), better=metric.better
        )
        for metric in metrics
    ]


def metric_table(
    summary: Summary,
    title: str,
    columns: Mapping[str, str],
    *,
    groups: Sequence[tuple[str, int]] = (),
    extra: Sequence[Metric] = EXTRA_POSE_METRICS,
) -> Table:
    """Return the paper's table of an ablation: metrics down, configurations across, a section for each model.

    Parameters
    ----------
    summary : Summary
        The figures.
    title : str
        The caption.
    columns : mapping of str to str
        Headings by the names of the configurations.
    groups : sequence of (str, int), optional
        Headings over the columns.
    extra : sequence of Metric, optional
        Rows besides the paper's, for poses.

    Returns
    -------
    Table
        The table.
    """
    rows: list[TableRow | Section] = []
    for model in summary.models:
        metrics = HOMOGRAPHY_METRICS if model == "H" else (*POSE_METRICS, *extra)
        rows += [Section(MODEL_TITLES[model]), *metric_rows(summary, metrics, model, list(columns))]
    return Table(title, ("Metrics",), tuple(columns.values()), tuple(rows), tuple(groups))
