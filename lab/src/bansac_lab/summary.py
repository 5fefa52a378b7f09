"""Means of experiments over image pairs, by set and over the sets, and the tables that show them.

As in the paper, a mean over sets gives every set the same weight, independent of its number of pairs.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bansac.batch.journal import Row
from bansac.maths.arrays import Floats
from bansac.problems.estimators import Kind
from bansac_lab.frames import DataFrame, import_pandas
from bansac_lab.metrics import accuracies, auc
from bansac_lab.tables import Better, Measured, Table, TableRow, sectioned, with_arrow

MODEL_TITLES: Mapping[Kind, str] = {
    "E": "Calibrated Relative Pose Estimation (essential matrix estimation)",
    "F": "Uncalibrated Relative Pose Estimation (fundamental matrix estimation)",
    "H": "Homography Estimation",
}

_TEXTS = ("model", "set", "configuration", "pair", "repeat")
_ERRORS = ("rotation_error", "translation_error", "corner_error", "visible_area_error")
_NUMBERS = (*_ERRORS, "iterations", "models_tested", "seconds")
_BLOCK = 100_000


def frame_of(rows: Iterable[Row]) -> DataFrame:
    """Convert rows of :class:`bansac_lab.pairs.PairRuns` to a data frame, in blocks: a full run has millions.

    Texts are categories, numbers float64, NaN if they are missing. The column ``larger_error`` is added.
    """
    pandas = import_pandas()
    left = iter(rows)
    blocks = [pandas.DataFrame([], columns=[*_TEXTS, *_NUMBERS])]
    while block := list(itertools.islice(left, _BLOCK)):
        blocks.append(pandas.DataFrame(block, columns=[*_TEXTS, *_NUMBERS]).astype(dict.fromkeys(_NUMBERS, float)))
    frame = pandas.concat(blocks[1:] or blocks, ignore_index=True).astype(dict.fromkeys(_TEXTS, "category"))
    return frame.assign(larger_error=np.maximum(frame["rotation_error"], frame["translation_error"]))


@dataclass(frozen=True)
class Metric:
    """Performance measure of one configuration on one set: an average of the values of its runs."""

    label: str
    better: Better
    column: str
    of_error: Callable[[Floats], Floats] = np.asarray  # value of a run from that of the column
    average: Callable[[Floats], float] = np.mean

    def of_runs(self, runs: DataFrame) -> Floats:
        """Return the value of each run, NaN if it is unknown."""
        errors = runs[self.column].to_numpy(float)
        return np.where(np.isnan(errors), np.nan, self.of_error(errors))

    def compute(self, runs: DataFrame) -> float:
        """Return the average of the known values, NaN if there is none."""
        values = self.of_runs(runs)
        known = values[~np.isnan(values)]
        return float(self.average(known)) if known.size else math.nan

    @property
    def heading(self) -> str:
        """Label with an arrow for the better direction."""
        return with_arrow(self.label, self.better)


def _accuracy(label: str, column: str, threshold: float) -> Metric:
    return Metric(label, "higher", column, partial(accuracies, threshold=threshold))


ROTATION_ERROR = Metric("Rotation error [°]", "lower", "rotation_error")
TRANSLATION_ERROR = Metric("Translation error [°]", "lower", "translation_error")
ROTATION_5 = _accuracy("Rotation mAA (5°)", "rotation_error", 5)
ROTATION_10 = _accuracy("Rotation mAA (10°)", "rotation_error", 10)
TRANSLATION_5 = _accuracy("Translation mAA (5°)", "translation_error", 5)
TRANSLATION_10 = _accuracy("Translation mAA (10°)", "translation_error", 10)
_AUC = "AUC (10°) of the larger error, not in the paper"
AUC_10 = Metric(_AUC, "higher", "larger_error", average=partial(auc, threshold=10))
CORNERS_5 = _accuracy("Homography mAA (5 px), corners", "corner_error", 5)
CORNERS_10 = _accuracy("Homography mAA (10 px), corners", "corner_error", 10)
VISIBLE_5 = _accuracy("Homography mAA (5 px), visible area", "visible_area_error", 5)
VISIBLE_10 = _accuracy("Homography mAA (10 px), visible area", "visible_area_error", 10)
TIME = Metric("Avg. execution time [ms]", "lower", "seconds", partial(np.multiply, 1e3))
ITERATIONS = Metric("Avg. iterations, not in the paper", "lower", "iterations")
MODELS_TESTED = Metric("Avg. models tested, not in the paper", "lower", "models_tested")

POSE_RATES = (ROTATION_5, ROTATION_10, TRANSLATION_5, TRANSLATION_10)
POSE_METRICS = (*POSE_RATES, TIME)
"""The rows of the paper's tables on poses."""

HOMOGRAPHY_METRICS = (VISIBLE_5, VISIBLE_10, CORNERS_5, CORNERS_10, TIME)
"""The rows of the paper's table on homographies (the tutorial's error over the visible area), and corner errors."""


POSE_FIGURES: Mapping[str, Metric] = {
    **dict(zip(("mAA_R@5", "mAA_R@10", "mAA_t@5", "mAA_t@10"), POSE_RATES, strict=True)),
    **{f"AUC@{t}": replace(AUC_10, average=partial(auc, threshold=t)) for t in (5, 10, 20)},
    "beyond@10": Metric("", "lower", "larger_error", partial(np.less, 10)),
}
HOMOGRAPHY_FIGURES: Mapping[str, Metric] = {
    **{"mAA@5": CORNERS_5, "mAA@10": CORNERS_10, "mAA_visible@5": VISIBLE_5, "mAA_visible@10": VISIBLE_10},
    "beyond@10": Metric("", "lower", "corner_error", partial(np.less, 10)),
}
TIME_FIGURES: Mapping[str, Metric] = {"ms_mean": TIME, "ms_median": replace(TIME, average=np.median)}
"""The figures of ``bansac bench DIR`` by their names in the report."""


