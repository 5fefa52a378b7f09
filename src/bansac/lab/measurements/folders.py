"""``bansac bench DIR``: methods on the same pairs, matches, settings and seeds; only the calls are timed."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.batch.journal import Row
from bansac.lab.frames import DataFrame
from bansac.lab.measurement import Measurement, Option, Report, Setup
from bansac.lab.measurements.budgets import Sweep
from bansac.lab.measurements.folder_tables import accuracies, presets
from bansac.lab.metrics import auc
from bansac.lab.options import EXCLUDE, NEEDED_DATA, SETS
from bansac.lab.pair_runs import Group, PairRuns
from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import METHODS, PRESET_METHODS, select_methods
from bansac.lab.runner import open_run
from bansac.lab.summary import (
    CORNERS_5,
    CORNERS_10,
    ROTATION_5,
    ROTATION_10,
    TIME,
    TRANSLATION_5,
    TRANSLATION_10,
    VISIBLE_5,
    VISIBLE_10,
    Metric,
    frame_of,
    larger_error,
)
from bansac.lab.tables import Table, TableRow
from bansac.lab.task import DEFAULTS, Protocol
from bansac.problems.estimators import Kind


def comparison(methods: Sequence[Method], protocol: Protocol, sweep: Sweep | None = None) -> Measurement:
    """Return the comparison of methods; with a sweep, they are its methods at its budgets.

    Worker processes must be able to import the methods.
    """
    runs = PairRuns(tuple(methods), {protocol.kind: Group(protocol)})
    return runs.measurement(
        name="bench",
        title="Accuracy and time of estimators",
        options=(NEEDED_DATA, SETS, EXCLUDE),
        report=functools.partial(_report, tuple(methods), protocol, sweep),
        values=runs,
        packages=tuple(method.package for method in methods),
    )


def _report(
    methods: Sequence[Method], protocol: Protocol, sweep: Sweep | None, setup: Setup, rows: Iterable[Row]
) -> Report:
    """Report the values of all sets and their means; of a sweep the curves."""
    records = build_report(rows, methods, protocol)
    if sweep is not None:
        return sweep.report(records)
    sets = records["sets"]
    tables = {name: _table(f"{name} ({of_set['pairs']} pairs)", of_set["methods"]) for name, of_set in sets.items()}
    if len(sets) > 1:
        tables["mean"] = _table(f"mean over {len(sets)} sets", records["mean"])
    note = (
        f"{protocol.kind}: threshold {protocol.threshold:g}, {protocol.max_iterations} iterations, confidence "
        f"{protocol.confidence:g}, SNN ratio < {protocol.max_ratio:g}, {protocol.repeats} repeats, one thread"
    )
    return Report(tables=tables, records=records, notes=[note])


def _table(title: str, methods: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table whose cells join the values of a measure: ``AUC 5/10/20`` and ``.613/.716/.811``."""
    cells: dict[str, dict[str, list[str]]] = {}
    limits: dict[str, list[str]] = {}
    for method, figures in methods.items():
        for name, value in figures.items():
            measure, limit = name.replace("ms_", "ms@").split("@")
            if limit not in limits.setdefault(measure, []):
                limits[measure].append(limit)
            text = f"{value:.2f}" if measure == "ms" else f"{value:.3f}".removeprefix("0")
            cells.setdefault(method, {}).setdefault(measure, []).append(text)
    columns = tuple(f"{measure.replace('_', ' ')} {'/'.join(names)}" for measure, names in limits.items())
    rows = tuple(TableRow((name,), tuple("/".join(cell) for cell in row.values())) for name, row in cells.items())
    return Table(title, ("method",), columns, rows)


def bench_rows(methods: Sequence[Method], protocol: Protocol, setup: Setup, **settings: Any) -> list[Row]:
    """Run a bench without a file for its journal; ``settings`` are those of :meth:`.Run.execute`."""
    with open_run(comparison(methods, protocol), setup, None) as run:
        return list(run.complete_rows(**settings))


def _beyond_10(errors: Callable[[DataFrame], Any], runs: DataFrame) -> Any:
    """Return 1 for each run with an error above 10, else 0; NaN without an error."""
    values = errors(runs)
    return np.where(np.isnan(values), np.nan, values > 10)


_POSES: Mapping[str, Metric] = {
    **{"mAA_R@5": ROTATION_5, "mAA_R@10": ROTATION_10, "mAA_t@5": TRANSLATION_5, "mAA_t@10": TRANSLATION_10},
    **{f"AUC@{t}": Metric("", "higher", larger_error, functools.partial(auc, threshold=t)) for t in (5, 10, 20)},
    "beyond@10": Metric("", "lower", functools.partial(_beyond_10, larger_error)),
}
_PLANES: Mapping[str, Metric] = {
    **{"mAA@5": CORNERS_5, "mAA@10": CORNERS_10},
    **{"mAA_visible@5": VISIBLE_5, "mAA_visible@10": VISIBLE_10},
    "beyond@10": Metric("", "lower", functools.partial(_beyond_10, lambda runs: runs["corner_error"].to_numpy(float))),
}
_TIMES: Mapping[str, Metric] = {"ms_mean": TIME, "ms_median": dataclasses.replace(TIME, average=np.median)}


def summarise(runs: DataFrame, times: Mapping[str, Metric] = _TIMES) -> dict[str, float]:
    """Summarise the calls of one method on one set; there must be at least one call.

    Poses have ``mAA_R@5``, ``mAA_R@10``, ``mAA_t@5``, ``mAA_t@10``, ``AUC@5``, ``AUC@10`` and ``AUC@20`` (degrees).
    Homographies have ``mAA@5`` and ``mAA@10`` of the corner error, and ``mAA_visible@5`` and ``mAA_visible@10`` of the
    error over the visible area (pixels). The latter two are NaN if no size of image 2 is known. ``beyond@10`` is the
    share of calls with a larger pose error or a corner error above 10. ``ms_mean`` and ``ms_median`` are the mean and
    the median over the timed calls.
    """
    accuracies = _PLANES if runs["corner_error"].notna().any() else _POSES
    return {name: metric.compute(runs) for name, metric in {**accuracies, **times}.items()}


