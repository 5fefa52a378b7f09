"""Comparisons over image pairs: methods on the same pairs, matches, settings and seeds; only the calls are timed.

The sets are in one or several groups, each with a protocol. The experiments of the paper are such comparisons
(:mod:`.grid`), and so are ``bansac bench DIR`` and the measurements that vary the options of the default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bansac.batch.journal import Row, Unit
from bansac.lab.measurement import Measurement, Option, Setup, choose_sets
from bansac.lab.options import NEEDED_DATA
from bansac.lab.pairs import Configuration, pair_unit, run_pair, warm_up
from bansac.lab.peers.method import Method
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.task import Protocol
from bansac.matches.pair_folder import evenly_spaced


@dataclass(frozen=True)
class Group:
    """Protocol of a comparison, and its sets in a folder below the data."""

    protocol: Protocol
    folder: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # ``sets`` or ``exclude``; empty: the options'


@dataclass(frozen=True)
class PairRuns:
    """Methods on groups of sets; worker processes must be able to import the methods.

    ``methods`` may be a function of the name of a group and a unit.
    """

    methods: Sequence[Method | Configuration] | Callable[[str, Unit], Sequence[Method]]
    groups: Mapping[str, Group]
    option: str = ""  # name of the option that selects groups, whose rows then have the column ``group``

    WARM_UP: ClassVar[Mapping[str, Any]] = {}
    """Settings of the calls that load or compile the kernels."""

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
            "updates": bool(self.option),
        }
        return Measurement(**{**fields, **described})

    def protocol(self, setup: Setup, name: str) -> Protocol:
        """Return the protocol of a group with the options of ``setup``."""
        options = ("pairs", "repeats", "max_ratio")
        changes = {option: setup.get(option) for option in options if setup.get(option) is not None}
        return dataclasses.replace(self.groups[name].protocol, **changes)

    def units(self, setup: Setup) -> list[Unit]:
        """Return one unit for each selected group, set, pair and repeat.

        A ValueError is raised if no set has ground truth for the model, or if a set has no pair with enough matches.
        """
        units = []
        for name, pair_set in self._places(setup):
            protocol = self.protocol(setup, name)
            keys = self._keys(pair_set, protocol)
            units += [pair_unit(name, pair_set, key, repeat) for key in keys for repeat in range(protocol.repeats)]
        return units

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets of all selected groups, each once."""
        return list({pair_set.folder: pair_set for _, pair_set in self._places(setup)}.values())

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all methods on a pair."""
        name = unit.payload[0]
        rows = run_pair(self._configurations(unit), self.protocol(setup, name), unit, seed=setup.seed)
        return [{"group": name, **row} for row in rows] if self.option else rows

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Load or compile the kernels of every group by calls on its first pair."""
        for name in dict.fromkeys(unit.payload[0] for unit in units):
            of_group = [unit for unit in units if unit.payload[0] == name]
            protocol = self.protocol(setup, name)
            warm_up(self._configurations(of_group[0]), protocol, of_group, setup.seed, **self.WARM_UP)

    def by_group(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        """Return the rows of each group, in the order of the groups."""
        found: dict[str, list[Row]] = {}
        for row in rows:
            found.setdefault(row["group"], []).append(row)
        return {name: found[name] for name in self.groups if name in found}

    def _configurations(self, unit: Unit) -> list[Configuration]:
        methods = self.methods(unit.payload[0], unit) if callable(self.methods) else self.methods
        return [
            method if isinstance(method, Configuration) else Configuration(method.name, method) for method in methods
        ]

    def _places(self, setup: Setup) -> list[tuple[str, PairSet]]:
        """Return the selected groups with their sets."""
        names = setup.get(self.option, self.groups)
        return [(name, pair_set) for name in names for pair_set in self._judging(setup, name)]

    def _judging(self, setup: Setup, name: str) -> list[PairSet]:
        """Return the sets of a group with ground truth for its model.

        If there is no such set, or a set that is asked for has other ground truth, a ValueError is raised.
        """
        assert setup.data is not None  # needed by the options
        group = self.groups[name]
        asked = group.chosen or {"sets": setup.sets, "exclude": setup.exclude}
        wanted, kind = asked.get("sets", ()), group.protocol.kind
        chosen = choose_sets(find_sets(setup.data / group.folder), wanted, asked.get("exclude", ()))
        judging = [pair_set for pair_set in chosen if (pair_set.kind == "H") == (kind == "H")]
        for pair_set in chosen:
            if pair_set not in judging and (wanted or not judging):
                truth = "homographies" if pair_set.kind == "H" else "poses"
                raise ValueError(f"the set {pair_set.name} has {truth} as truth and cannot judge --model {kind}")
        return judging

    def _keys(self, pair_set: PairSet, protocol: Protocol) -> list[str]:
        """Return the pairs of a set with enough matches."""
        keys = evenly_spaced(pair_set.keys, protocol.pairs)
        counts = pair_set.match_counts(protocol.max_ratio, protocol.pairs)
        enough = [key for key, count in zip(keys, counts, strict=True) if count >= protocol.min_matches]
        if not enough:
            raise ValueError(
                f"the set {pair_set.name} has no pair with {protocol.min_matches} matches of a ratio "
                f"below {protocol.max_ratio:g}"
            )
        return enough
