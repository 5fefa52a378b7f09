"""Means of experiments over image pairs, by set and over the sets, and the tables that show them.

As in the paper, a mean over sets gives every set the same weight, independent of its number of pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bansac.batch.journal import Row
from bansac.lab.frames import DataFrame, import_pandas
from bansac.lab.metrics import auc, mean_average_accuracy
from bansac.lab.tables import Better, Section, Table, TableRow, with_arrow
from bansac.problems.estimators import Kind

MODEL_TITLES: dict[str, str] = {
    "E": "Calibrated Relative Pose Estimation (essential matrix estimation)",
    "F": "Uncalibrated Relative Pose Estimation (fundamental matrix estimation)",
    "H": "Homography Estimation",
}


_TEXTS = ("model", "set", "configuration", "pair", "repeat")
_ERRORS = ("rotation_error", "translation_error", "corner_error", "visible_area_error")
_NUMBERS = (*_ERRORS, "iterations", "models_tested", "seconds")
_BLOCK = 100_000


def frame_of(rows: Iterable[Row]) -> DataFrame:
    """Convert rows of :func:`bansac.lab.pairs.run_pair` to a data frame.

    Texts are categories, numbers float64. Missing numbers are NaN. The rows are converted in blocks, because a full
    run has millions.
    """
    pandas = import_pandas()
    left = iter(rows)
    blocks = [pandas.DataFrame([], columns=[*_TEXTS, *_NUMBERS])]
    while block := list(itertools.islice(left, _BLOCK)):
        blocks.append(pandas.DataFrame(block, columns=[*_TEXTS, *_NUMBERS]).astype(dict.fromkeys(_NUMBERS, float)))
    return pandas.concat(blocks[1:] or blocks, ignore_index=True).astype(dict.fromkeys(_TEXTS, "category"))


@dataclass(frozen=True)
class Metric:
    """Performance measure of one configuration on one set; its value is NaN if there is no data.

    A measure that is a mean over runs also has ``of_runs``, its value for each run.
    """

    label: str
    better: Better
    compute: Callable[[DataFrame], float]
    of_runs: Callable[[DataFrame], NDArray[np.float64]] | None = None

    @property
    def heading(self) -> str:
        """Label with an arrow for the better direction."""
        return with_arrow(self.label, self.better)


def _mean(column: str, runs: DataFrame) -> float:
    values = runs[column].dropna()
    return float(np.mean(values.to_numpy())) if len(values) else math.nan


def _milliseconds(runs: DataFrame) -> float:
    return 1e3 * _mean("seconds", runs)


def _accuracy(column: str, threshold: float, runs: DataFrame) -> float:
    errors = runs[column].dropna()
    return mean_average_accuracy(errors, threshold) if len(errors) else math.nan


def _accuracies(column: str, threshold: float, runs: DataFrame) -> NDArray[np.float64]:
    """Return the accuracy of each run: 1, 0 or a value between them; NaN without an error."""
    errors = runs[column].to_numpy(float)
    return np.array([math.nan if math.isnan(e) else mean_average_accuracy([e], threshold) for e in errors])


def _accuracy_metric(label: str, column: str, threshold: float) -> Metric:
    of_runs = partial(_accuracies, column, threshold)
    return Metric(label, "higher", partial(_accuracy, column, threshold), of_runs)


def _milliseconds_of_runs(runs: DataFrame) -> NDArray[np.float64]:
    return np.asarray(1e3 * runs["seconds"].to_numpy(float))


def _auc(runs: DataFrame) -> float:
    return auc(np.maximum(runs["rotation_error"], runs["translation_error"]).dropna(), 10)


ROTATION_ERROR = Metric("Rotation error [°]", "lower", partial(_mean, "rotation_error"))
TRANSLATION_ERROR = Metric("Translation error [°]", "lower", partial(_mean, "translation_error"))
ROTATION_5 = _accuracy_metric("Rotation mAA (5°)", "rotation_error", 5)
ROTATION_10 = _accuracy_metric("Rotation mAA (10°)", "rotation_error", 10)
TRANSLATION_5 = _accuracy_metric("Translation mAA (5°)", "translation_error", 5)
TRANSLATION_10 = _accuracy_metric("Translation mAA (10°)", "translation_error", 10)
AUC_10 = Metric("AUC (10°) of the larger error, not in the paper", "higher", _auc)
CORNERS_5 = _accuracy_metric("Homography mAA (5 px), corners", "corner_error", 5)
CORNERS_10 = _accuracy_metric("Homography mAA (10 px), corners", "corner_error", 10)
VISIBLE_5 = _accuracy_metric("Homography mAA (5 px), visible area", "visible_area_error", 5)
VISIBLE_10 = _accuracy_metric("Homography mAA (10 px), visible area", "visible_area_error", 10)
TIME = Metric("Avg. execution time [ms]", "lower", _milliseconds, _milliseconds_of_runs)
ITERATIONS = Metric("Avg. iterations, not in the paper", "lower", partial(_mean, "iterations"))
MODELS_TESTED = Metric("Avg. models tested, not in the paper", "lower", partial(_mean, "models_tested"))

POSE_METRICS = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10, TIME)
"""The rows of the paper's tables on poses."""

