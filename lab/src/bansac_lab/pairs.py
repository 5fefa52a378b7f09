"""Comparisons over image pairs: methods on the same pairs, matches, settings and seeds; only the calls are timed.

The sets are in one or several groups, each with a protocol. The experiments of the paper are such comparisons
(:mod:`.grid`), and so are ``bansac bench DIR`` and the measurements that vary the options of the default.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bansac.matches import Matches
from bansac.matches.array_files import Reader
from bansac_lab.comparison import compare
from bansac_lab.measurement import NEEDED_DATA, Measurement, Option, Row, Setup, Unit, choose_sets
from bansac_lab.peers.library import Estimate, Method, Task
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import MAX_RATIO, evenly_spaced
from bansac_lab.task import DEFAULTS, Protocol, judge, make_task


@functools.lru_cache(maxsize=64)
def open_set(folder: str) -> PairSet:
    """Open the set of a folder; the object is cached."""
    return PairSet(folder)


@functools.lru_cache(maxsize=2)
def _read_pair(folder: str, key: str) -> Matches:
    return open_set(folder).pair(key)


def mutual_matches(pair_set: PairSet, key: str) -> Matches:
    """Read a pair, only its mutual nearest neighbours below the usual ratio; the set needs the file ``mutual.h5``."""
    with Reader(pair_set.folder / "mutual.h5") as file:
        mutual = file.array(key, (-1,)) == 1
    return pair_set.pair(key).select(mutual).filtered(MAX_RATIO)


@dataclass(frozen=True)
class Group:
    """Protocol of a comparison, and its sets in a folder below the data."""

    protocol: Protocol
    folder: str = ""
    sets: tuple[str, ...] = ()  # without ``sets`` and ``exclude`` the options select them
    exclude: tuple[str, ...] = ()

    def find(self, setup: Setup) -> list[PairSet]:
        """Return the sets of the group that the data have."""
        found = find_sets(setup.data / self.folder)
        if not (self.sets or self.exclude):
            return choose_sets(found, setup.sets, setup.exclude)
        return [one for one in found if one.name not in self.exclude and (not self.sets or one.name in self.sets)]

    def changed(self, **settings: Any) -> Self:
        """Return the group with other settings of its protocol."""
        return replace(self, protocol=replace(self.protocol, **settings))


_DINO, _WARP = ("middlebury_dino",), ("exact_warp",)
BENCH_GROUPS: Mapping[str, Group] = {
    "E": Group(DEFAULTS["E"], "EF", exclude=_DINO),
    "F": Group(DEFAULTS["F"], "EF", exclude=_DINO),
    "H small": Group(DEFAULTS["H"], "H", exclude=_WARP),
    "H exact": Group(DEFAULTS["H"], "H", sets=_WARP).changed(max_ratio=0.95),
}
"""Sets below the folder of the data, with the settings of ``bansac bench DIR``."""


def _counts(result: Any) -> Row:
    """Return the counts of this package's result; an empty row for another library."""
    columns = ("iterations", "models_tested", "stop_reason", "num_inliers", "success", "threshold")
    return {} if result is None else {column.removeprefix("num_"): getattr(result, column) for column in columns}