def build_report(rows: Iterable[Row], methods: Sequence[Method], protocol: Protocol) -> dict[str, Any]:
    """Return all results of a run.

    The keys are ``protocol``, ``sets`` (``pairs`` and ``methods`` for each set), ``mean`` (over the sets, by method)
    and ``spread``: the standard deviation of the accuracies in ``mean`` between repeats, which have different seeds
    (empty for one repeat). All results except the times are reproducible.
    """
    frame = frame_of(rows)
    sets: dict[str, Any] = {}
    for name, of_set in frame.groupby("set", sort=False, observed=True):
        runs = dict(iter(of_set.groupby("configuration", observed=True)))
        figures = {method.name: summarise(runs[method.name]) for method in methods}
        sets[str(name)] = {"pairs": of_set["pair"].nunique(), "methods": figures}
    mean = {method.name: _mean([entry["methods"][method.name] for entry in sets.values()]) for method in methods}
    return {
        "protocol": dataclasses.asdict(protocol),
        "sets": sets,
        "mean": mean,
        "spread": {method.name: _spread(frame[frame["configuration"] == method.name]) for method in methods},
    }


def _spread(runs: DataFrame) -> dict[str, float]:
    """Return the standard deviations of the accuracies of one method between the repeats."""
    repeats = [
        _mean([summarise(of_set, {}) for _, of_set in repeat.groupby("set", sort=False, observed=True)])
        for _, repeat in runs.groupby("repeat", observed=True)
    ]
    if len(repeats) < 2:
        return {}
    return {name: float(np.std([repeat[name] for repeat in repeats], ddof=1)) for name in repeats[0]}


def _mean(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([entry[name] for entry in figures])) for name in figures[0]}


def bind(setup: Setup) -> tuple[Measurement, Setup]:
    """Return the comparison that the options describe, and its own setup."""
    fields = ("pairs", "repeats", "max_ratio", "threshold", "confidence", "max_iterations")
    changes = {name: setup.get(name) for name in fields if setup.get(name) is not None}
    protocol = dataclasses.replace(DEFAULTS[setup.model], **changes)
    against = setup.get("against", ())
    methods = tuple(
        select_methods((*setup.get("methods", OUR_PRESETS if against else DEFAULT_METHODS), *against), setup.model)
    )
    own = Setup(data=setup.data, sets=setup.sets, exclude=setup.exclude)
    if setup.get("budgets") is None:
        return comparison(methods, protocol), own
    sweep = Sweep(setup.model, methods, tuple(sorted(setup.budgets)))
    if "max_iterations" in changes:
        raise ValueError("--max-iterations: --budgets gives the numbers of iterations")
    return comparison(sweep.limited_methods(), protocol, sweep), own


HELP = """Compare estimators on folders of image pairs with ground truth (RANSAC tutorial format).

Only the calls are timed, on one thread. The order of the methods changes from pair to pair. Poses are evaluated by
rotation and translation error (mAA and AUC, degrees), homographies by the mean error over the corners and over the
visible area (mAA, pixels). If a folder has sets of both kinds, only the sets for the model are used.
Presets such as default have their own thresholds and limits. The other methods use those of the options.
"bansac bench DIR" is short for "bansac bench folders DIR". "bansac bench --help" lists the other measurements.
"""

DEFAULT_METHODS = ("bansac", "p-bansac", "uniform")
OUR_PRESETS = tuple(method.name for method in PRESET_METHODS)
_METHODS_HELP = (
    f"Joined by commas, of: {', '.join(METHODS)}; NAME@THRESHOLD gives a method its own threshold, NAME@auto lets it "
    f"estimate one. Default: {','.join(DEFAULT_METHODS)}; with --against {','.join(OUR_PRESETS)}."
)
_BUDGETS_HELP = (
    "Run every method at these maximum numbers of iterations, joined by commas, for curves of accuracy over time."
)

_REPORTS = {"essential": "E", "fundamental": "F", "homography-exact": "H_exact", "homography-small": "H_small"}

MEASUREMENT = Measurement(
    name="folders",
    title="Accuracy and time of estimators",
    help=HELP,
    bind=bind,
    parallel=True,
    tables={**dict.fromkeys(_REPORTS, accuracies), "presets": presets},
    reports={**{name: (report,) for name, report in _REPORTS.items()}, "presets": ("F", "E", "H_exact")},
    options=(
        dataclasses.replace(NEEDED_DATA, argument=True),
        Option("model", Kind, None, "The model that is estimated.", required=True),
        Option("methods", tuple[str, ...], None, _METHODS_HELP),
        Option("against", tuple[str, ...], (), "Further methods, to compare this package's presets with."),
        Option("budgets", tuple[int, ...], None, _BUDGETS_HELP),
        SETS,
        EXCLUDE,
        Option("pairs", int, None, "Maximum number of pairs of a set. Default: 43."),
        Option("repeats", int, None, "Runs of every pair. Default: 5 for H, 2 for F and E."),
        Option("max_ratio", float, None, "Use matches of a lower SNN ratio. Default: 0.6 for H, 0.85 for F and E."),
        Option("threshold", float, None, "Default: 1 px for H, 0.5 px for F, 1e-3 in normalised units for E."),
        Option("confidence", float, None, "Default: 0.999."),
        Option("max_iterations", int, None, "Default: 1000 for H and E, 10000 for F."),
    ),
)
