"""Times and accuracy on real pairs with ground truth: ``bansac bench`` on groups of the tutorial's sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bansac.lab.measurement import Setup
from bansac.lab.measurements.folders import Bench, build_report
from bansac.lab.peers.methods import select_methods
from bansac.lab.runner import open_run
from bansac.lab.sets import find_sets
from bansac.lab.summary import import_pandas
from bansac.lab.task import DEFAULTS
from bansac.problems.estimators import Kind

__all__ = ["PairGroup", "find_pairs"]


class _Group(NamedTuple):
    """Sets that are averaged."""

    kind: Kind
    folder: str  # below the data folder
    max_ratio: float
    name: str  # of a set
    alone: bool  # True for that set alone, False for all other sets

    def takes(self, name: str) -> bool:
        return (name == self.name) == self.alone


_GROUPS = {
    "E": _Group("E", "EF", 0.85, "middlebury_dino", alone=False),
    "F": _Group("F", "EF", 0.85, "middlebury_dino", alone=False),
    "H": _Group("H", "H", 0.6, "exact_warp", alone=False),
    "H exact": _Group("H", "H", 0.95, "exact_warp", alone=True),
}

_OURS = ("default", "bansac", "uniform")
_PEERS = {"opencv": ("opencv", "opencv-magsac"), "poselib": ("poselib-prosac",)}


@dataclasses.dataclass(frozen=True)
class PairGroup:
    """Benchmark of a group of sets with data."""

    bench: Bench
    setup: Setup

    def times(self) -> dict[str, dict[str, float]]:
        """Run the benchmark and return the means over the sets of :func:`.bench.summarise`, by method."""
        with open_run(self.bench.measurement(), self.setup, None) as run:
            rows = run.complete_rows()
            report = build_report(rows, self.bench.methods, self.bench.protocol)
        means: dict[str, dict[str, float]] = report["mean"]
        return means


def find_pairs(folder: Path, peers: Sequence[str], pairs: int) -> dict[str, PairGroup]:
    """Return the groups of sets in ``EF`` and ``H`` below ``folder``, for one repeat of at most ``pairs`` pairs a set.

    Raises
    ------
    OSError
        If a folder does not exist or a set cannot be read.
    ValueError
        If a set has ground truth for another model, or ``pairs`` is below 1.
    """
    import_pandas()
    names = [*_OURS, *(name for peer in peers for name in _PEERS[peer])]
    groups = {}
    for name, group in _GROUPS.items():
        protocol = dataclasses.replace(DEFAULTS[group.kind], pairs=pairs, repeats=1, max_ratio=group.max_ratio)
        bench = Bench(tuple(select_methods(names, group.kind)), protocol)
        found = [pair_set.name for pair_set in find_sets(folder / group.folder)]
        setup = Setup(data=folder / group.folder, sets=tuple(filter(group.takes, found)))
        if setup.sets:
            bench.sets(setup)  # check the kind of ground truth
            groups[name] = PairGroup(bench, setup)
    return groups
