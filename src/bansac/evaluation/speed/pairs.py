"""Times on real pairs with ground truth, beside accuracy: ``bansac bench`` over the groups of the tutorial's sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bansac.evaluation.bench import Bench, build_report, measured_rows
from bansac.evaluation.experiment import Setup
from bansac.evaluation.methods import select_methods
from bansac.evaluation.runner import Progress, open_run, silent
from bansac.evaluation.task import DEFAULTS, Kind

__all__ = ["pair_times"]


class _Group(NamedTuple):
    """Sets that are measured together."""

    kind: Kind
    folder: str  # below the data
    max_ratio: float
    sets: tuple[str, ...] = ()  # all if empty
    exclude: tuple[str, ...] = ()


_GROUPS = {
    "E": _Group("E", "EF", 0.85, exclude=("middlebury_dino",)),
    "F": _Group("F", "EF", 0.85, exclude=("middlebury_dino",)),
    "H": _Group("H", "H", 0.6, exclude=("exact_warp",)),
    "H exact": _Group("H", "H", 0.95, sets=("exact_warp",)),
}

_OURS = ("default", "bansac", "uniform")
_PEERS = {"opencv": ("opencv", "opencv-magsac"), "poselib": ("poselib-prosac",)}


def pair_times(folder: Path, peers: Sequence[str], pairs: int, progress: Progress = silent) -> dict[str, Any]:
    """Return the means of :func:`.bench.summarise` over the sets of each group, by group and method.

    ``folder`` holds the sets in ``EF`` and ``H``; of each at most ``pairs`` pairs are taken, once.
    """
    names = [*_OURS, *(name for peer in peers for name in _PEERS[peer])]
    groups = {}
    for name, group in _GROUPS.items():
        protocol = dataclasses.replace(DEFAULTS[group.kind], pairs=pairs, repeats=1, max_ratio=group.max_ratio)
        bench = Bench(tuple(select_methods(names, group.kind)), protocol)
        setup = Setup(data=folder / group.folder, sets=group.sets, exclude=group.exclude)
        with open_run(bench.experiment(), setup, None) as run:
            rows = measured_rows(run, progress=progress)
            groups[name] = build_report(rows, bench.methods, protocol, seconds=0.0)["mean"]
    return groups
