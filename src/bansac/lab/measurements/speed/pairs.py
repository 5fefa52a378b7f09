"""Times and accuracy on real pairs with ground truth: ``bansac bench`` on groups of the tutorial's sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from bansac.lab.measurement import Setup
from bansac.lab.measurements.folders import Bench, bench_rows, build_report
from bansac.lab.peers.methods import select_methods
from bansac.lab.sets import find_sets
from bansac.lab.task import DEFAULTS, Protocol

_DINO, _WARP = "middlebury_dino", "exact_warp"

# Protocol, folder below the data, a set, and whether the group is this set or all others.
_GROUPS: Mapping[str, tuple[Protocol, str, str, bool]] = {
    "E": (DEFAULTS["E"], "EF", _DINO, False),
    "F": (DEFAULTS["F"], "EF", _DINO, False),
    "H": (DEFAULTS["H"], "H", _WARP, False),
    "H exact": (dataclasses.replace(DEFAULTS["H"], max_ratio=0.95), "H", _WARP, True),
}

_OURS = ("default", "bansac", "uniform")
_PEERS = {"opencv": ("opencv", "opencv-magsac"), "poselib": ("poselib-prosac",)}


def find_pairs(folder: Path, peers: Sequence[str], pairs: int) -> dict[str, tuple[Bench, Setup]]:
    """Return the groups of sets in ``EF`` and ``H`` below ``folder``, for one repeat of at most ``pairs`` pairs a set.

    An OSError is raised if a folder does not exist or a set cannot be read, a ValueError if a set has ground truth for
    another model.
    """
    names = [*_OURS, *(name for peer in peers for name in _PEERS[peer])]
    groups = {}
    for name, (protocol, below, chosen, alone) in _GROUPS.items():
        protocol = dataclasses.replace(protocol, pairs=pairs, repeats=1)
        bench = Bench(tuple(select_methods(names, protocol.kind)), protocol)
        found = (pair_set.name for pair_set in find_sets(folder / below))
        setup = Setup(data=folder / below, sets=tuple(one for one in found if (one == chosen) == alone))
        if setup.sets:
            bench.sets(setup)  # check the kind of ground truth
            groups[name] = bench, setup
    return groups


def pair_times(bench: Bench, setup: Setup) -> dict[str, dict[str, float]]:
    """Run a comparison and return the means over the sets of :func:`.folders.summarise`, by method."""
    rows = bench_rows(bench.methods, bench.protocol, setup)
    means: dict[str, dict[str, float]] = build_report(rows, bench.methods, bench.protocol)["mean"]
    return means