@dataclass(frozen=True)
class PairRuns:
    """Methods on groups of sets; worker processes must be able to import the methods.

    ``methods`` may be a function of the name of a group and a unit.
    """

    methods: Sequence[Method] | Callable[[str, Unit], Sequence[Method]]
    groups: Mapping[str, Group]
    option: str = ""  # name of the option that selects groups, whose rows then have the column ``group``

    WARM_UP: ClassVar[Mapping[str, Any]] = {}
    """Settings of the calls that load or compile the kernels."""

    def measurement(self, **described: Any) -> Measurement:
        """Return the measurement over the groups; ``described`` are further fields of :class:`.Measurement`."""
        choice = f"Only these of {', '.join(self.groups)}, joined by commas."
        options = (
            replace(NEEDED_DATA, help="A folder with the tutorial's sets in EF and in H."),
            Option(self.option, tuple[str, ...], None, choice, tuple(self.groups)),
            Option("pairs", int, None, "Maximum number of pairs of a set. Default: those of the protocol."),
            Option("repeats", int, None, "Runs of every pair. Default: those of the protocol."),
        )
        functions = {name: getattr(self, name) for name in ("units", "run_unit", "sets", "warm_up")}
        traits = {"options": options, "complete": True, "values": self}
        return Measurement(**{**functions, **traits, **described})

    def protocol(self, setup: Setup, name: str) -> Protocol:
        """Return the protocol of a group with the options of ``setup``."""
        options = ("pairs", "repeats", "max_ratio")
        changes = {option: setup.get(option) for option in options if setup.get(option) is not None}
        return replace(self.groups[name].protocol, **changes)

    def units(self, setup: Setup) -> list[Unit]:
        """Return one unit for each selected group, set, pair and repeat."""
        units = []
        for name, pair_set in self._places(setup):
            protocol = self.protocol(setup, name)
            for key, repeat in itertools.product(self._keys(pair_set, protocol), range(protocol.repeats)):
                payload = (name, str(pair_set.folder), key, repeat)
                units.append(Unit(f"{name}/{pair_set.name}/{key}/{repeat}", payload))
        return units

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets of all selected groups, each once."""
        return list({pair_set.folder: pair_set for _, pair_set in self._places(setup)}.values())

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all methods on a pair; only the estimation is timed. Return a row for each method.

        Repeat r has the seed ``setup.seed + r``. There are no rows if one method has too few matches, so that all see
        the same pairs.
        """
        name, folder, key, repeat = unit.payload
        tasks = self._tasks(setup, unit)
        if not tasks:
            return []
        pair_set, kind = open_set(folder), self.groups[name].protocol.kind
        if pair_set.kind == "H":
            pair_set.image_size(key)  # needed for the errors
        common: Row = {"group": name} if self.option else {}
        common |= {"model": kind, "set": pair_set.name, "pair": key, "repeat": repeat, "seed": setup.seed + repeat}
        by_name = {method.name: (method, pair, task) for method, pair, task in tasks}

        def judged(name: str, estimate: Estimate) -> Row:
            method, pair, task = by_name[name]
            row = {"configuration": name, "method": method.label, **method.columns, "matches": len(task.x1)}
            return {**row, **judge(estimate.model, task, pair), **_counts(estimate.result)}

        calls = {name: functools.partial(method.estimate, task) for name, (method, _, task) in by_name.items()}
        return [common | row for row in compare(calls, judged, unit.key)]

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Load or compile the kernels of every group by calls on its first readable pair."""
        loaded = set()
        for unit in units:
            name = unit.payload[0]
            if name in loaded:
                continue
            try:
                tasks = self._tasks(setup, unit)
            except (OSError, ValueError):  # the unit itself will report the error
                continue
            if tasks:
                loaded.add(name)
            for method, _, task in tasks:
                for either in (task, task.mismatched()):
                    method.estimate(either, **self.WARM_UP)

    def by_group(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        """Return the rows of each group; the rows of a group follow each other."""
        return {name: list(of_group) for name, of_group in itertools.groupby(rows, lambda row: str(row["group"]))}

    def _tasks(self, setup: Setup, unit: Unit) -> list[tuple[Method, Matches, Task]]:
        """Return every method with the filtered pair and its task; nothing if one has too few matches."""
        name, folder, key, repeat = unit.payload
        protocol = self.protocol(setup, name)
        by_ratio: dict[float, tuple[Matches, Task]] = {}
        tasks = []
        for method in self.methods(name, unit) if callable(self.methods) else self.methods:
            ratio = method.max_ratio or protocol.max_ratio
            if ratio not in by_ratio:
                pair = _read_pair(folder, key).filtered(ratio)
                by_ratio[ratio] = pair, make_task(pair, protocol, seed=setup.seed + repeat)
            tasks.append((method, *by_ratio[ratio]))
        return tasks if min(len(pair) for _, pair, _ in tasks) >= protocol.min_matches else []

    def _places(self, setup: Setup) -> list[tuple[str, PairSet]]:
        """Return the selected groups with those of their sets that have ground truth for the model."""
        asked = self._asked(setup)
        kinds = {name: "H" if self.groups[name].protocol.kind == "H" else "EF" for name in asked}
        found = [(name, pair_set) for name in asked for pair_set in self._chosen(setup, name)]
        places = [(name, pair_set) for name, pair_set in found if pair_set.kind == kinds[name]]
        unfit = dict.fromkeys(pair_set.name for _, pair_set in found if pair_set.kind not in kinds.values())
        if not places or set(setup.sets) & set(unfit):
            truth = " or ".join(sorted({"homographies" if kind == "H" else "poses" for kind in kinds.values()}))
            needs = f"--model {', '.join(asked)} needs sets with {truth} as truth"
            raise ValueError(f"--data: {needs}, not {', '.join(unfit) or 'other ones'}")
        return places

    def _asked(self, setup: Setup) -> Sequence[str]:
        """Return the names of the selected groups."""
        return list(setup.get(self.option, self.groups))

    def _chosen(self, setup: Setup, name: str) -> list[PairSet]:
        """Return the selected sets in the folder of a group."""
        return self.groups[name].find(setup)

    def _keys(self, pair_set: PairSet, protocol: Protocol) -> list[str]:
        """Return the pairs of a set with enough matches."""
        keys, least = evenly_spaced(pair_set.keys, protocol.pairs), protocol.min_matches
        counts = pair_set.match_counts(protocol.max_ratio, protocol.pairs)
        if not (counts >= least).any():
            limits = f"{least} matches of a ratio below {protocol.max_ratio:g}"
            raise ValueError(f"the set {pair_set.name} has no pair with {limits}")
        return [key for key, count in zip(keys, counts, strict=True) if count >= least]
