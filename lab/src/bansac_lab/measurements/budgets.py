"""Accuracy over time: one curve for each method, one point for each budget.

A budget is a maximum number of minimal samples. A method may stop earlier by its own criterion, so that the points of
a curve converge at large budgets. Some presets divide their samples among restarts. Their number of restarts stays
constant up to the preset's own number of samples. Beyond it the number grows in proportion to the budget.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bansac.estimate.presets import resolve_options
from bansac.problems.estimators import MODELS, Kind
from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.frames import Figure
from bansac_lab.measurement import Report
from bansac_lab.peers.library import Method
from bansac_lab.tables import Better, Table, sectioned

Points = Sequence[Mapping[str, float]]
"""One curve. Each point has ``max_iterations`` and the values of :func:`.folders.build_report`."""

ACCURACY: Mapping[Kind, str] = {"E": "AUC@10", "F": "AUC@10", "H": "mAA@10"}
"""Accuracy measure of the curves by model."""

TIMES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Columns of the table, in milliseconds."""

_NAMES: Mapping[Kind, str] = {"E": "Essential matrix", "F": "Fundamental matrix", "H": "Homography"}


@dataclass(frozen=True)
class Sweep:
    """Methods, one curve each, and budgets: distinct maximum numbers of minimal samples."""

    kind: Kind
    methods: tuple[Method, ...]
    budgets: tuple[int, ...]

    def limited_methods(self) -> tuple[Method, ...]:
        """Return every method at every budget. :meth:`curves` takes the report of a bench with these methods."""
        return tuple(limit(method, budget, self.kind) for method in self.methods for budget in self.budgets)

    def report(self, bench: Mapping[str, Any]) -> Report:
        """Return the report of a bench with :meth:`limited_methods` as curves, from its records.

        A curve is a list of points in the order of the budgets. There is one for each method, of each set and of the
        mean.
        """
        mean = self._by_method(bench["mean"])
        found = bench["sets"].items()
        sets = {name: {"pairs": of["pairs"], "curves": self._by_method(of["methods"])} for name, of in found}
        note = f"Means over {len(sets)} {'set' if len(sets) == 1 else 'sets'}: {', '.join(sets)}."
        records = {
            "protocol": {name: value for name, value in bench["protocol"].items() if name != "max_iterations"},
            "settings": {method.name: dict(method.settings) for method in self.methods},
            "budgets": list(self.budgets),
            "sets": sets,
            "mean": mean,
        }
        tables, figures = {"times": time_table(mean, self.kind)}, {"bench": plot_curves(mean, self.kind)}
        return Report(tables=tables, figures=figures, records=records, notes=[note])

    def _by_method(self, figures: Mapping[str, Mapping[str, float]]) -> dict[str, list[dict[str, float]]]:
        found = {}
        for method in self.methods:
            points = {budget: figures[_limited_name(method, budget)] for budget in self.budgets}
            found[method.name] = [{"max_iterations": budget, **point} for budget, point in points.items()]
        return found


def limit(method: Method, budget: int, kind: Kind) -> Method:
    """Return the method with a budget as its maximum number of iterations."""
    settings = {"max_iterations": budget}
    if method.ours and "preset" in method.settings:
        problem = MODELS[kind].load_problem()
        preset = method.settings["preset"]
        options, _ = resolve_options(problem, None, {"preset": preset})
        assert options.max_iterations is not None  # set by resolve_options
        restarts = int(options.restart_rules.limit)
        if restarts > 1:
            in_proportion = math.ceil(restarts * budget / options.max_iterations)
            settings["restarts"] = max(restarts, in_proportion)
        if options.min_iterations > budget:
            settings["min_iterations"] = budget
    return method.changed(_limited_name(method, budget), **settings)


def best_within(points: Points, milliseconds: float, accuracy: str) -> float:
    """Return the best accuracy among the points of a curve within a mean time; NaN if there is no such point."""
    return max((point[accuracy] for point in points if point["ms_mean"] <= milliseconds), default=math.nan)


def time_table(curves: Mapping[str, Points], kind: Kind) -> Table:
    """Tabulate the best accuracy of each method within given mean times, without interpolation."""
    accuracy = ACCURACY[kind]
    rows = {name: [best_within(points, time, accuracy) for time in TIMES] for name, points in curves.items()}
    title = f"{_NAMES[kind]}: {accuracy} within a mean time of"
    better: list[Better | None] = ["higher"] * len(TIMES)
    return sectioned(title, "method", (f"{time:g} ms" for time in TIMES), {"": rows}, tuple(better))


def plot_curves(curves: Mapping[str, Points], kind: Kind) -> Figure:
    """Plot accuracy over mean time, one line for each method, its points sorted by time."""
    series = []
    for name, points in curves.items():
        in_order = sorted(points, key=lambda point: point["ms_mean"])
        times = [point["ms_mean"] for point in in_order]
        series.append(Series(name, times, [point[ACCURACY[kind]] for point in in_order]))
    return plot_charts([[Chart(series, _NAMES[kind], "mean time of a call [ms]", ACCURACY[kind], xscale="log")]])


def _limited_name(method: Method, budget: int) -> str:
    return f"{method.name} [{budget}]"
