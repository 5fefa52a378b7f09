"""The paper's two kinds of ablations: a table over a few values of an option, and curves over many values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bansac.batch.journal import Row
from bansac.lab.charts import Chart, Series, plot_charts
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.methods import BANSAC, PAPER_METHODS
from bansac.lab.grid import Grid
from bansac.lab.measurement import Measurement, Report, Setup
from bansac.lab.pairs import Configuration
from bansac.lab.summary import (
    AUC_10,
    EXTRA_POSE_METRICS,
    MODEL_TITLES,
    ROTATION_10,
    ROTATION_ERROR,
    TIME,
    TRANSLATION_10,
    TRANSLATION_ERROR,
    Metric,
    Summary,
    metric_table,
)
from bansac.lab.tables import Section, Table, TableRow

_Curves = dict[Metric, dict[str, list[float]]]

_PANELS = (ROTATION_ERROR, TRANSLATION_ERROR, TIME)
_METRICS = (*_PANELS, ROTATION_10, TRANSLATION_10, AUC_10)


def ablation(
    option: str,
    headings: Mapping[Any, str],
    *,
    name: str,
    caption: str,
    methods: Sequence[Method] = (BANSAC,),
    label: str = "{}",
    extra: Sequence[Metric] = EXTRA_POSE_METRICS,
    **described: Any,
) -> Measurement:
    """Return an experiment over the values of an option, reported as a table of metrics by value.

    ``headings`` maps each value to its column heading. Several methods have a group of columns each. ``label`` formats
    a value into the name of its configuration. ``extra`` lists rows besides the paper's. The other arguments are those
    of :meth:`.Grid.experiment`.
    """
    configurations, columns = [], {}
    for method in methods:
        for value, heading in headings.items():
            shown = "none" if value is None else value
            prefix = f"{method.label}, " if len(methods) > 1 else ""
            configuration = Configuration(prefix + label.format(shown), method, {option: value}, {option: shown})
            configurations.append(configuration)
            columns[configuration.name] = heading
    groups = [(method.label, len(headings)) for method in methods] if len(methods) > 1 else ()
    report = functools.partial(
        report_table, name=name.replace("-", "_"), title=caption, columns=columns, groups=groups, extra=extra
    )
    grid = Grid(("E", "F"), tuple(configurations), ablation=True)
    return grid.experiment(name=name, report=report, **described)


def report_table(
    setup: Setup, rows: Iterable[Row], *, name: str, make: Callable[..., Table] = metric_table, **described: Any
) -> Report:
    """Return a report with the table that ``make`` builds from the means."""
    summary = Summary(rows)
    return Report(tables={name: make(summary, **described)}, notes=summary.notes())


def sweep(
    configure: Callable[[Method, Any], Configuration],
    values: Sequence[float],
    *,
    name: str,
    caption: str,
    label: str,
    **described: Any,
) -> Measurement:
    """Return an experiment over many values, reported as a figure and a table for each model.

    The figure shows means over the values, one curve for each method. ``configure(method, value)`` returns a
    configuration. ``label`` is the name of the values' axis. The other arguments are those of :meth:`.Grid.experiment`.
    """
    names = {method.label: [configure(method, value).name for value in values] for method in PAPER_METHODS}
    configurations = tuple(configure(method, value) for value in values for method in PAPER_METHODS)
    report = functools.partial(
        _report_curves, name=name.replace("-", "_"), caption=caption, label=label, values=values, names=names
    )
    grid = Grid(("F", "E"), configurations, ablation=True, default_models=("F",))
    defaults = "F, all pairs of sacre_coeur, 5 repeats"
    return grid.experiment(name=name, defaults=defaults, report=report, **described)


def _report_curves(
    setup: Setup,
    rows: Iterable[Row],
    *,
    name: str,
    caption: str,
    label: str,
    values: Sequence[float],
    names: Mapping[str, Sequence[str]],
) -> Report:
    summary = Summary(rows)
    note = "errors are means over the runs of a set, a failure counting 180°, and then over the sets"
    report = Report(notes=[*summary.notes(), note])
    for model in summary.models:
        curves = {
            metric: {
                method: [summary.mean(metric, model, each) for each in of_method] for method, of_method in names.items()
            }
            for metric in _METRICS
        }
        file = name if model == "F" else f"{name}_{model}"
        charts = [
            Chart(
                [Series(method, values, y) for method, y in curves[metric].items()],
                xlabel=label,
                ylabel=metric.label,
                yscale="linear" if metric is TIME else "log",  # log: NAPSAC's errors are much larger
            )
            for metric in _PANELS
        ]
        report.figures[file] = plot_charts([charts])
        report.tables[file] = _tabulate(curves, f"{caption} {MODEL_TITLES[model]}.", label, values)
    return report


def _tabulate(curves: _Curves, title: str, label: str, values: Sequence[float]) -> Table:
    lines: list[Section | TableRow] = []
    for metric, by_method in curves.items():
        lines.append(Section(metric.heading))
        for i, value in enumerate(values):
            figures = tuple(y[i] for y in by_method.values())
            lines.append(TableRow((f"{value:g}",), figures, better=metric.better, arrow=False))
    return Table(title, (label,), tuple(method.label for method in PAPER_METHODS), tuple(lines))
