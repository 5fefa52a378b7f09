"""The paper's ablations: tables over a few values of an option, and curves over many values.

``scoring`` is not in the paper. The paper scores a model by its inlier count. A wrong model wins if it
has one more inlier by chance. This matters more for a run that scores more models, and local optimisation adds many.
``stopping-criteria``: PROSAC's criterion needs an order of the matches, which BANSAC gets from the scores. BANSAC keeps
P^0 = 0.5 and tau = 0.01, so that the sampling is the same in all rows.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bansac.batch.journal import Row
from bansac.lab.charts import Chart, Series, plot_charts
from bansac.lab.grid import Grid
from bansac.lab.measurement import Measurement, Report, Setup
from bansac.lab.pairs import Configuration
from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import BANSAC, METHODS, P_BANSAC, PAPER_METHODS, RANSAC
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
    settings_table,
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


def _at_ratio(method: Method, ratio: float) -> Configuration:
    return Configuration(f"{method.label}, ratio {ratio:g}", method, {}, {"max_ratio": ratio}, max_ratio=ratio)


def _at_iterations(method: Method, iterations: int) -> Configuration:
    settings = {"max_iterations": iterations, "stopping": None}
    return Configuration(f"{method.label}, {iterations} iterations", method, settings, {"fixed_iterations": iterations})


_CRITERIA = ("ransac", "sprt", "prosac", "bansac")
_COMBINATIONS = (*_CRITERIA, "ransac+bansac", "sprt+bansac", "prosac+bansac")


def _stopped_by(stopping: str) -> Configuration:
    settings, columns = {"stopping": stopping, "tau": 0.01}, {"stopping": stopping}
    if "prosac" in stopping:
        return Configuration(stopping, dataclasses.replace(BANSAC, scored=True), settings, columns, prior=0.5)
    return Configuration(stopping, BANSAC, settings, columns)


_F_PRINTED = "E and F (the paper: F, with the figures of E), all pairs of sacre_coeur, 5 repeats"

_ALL = (
    ablation(
        "order",
        {1: "1st Order", 2: "2nd Order", 3: "3rd Order"},
        label="order {}",
        name="markov-order",
        title="Orders 1 to 3 of the Markov assumption",
        reference="table:ablation_markov_assumptions",
        defaults="E and F (the paper: E), all pairs of sacre_coeur, 5 repeats",
        caption="Ablation study on the Markov assumption: BANSAC with the orders 1, 2 and 3.",
    ),
    sweep(
        _at_iterations,
        range(1000, 10001, 1000),
        name="fixed-iterations",
        title="1000 to 10000 iterations without stopping criterion",
        reference="fig:ablation_fixed_iters",
        caption="A fixed number of iterations, without stopping criterion.",
        label="Iterations",
    ),
    sweep(
        _at_ratio,
        (0.82, 0.84, 0.86, 0.88, 0.90, 0.92),
        name="inlier-ratio",
        title="Matches with an SNN ratio below 0.82 to 0.92",
        reference="fig:ablation_inlier_rates",
        caption="The quality of the data: matches with an SNN ratio below the value in the first column are used.",
        label="SNN ratio below",
        options=(),
    ),
    ablation(
        "gamma",
        {"gamma_1": "γ₁", "gamma_2": "γ₂", "gamma_3": "γ₃"},
        methods=(BANSAC, P_BANSAC),
        name="classification-cpt",
        title="Functions gamma_1 to gamma_3 of P(c | x)",
        reference="table:ablation_classification_CPT",
        defaults=_F_PRINTED,
        caption="BANSAC and P-BANSAC with different functions γ of the inlier ratio for P(c | x).",  # noqa: RUF001
    ),
    ablation(
        "activation",
        {"rho_1": "ρ₁", "rho_2": "ρ₂", "rho_3": "ρ₃", "rho_4": "ρ₄"},
        name="sampling-activation",
        title="Functions rho_1 to rho_4 of the sampling weights",
        reference="table:ablation_sampling",
        defaults=_F_PRINTED,
        caption="BANSAC with different activation functions ρ for the sampling weights.",  # noqa: RUF001
    ),
    Grid(("E", "F"), tuple(map(_stopped_by, _COMBINATIONS)), ablation=True).experiment(
        name="stopping-criteria",
        title="BANSAC with seven combinations of stopping criteria",
        reference="tab:stopping_criteria",
        defaults=_F_PRINTED,
        report=functools.partial(
            report_table,
            name="stopping_criteria",
            make=settings_table,
            title="BANSAC with different stopping criteria.",
            stub=tuple(map(str.upper, _CRITERIA)),
            labels={both: tuple("✓" if one in both.split("+") else "" for one in _CRITERIA) for both in _COMBINATIONS},
            iterations="not in the paper",
        ),
    ),
    ablation(
        "scoring",
        {"inliers": "inliers", "msac": "MSAC"},
        methods=(RANSAC, METHODS["uniform-lo"], BANSAC, METHODS["bansac-lo"]),
        name="scoring",
        title="The count of inliers and MSAC's score, with and without local optimisation",
        reference="not in the paper",
        defaults="E and F, all pairs of sacre_coeur, 5 repeats",
        caption="The count of inliers and MSAC's score, with and without local optimisation (-lo).",
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
