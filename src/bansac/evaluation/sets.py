"""Which sets of a folder are taken, as ``--sets`` and ``--exclude`` say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bansac.datasets import PairSet
from bansac.datasets.labelled import LabelledSet

__all__ = ["choose_sets"]

Set = TypeVar("Set", PairSet, LabelledSet)


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets that ``--sets`` and ``--exclude`` leave.

    Parameters
    ----------
    found : sequence of PairSet or of LabelledSet
        All sets.
    wanted : sequence of str
        Names of the sets to be taken; empty for all.
    unwanted : sequence of str
        Names of the sets to be left out.

    Returns
    -------
    list
        The sets, in the order of ``found``.

    Raises
    ------
    ValueError
        If a name is unknown, no set is left, or two that are left have the same name.
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
