"""What a folder with data holds: sets of pairs, sets of labelled matches, and matches that are neither."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bansac.datasets import labelled, tutorial
from bansac.datasets.labelled import LabelledSet
from bansac.datasets.tutorial import PairSet

__all__ = ["Survey", "survey"]


@dataclass(frozen=True)
class Survey:
    """The sets in a folder and below it, each list sorted by path.

    Parameters
    ----------
    pair_sets : list of PairSet
        Sets with poses or homographies as truth.
    labelled_sets : list of LabelledSet
        Sets whose matches are labelled.
    skipped : dict of Path to str
        Folders with matches that are no set, and the reason.
    """

    pair_sets: list[PairSet]
    labelled_sets: list[LabelledSet]
    skipped: dict[Path, str]


def survey(root: str | os.PathLike[str]) -> Survey:
    """Find all sets in a folder and below it, and the folders with matches that are none.

    Parameters
    ----------
    root : str or path
        A set, or a folder with sets somewhere below.

    Returns
    -------
    Survey
        The sets.

    Raises
    ------
    OSError
        If there is no such folder, no set in it, or a set is incomplete or damaged.
    ImportError
        If h5py is not installed.
    """
    root = Path(root)
    labelled_sets = labelled.find_labelled_sets(root)
    folders = sorted(path.parent for path in root.rglob("matches.h5"))
    has_pairs = any(map(tutorial.looks_like_a_set, folders))
    taken = {labelled_set.folder for labelled_set in labelled_sets}
    skipped = {
        folder: _reason(folder) for folder in folders if folder not in taken and not tutorial.looks_like_a_set(folder)
    }
    if not has_pairs and not labelled_sets:
        said = "".join(f"; {folder} {reason}" for folder, reason in skipped.items())
        raise FileNotFoundError(f"no set of pairs and none of labelled matches in {root} or below{said}")
    return Survey(tutorial.find_sets(root) if has_pairs else [], labelled_sets, skipped)


def _reason(folder: Path) -> str:
    return (
        f"is no set of pairs for lack of {tutorial.missing_files(folder)}, "
        f"and none of labelled matches for lack of {labelled.missing_files(folder)}"
    )
