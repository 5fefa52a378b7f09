"""Comparisons on several groups of sets of pairs in one measurement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bansac.batch.journal import Row, Unit
from bansac.lab.measurement import Measurement, Option, Setup
from bansac.lab.measurements.folders import Bench
from bansac.lab.options import NEEDED_DATA
from bansac.lab.peers.method import Method
from bansac.lab.sets import PairSet
from bansac.lab.task import Protocol


@dataclass(frozen=True)
class Group:
    """Sets in a folder below the data, and the protocol of the comparison on them."""

    folder: str
    chosen: Mapping[str, tuple[str, ...]]  # ``sets`` or ``exclude``: names of sets
    protocol: Protocol


@dataclass(frozen=True)
class Groups:
    """Groups by name; ``methods(name, unit)`` returns the methods that run on a unit of a group."""

    option: str  # name of the option that selects groups
    groups: Mapping[str, Group]
    methods: Callable[[str, Unit], Sequence[Method]]

    def measurement(self, **described: Any) -> Measurement:
        """Return the measurement over the groups; ``described`` are further fields of :class:`.Measurement`."""
        fields = {
            "options": (
                dataclasses.replace(NEEDED_DATA, help="A folder with the tutorial's sets in EF and in H."),
                Option(self.option, tuple[str, ...], None, _CHOICE.format(", ".join(self.groups)), tuple(self.groups)),
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
            yield name, Bench((), self.protocol(setup, name)), Setup(data=setup.data / group.folder, **group.chosen)

    def _bench(self, setup: Setup, name: str, unit: Unit) -> Bench:
        return Bench(tuple(self.methods(name, unit)), self.protocol(setup, name))


_CHOICE = "Only these of {}, joined by commas."
