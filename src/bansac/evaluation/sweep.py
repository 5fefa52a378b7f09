"""What the two experiments that vary a setting show: errors and time against it, a curve for each method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bansac.evaluation.charts import Chart, Series, plot_charts
from bansac.evaluation.experiment import Report, Row
from bansac.evaluation.methods import PAPER_METHODS
from bansac.evaluation.summary import (
    AUC_10,
    MODEL_TITLES,
    ROTATION_10,
    ROTATION_ERROR,
    TIME,
    TRANSLATION_10,
    TRANSLATION_ERROR,
    Metric,
    Summary,
)
from bansac.evaluation.tables import Section, Table, TableRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report_sweep"]

_Curves = dict[Metric, dict[str, list[float]]]

_PANELS = (ROTATION_ERROR, TRANSLATION_ERROR, TIME)
_METRICS = (*_PANELS, ROTATION_10, TRANSLATION_10, AUC_10)


def report_sweep(
    rows: Iterable[Row],
    *,
    name: str,
    title: str,
    label: str,
    values: Sequence[float],
    configuration: Callable[[str, float], str],
) -> Report:
    """Return a figure and a table for each model: means against the values of a setting, a curve a method.

    ``name`` is that of the files, ``title`` the caption, ``label`` what the setting is;
    ``configuration(method, value)`` returns the name of a configuration.
    """
    summary = Summary(rows)
    note = "errors are means over the runs of a set, a failure counting 180°, and then over the sets"
    report = Report(notes=[*summary.notes(), note])
    for model in summary.models:
        curves = {
            metric: {
                method.label: [summary.mean(metric, model, configuration(method.label, value)) for value in values]
                for method in PAPER_METHODS
            }
            for metric in _METRICS
        }
        file = name if model == "F" else f"{name}_{model}"
        report.figures[file] = _plot(curves, label, values)
        report.tables[file] = _tabulate(curves, f"{title} {MODEL_TITLES[model]}.", label, values)
    return report


def _plot(curves: _Curves, label: str, values: Sequence[float]) -> Figure:
    charts = [
        Chart(
            [Series(method, values, y) for method, y in curves[metric].items()],
            xlabel=label,
            ylabel=metric.label,
            yscale="linear" if metric is TIME else "log",  # NAPSAC's errors would flatten all others
        )
        for metric in _PANELS
    ]
    return plot_charts([charts])


def _tabulate(curves: _Curves, title: str, label: str, values: Sequence[float]) -> Table:
    lines: list[Section | TableRow] = []
    for metric, by_method in curves.items():
        lines.append(Section(metric.heading))
        for i, value in enumerate(values):
            figures = tuple(y[i] for y in by_method.values())
            lines.append(TableRow((f"{value:g}",), figures, better=metric.better, arrow=False))
    return Table(title, (label,), tuple(method.label for method in PAPER_METHODS), tuple(lines))
