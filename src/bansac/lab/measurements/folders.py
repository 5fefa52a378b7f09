"""``bansac bench DIR``: methods on the same pairs, matches, settings and seeds; only the calls are timed.

Other measurements run such comparisons on several groups of sets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.lab.frames import DataFrame
from bansac.lab.measurement import Measurement, Option, Report, Setup, choose_sets
from bansac.lab.measurements.budgets import Sweep
from bansac.lab.metrics import auc
from bansac.lab.options import EXCLUDE, NEEDED_DATA, SETS
from bansac.lab.pairs import Configuration, pair_unit, run_pair, warm_up
from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import METHODS, PRESET_METHODS, select_methods
from bansac.lab.runner import open_run
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.summary import accuracy, frame_of, larger_error
from bansac.lab.tables import Table, TableRow
from bansac.lab.task import DEFAULTS, Protocol
from bansac.matches.pair_folder import evenly_spaced
from bansac.problems.estimators import Kind


@dataclass(frozen=True)
class Bench:
    """Comparison of methods with the user's settings; worker processes must be able to import the methods."""

    methods: tuple[Method, ...]
    protocol: Protocol
    sweep: Sweep | None = None  # the methods are those of the sweep at its budgets

    def measurement(self) -> Measurement:
        """Return the measurement for the runner."""
        return Measurement(
            name="bench",
            title="Accuracy and time of estimators",
            options=(NEEDED_DATA, SETS, EXCLUDE),
            units=self.units,
            run_unit=self.run_unit,
            report=self.report,
            complete=True,
            sets=self.sets,
            warm_up=self.warm_up,
            values=(self.methods, self.protocol),
            packages=tuple(method.package for method in self.methods),
        )

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets selected by ``setup`` that have ground truth for the model.

        If there is no such set, or a set named in ``setup.sets`` has other ground truth, a ValueError is raised.
        """
        assert setup.data is not None  # needed by the options
        chosen = choose_sets(find_sets(setup.data), setup.sets, setup.exclude)
        judging = [pair_set for pair_set in chosen if (pair_set.kind == "H") == (self.protocol.kind == "H")]
        for pair_set in chosen:
            if pair_set not in judging and (setup.sets or not judging):
                truth = "homographies" if pair_set.kind == "H" else "poses"
                raise ValueError(
                    f"the set {pair_set.name} has {truth} as truth and cannot judge --model {self.protocol.kind}"
                )
        return judging

    def units(self, setup: Setup) -> list[Unit]:
        """Return one unit for each set, repeat and pair with enough matches.

        A set without such a pair raises a ValueError.
        """
        units = []
        for pair_set in self.sets(setup):
            keys = self._keys(pair_set)
            if not keys:
                raise ValueError(
                    f"the set {pair_set.name} has no pair with {self.protocol.min_matches} matches of a ratio "
                    f"below {self.protocol.max_ratio:g}"
                )
            repeats = range(self.protocol.repeats)
            units += [pair_unit(self.protocol.kind, pair_set, key, repeat) for key in keys for repeat in repeats]
        return units

    def _keys(self, pair_set: PairSet) -> list[str]:
        keys = evenly_spaced(pair_set.keys, self.protocol.pairs)
        counts = pair_set.match_counts(self.protocol.max_ratio, self.protocol.pairs)
        return [key for key, count in zip(keys, counts, strict=True) if count >= self.protocol.min_matches]

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all methods on a pair."""
        return run_pair(self._configurations(), self.protocol, unit, seed=setup.seed)

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Run every method on one pair, so that the times do not include loading and compiling."""
        warm_up(self._configurations(), self.protocol, units, setup.seed)

    def _configurations(self) -> list[Configuration]:
        return [Configuration(method.name, method) for method in self.methods]

    def report(self, setup: Setup, rows: Iterable[Row]) -> Report:
        """Report the values of all sets and their means; of a sweep the curves."""
        records = build_report(rows, self.methods, self.protocol)
        if self.sweep is not None:
            return self.sweep.report(records)
        sets = records["sets"]
        tables = {name: _table(f"{name} ({of_set['pairs']} pairs)", of_set["methods"]) for name, of_set in sets.items()}
        if len(sets) > 1:
            tables["mean"] = _table(f"mean over {len(sets)} sets", records["mean"])
        protocol = self.protocol
        note = (
            f"{protocol.kind}: threshold {protocol.threshold:g}, {protocol.max_iterations} iterations, confidence "
            f"{protocol.confidence:g}, SNN ratio < {protocol.max_ratio:g}, {protocol.repeats} repeats, one thread"
        )
        return Report(tables=tables, records=records, notes=[note])


@dataclass(frozen=True)
class Group:
    """Sets in a folder below the data, and the protocol of the comparison on them."""

    folder: str
    chosen: Mapping[str, tuple[str, ...]]  # ``sets`` or ``exclude``: names of sets; empty for those of the options
    protocol: Protocol


@dataclass(frozen=True)
class Groups:
    """Groups by name; ``methods(name, unit)`` returns the methods that run on a unit of a group."""

    option: str  # name of the option that selects groups
    groups: Mapping[str, Group]
    methods: Callable[[str, Unit], Sequence[Method]]

    def measurement(self, **described: Any) -> Measurement:
        """Return the measurement over the groups; ``described`` are further fields of :class:`.Measurement`."""
        choice = f"Only these of {', '.join(self.groups)}, joined by commas."
        fields = {
            "options": (
                dataclasses.replace(NEEDED_DATA, help="A folder with the tutorial's sets in EF and in H."),
                Option(self.option, tuple[str, ...], None, choice, tuple(self.groups)),
                Option("pairs", int, None, "Maximum number of pairs of a set. Default: those of the protocol."),
                Option("repeats", int, None, "Runs of every pair. Default: those of the protocol."),
            ),
            "units": self.units,
            "run_unit": self.run_unit,
            "sets": self.sets,
            "warm_up": self.warm_up,
            "complete": True,
            "updates": True,
        }
        return Measurement(**{**fields, **described})

    def protocol(self, setup: Setup, name: str) -> Protocol:
        """Return the protocol of a group with the numbers of pairs and repeats of ``setup``."""
        changes = {key: setup.get(key) for key in ("pairs", "repeats") if setup.get(key) is not None}
        return dataclasses.replace(self.groups[name].protocol, **changes)

    def units(self, setup: Setup) -> list[Unit]:
        """Return the units of all selected groups."""
        return [
            Unit(f"{name}/{unit.key}", (name, unit), timed=unit.timed)
            for name, bench, own in self._benches(setup)
            for unit in bench.units(own)
        ]

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all methods on a pair."""
        name, of_pair = unit.payload
        return [{"group": name, **row} for row in self._bench(setup, name, of_pair).run_unit(setup, of_pair)]

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets of all selected groups, each once."""
        found = {chosen.folder: chosen for _, bench, own in self._benches(setup) for chosen in bench.sets(own)}
        return list(found.values())

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Load or compile the kernels of every group by calls on its first pair."""
        for name, of_pair in {unit.payload[0]: unit.payload[1] for unit in reversed(units)}.items():
            self._bench(setup, name, of_pair).warm_up(setup, [of_pair])

    def by_group(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        """Return the rows of each group, in the order of the groups."""
        found: dict[str, list[Row]] = {}
        for row in rows:
            found.setdefault(row["group"], []).append(row)
        return {name: found[name] for name in self.groups if name in found}

    def _benches(self, setup: Setup) -> Iterator[tuple[str, Bench, Setup]]:
        """Yield the name of each selected group, its comparison without methods, and the setup with its sets."""
        assert setup.data is not None  # needed by the options
        for name in setup.get(self.option, self.groups):
            group = self.groups[name]
            chosen = group.chosen or {"sets": setup.sets, "exclude": setup.exclude}
            yield name, Bench((), self.protocol(setup, name)), Setup(data=setup.data / group.folder, **chosen)

    def _bench(self, setup: Setup, name: str, unit: Unit) -> Bench:
        return Bench(tuple(self.methods(name, unit)), self.protocol(setup, name))


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
    with open_run(Bench(tuple(methods), protocol).measurement(), setup, None) as run:
        return list(run.complete_rows(**settings))


def summarise(runs: DataFrame) -> dict[str, float]:
    """Summarise the calls of one method on one set; there must be at least one call.

    Poses have ``mAA_R@5``, ``mAA_R@10``, ``mAA_t@5``, ``mAA_t@10``, ``AUC@5``, ``AUC@10`` and ``AUC@20`` (degrees).
    Homographies have ``mAA@5`` and ``mAA@10`` of the corner error, and ``mAA_visible@5`` and ``mAA_visible@10`` of the
    error over the visible area (pixels). The latter two are NaN if no size of image 2 is known. ``ms_mean`` and
    ``ms_median`` are the mean and the median over the timed calls.
    """
    milliseconds = 1e3 * runs["seconds"].dropna().to_numpy()
    return _accuracies(runs) | {"ms_mean": float(np.mean(milliseconds)), "ms_median": float(np.median(milliseconds))}


def _accuracies(runs: DataFrame) -> dict[str, float]:
    planar = runs["corner_error"].notna().any()
    names = ("mAA", "mAA_visible") if planar else ("mAA_R", "mAA_t")
    columns = ("corner_error", "visible_area_error") if planar else ("rotation_error", "translation_error")
    figures = {
        f"{name}@{t}": accuracy(name, column, t).compute(runs)
        for name, column in zip(names, columns, strict=True)
        for t in (5, 10)
    }
    return figures if planar else figures | {f"AUC@{t}": auc(larger_error(runs), t) for t in (5, 10, 20)}


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
        _mean([_accuracies(of_set) for _, of_set in repeat.groupby("set", sort=False, observed=True)])
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
        return Bench(methods, protocol).measurement(), own
    sweep = Sweep(setup.model, methods, tuple(sorted(setup.budgets)))
    if "max_iterations" in changes:
        raise ValueError("--max-iterations: --budgets gives the numbers of iterations")
    return Bench(sweep.limited_methods(), protocol, sweep).measurement(), own


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

MEASUREMENT = Measurement(
    name="folders",
    title="Accuracy and time of estimators",
    help=HELP,
    bind=bind,
    parallel=True,
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