HOMOGRAPHY_METRICS = (VISIBLE_5, VISIBLE_10, CORNERS_5, CORNERS_10, TIME)
"""The rows of the paper's table on homographies (the tutorial's error over the visible area), and corner errors."""

EXTRA_POSE_METRICS = (AUC_10, ITERATIONS)
"""Rows that are not in the paper: the usual AUC of poses, and the number of iterations."""


class Summary:
    """Metrics of all configurations, from the rows of :func:`bansac.lab.pairs.run_pair`."""

    def __init__(self, rows: Iterable[Row]) -> None:
        frame = frame_of(rows)
        by_run = ["model", "set", "configuration"]
        self._runs = dict(iter(frame.groupby(by_run, sort=False, observed=True)))
        self._of_model = dict(iter(frame.groupby("model", sort=False, observed=True)))

    @property
    def models(self) -> list[Kind]:
        """The models, in the order E, F, H."""
        order: tuple[Kind, ...] = ("E", "F", "H")
        return [model for model in order if model in self._of_model]

    def sets(self, model: str) -> list[str]:
        """Return the names of the sets of a model."""
        return [str(name) for name in self._of_model[model]["set"].unique()]

    def of_set(self, metric: Metric, model: str, set_name: str, configuration: str) -> float:
        """Return a metric on one set; NaN if there is no data."""
        runs = self._runs.get((model, set_name, configuration))
        return metric.compute(runs) if runs is not None else math.nan

    def runs(self, model: str, set_name: str, configuration: str) -> DataFrame:
        """Return the runs of a configuration on one set."""
        return self._runs[model, set_name, configuration]

    def mean(self, metric: Metric, model: str, configuration: str) -> float:
        """Return the average of a metric over the sets; NaN if one value is missing."""
        figures = [self.of_set(metric, model, name, configuration) for name in self.sets(model)]
        return float(np.mean(figures))

    def notes(self) -> list[str]:
        """Return notes on the pairs and repeats that the means include."""
        notes = []
        for model, runs in self._of_model.items():
            counts = runs.groupby("set", sort=False, observed=True)["pair"].nunique()
            pairs = [f"{name} ({count} pairs)" for name, count in counts.items()]
            notes.append(f"{model}: {', '.join(pairs)}; {runs['repeat'].nunique()} repeats")
        return [*notes, "pairs with too few matches (fewer than 26) are left out, and sets that have no others"]


def metric_table(
    summary: Summary,
    title: str,
    columns: Mapping[str, str],
    *,
    groups: Sequence[tuple[str, int]] = (),
    extra: Sequence[Metric] = EXTRA_POSE_METRICS,
    extra_h: Sequence[Metric] = (),
) -> Table:
    """Return a table of means over the sets: one row for each metric, one column for each configuration.

    There is a section for each model. ``columns`` maps the names of the configurations to headings. ``extra`` and
    ``extra_h`` list rows besides the paper's, for poses and homographies.
    """
    rows: list[TableRow | Section] = []
    for model in summary.models:
        rows.append(Section(MODEL_TITLES[model]))
        for metric in (*HOMOGRAPHY_METRICS, *extra_h) if model == "H" else (*POSE_METRICS, *extra):
            figures = tuple(summary.mean(metric, model, name) for name in columns)
            rows.append(TableRow((metric.label,), figures, better=metric.better))
    return Table(title, ("Metrics",), tuple(columns.values()), tuple(rows), tuple(groups))


_ACROSS = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10, TIME, ITERATIONS)
_GROUPS = (("Rotation", 2), ("Translation", 2), ("Time", 1), ("Iterations", 1))


def settings_table(
    summary: Summary, title: str, stub: tuple[str, ...], labels: Mapping[str, tuple[str, ...]], iterations: str
) -> Table:
    """Return a table with one column for each metric and one row for each configuration.

    ``labels`` maps the names of the configurations to row labels, whose headings are ``stub``.
    """
    lines: list[TableRow | Section] = []
    for model in summary.models:
        lines.append(Section(MODEL_TITLES[model]))
        for name, of_row in labels.items():
            lines.append(TableRow(of_row, tuple(summary.mean(metric, model, name) for metric in _ACROSS)))
    columns = ("mAA (5°)", "mAA (10°)", "mAA (5°)", "mAA (10°)", "Avg. [ms]", iterations)
    return Table(title, stub, columns, tuple(lines), _GROUPS, tuple(metric.better for metric in _ACROSS))
