"""``bansac bench``: comparison of methods on the same pairs, matches, settings and seeds; only the calls are timed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bansac.batch.journal import Row, Rows, Unit
from bansac.estimate.presets import find_preset
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Protocol
from bansac.lab.measurement import Measurement, Report, Setup, choose_sets
from bansac.lab.metrics import auc, mean_average_accuracy
from bansac.lab.options import EXCLUDE, NEEDED_DATA, SETS
from bansac.lab.pairs import UNIT_CODE, Configuration, pair_unit, run_pair, warm_up
from bansac.lab.provenance import circumstances
from bansac.lab.runner import Run, open_run
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.summary import frame_of
from bansac.matches.pair_folder import evenly_spaced

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Bench:
    """Comparison of methods with the user's settings; worker processes must be able to import the methods."""

    methods: tuple[Method, ...]
    protocol: Protocol

    def experiment(self) -> Measurement:
        """Return the experiment for the runner; :func:`build_report` takes its rows."""
        return Measurement(
            name="bench",
            title="Accuracy and time of estimators",
            options=(NEEDED_DATA, SETS, EXCLUDE),
            units=self.units,
            run_unit=self.run_unit,
            report=lambda setup, rows: Report(),
            sets=self.sets,
            warm_up=self.warm_up,
            values=(UNIT_CODE, find_preset, self),
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


def measured_rows(run: Run, **settings: Any) -> Rows:
    """Return the rows of :meth:`.Run.execute`; if units have failed, an OSError names the first one."""
    rows, failed = run.execute(**settings)
    if failed:
        unit, reason = next(iter(failed.items()))
        raise OSError(f"{len(failed)} of {len(run.units)} units have failed, the first is {unit}: {reason}")
    return rows


def bench_rows(methods: Sequence[Method], protocol: Protocol, setup: Setup, **settings: Any) -> list[Row]:
    """Run a bench without a file for its journal; ``settings`` are those of :meth:`.Run.execute`."""
    with open_run(Bench(tuple(methods), protocol).experiment(), setup, None) as run:
        return list(measured_rows(run, **settings))


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
    if runs["corner_error"].notna().any():
        of_planes = {"mAA": runs["corner_error"], "mAA_visible": runs["visible_area_error"].dropna()}
        return {
            f"{name}@{t}": mean_average_accuracy(errors, t) if len(errors) else math.nan
            for name, errors in of_planes.items()
            for t in (5, 10)
        }
    poses = {"R": runs["rotation_error"], "t": runs["translation_error"]}
    figures = {f"mAA_{name}@{t}": mean_average_accuracy(poses[name], t) for name in poses for t in (5, 10)}
    return figures | {f"AUC@{t}": auc(np.maximum(poses["R"], poses["t"]), t) for t in (5, 10, 20)}


def build_report(
    rows: Iterable[Row], methods: Sequence[Method], protocol: Protocol, *, seconds: float
) -> dict[str, Any]:
    """Return all results of a run with its settings and environment.

    The keys are ``date``, ``versions``, ``machine``, ``protocol``, ``seconds`` (of the whole run), ``sets`` (``pairs``
    and ``methods`` for each set), ``mean`` (over the sets, by method) and ``spread``: the standard deviation of the
    accuracies in ``mean`` between repeats, which have different seeds (empty for one repeat). All results except the
    times are reproducible.
    """
    frame = frame_of(rows)
    sets: dict[str, Any] = {}
    for name, of_set in frame.groupby("set", sort=False, observed=True):
        runs = dict(iter(of_set.groupby("configuration", observed=True)))
        figures = {method.name: summarise(runs[method.name]) for method in methods}
        sets[str(name)] = {"pairs": of_set["pair"].nunique(), "methods": figures}
    mean = {method.name: _mean([entry["methods"][method.name] for entry in sets.values()]) for method in methods}
    return {
        **circumstances(method.package for method in methods),
        "protocol": dataclasses.asdict(protocol),
        "seconds": seconds,
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
