"""Which sets of a folder are taken, as ``--sets`` and ``--exclude`` say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bansac.datasets import PairSet
from bansac.datasets.labelled import LabelledSet

Set = TypeVar("Set", PairSet, LabelledSet)


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets that ``--sets`` (empty: all) and ``--exclude`` leave, in the order of ``found``.

    A name that is unknown, no set that is left, or two of the same name is a ValueError.
    """
    names = [pair_set.name for pair_set in found]
    for option, listed in (("--sets", wanted), ("--exclude", unwanted)):
        for name in listed:
            if name not in names:
                raise ValueError(f"{option}: there is no set {name!r}; there are {', '.join(names)}")
    chosen = [s for s in found if (not wanted or s.name in wanted) and s.name not in unwanted]
    if not chosen:
        raise ValueError(f"--exclude leaves none of the sets {', '.join(names)}")
    repeated = {pair_set.name for pair_set in chosen if [s.name for s in chosen].count(pair_set.name) > 1}
    if repeated:
        raise ValueError(f"several sets below the folder are called {', '.join(sorted(repeated))}")
    return chosen