class Summary:
    """Metrics of all configurations, from the rows of :class:`bansac_lab.pairs.PairRuns`."""

    def __init__(self, rows: Iterable[Row] | DataFrame) -> None:
        frame = rows if isinstance(rows, import_pandas().DataFrame) else frame_of(rows)
        by_run = ["model", "set", "configuration"]
        self._runs = dict(iter(frame.groupby(by_run, sort=False, observed=True)))
        self._of_model = dict(iter(frame.groupby("model", sort=False, observed=True)))

    @property
    def models(self) -> list[Kind]:
        """The models, in the order E, F, H."""
        return [model for model in MODEL_TITLES if model in self._of_model]

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
    groups: Mapping[str, Mapping[str, str]],
    *,
    extra: Sequence[Metric] = (AUC_10, ITERATIONS),
    extra_h: Sequence[Metric] = (),
) -> Table:
    """Return a table of means over the sets: a section for each model, a row for each metric, a column for each name.

    ``groups`` has the headings of the configurations, by group of columns. ``extra`` and ``extra_h`` are rows besides
    the paper's, for poses and H.
    """
    columns = {name: heading for group in groups.values() for name, heading in group.items()}
    spans = tuple((group, len(names)) for group, names in groups.items() if group)
    rows = []
    for model in summary.models:
        for metric in (*HOMOGRAPHY_METRICS, *extra_h) if model == "H" else (*POSE_METRICS, *extra):
            figures = tuple(summary.mean(metric, model, name) for name in columns)
            rows.append(TableRow((metric.label,), figures, metric.better, MODEL_TITLES[model], arrow=True))
    return Table(title, ("Metrics",), tuple(columns.values()), tuple(rows), spans)


_ACROSS = (*POSE_METRICS, ITERATIONS)
_GROUPS = (("Rotation", 2), ("Translation", 2), ("Time", 1), ("Iterations", 1))


def settings_table(
    summary: Summary, title: str, stub: tuple[str, ...], labels: Mapping[str, tuple[str, ...]], iterations: str
) -> Table:
    """Return a table with a column for each metric and a row for each key of ``labels``, a configuration."""
    lines = [
        TableRow(of_row, tuple(summary.mean(m, model, name) for m in _ACROSS), section=MODEL_TITLES[model])
        for model, (name, of_row) in itertools.product(summary.models, labels.items())
    ]
    columns = ("mAA (5°)", "mAA (10°)", "mAA (5°)", "mAA (10°)", "Avg. [ms]", iterations)
    return Table(title, stub, columns, tuple(lines), _GROUPS, tuple(metric.better for metric in _ACROSS))


Leads = Mapping[str, Sequence[str]]
"""Names of configurations, each with the names of those that it is compared with."""

DRAWS = 1000
_LEVEL = 95.0


def bootstrap(summary: Summary, metric: Metric, model: str, names: Sequence[str]) -> Mapping[str, Floats]:
    """Return the mean over the sets of a metric by configuration, first of the runs themselves, then of each draw."""
    of_sets = []
    for number, set_name in enumerate(summary.sets(model)):
        runs = [summary.runs(model, set_name, name) for name in names]
        values = np.array([metric.of_runs(each) for each in runs], float)
        pairs, members = np.unique(runs[0]["pair"].astype(str), return_inverse=True)
        drawn = np.random.default_rng(number).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=DRAWS)
        weights, known = np.vstack([np.ones(len(runs[0])), drawn[:, members]]).T, ~np.isnan(values)
        of_sets.append((np.where(known, values, 0.0) @ weights) / (known @ weights))
    return dict(zip(names, np.mean(of_sets, axis=0), strict=True))


def lead(means: Mapping[str, Floats], metric: Metric, name: str, others: Sequence[str]) -> Measured:
    """Return by how much a configuration is ahead of the best of others, with half of the 95 % interval.

    A positive number is better. The best of the others is found anew in each draw: the choice is part of the
    uncertainty.
    """
    sign = 1.0 if metric.better == "higher" else -1.0
    best = np.max([sign * means[other] for other in others], axis=0)
    ahead = sign * means[name] - best
    low, high = np.percentile(ahead[1:], [50 - _LEVEL / 2, 50 + _LEVEL / 2])
    return Measured(float(ahead[0]), float(high - low) / 2)


def lead_table(summary: Summary, title: str, groups: Mapping[str, Leads], labels: Mapping[str, str]) -> Table:
    """Return a table of leads: a row for each metric of the paper, a column for each name in each group."""
    sections: dict[str, dict[str, list[Measured]]] = {}
    for model in summary.models:
        lines = sections[MODEL_TITLES[model]] = {}
        for metric in HOMOGRAPHY_METRICS if model == "H" else POSE_METRICS:
            means = bootstrap(summary, metric, model, list(labels))
            pairs = ((name, others) for group in groups.values() for name, others in group.items())
            lines[metric.label] = [lead(means, metric, *pair) for pair in pairs]
    columns = (labels[name] for group in groups.values() for name in group)
    spans = ((heading, len(group)) for heading, group in groups.items())
    return sectioned(title, "Metrics", columns, sections, groups=spans)
