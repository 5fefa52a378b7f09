"""Search of a folder for sets of pairs, sets of labelled matches, and folders with matches that are neither."""

import os
from dataclasses import dataclass
from pathlib import Path

from bansac.matches.pair_folder import folders_with
from bansac_lab.sets import labelled, tutorial
from bansac_lab.sets.labelled import LabelledSet
from bansac_lab.sets.tutorial import PairSet, looks_like_a_set


@dataclass(frozen=True)
class Survey:
    """Sets in a folder and its subfolders, each list sorted by path."""

    pair_sets: list[PairSet]
    labelled_sets: list[LabelledSet]
    skipped: dict[Path, str]  # folder with matches that is not a set -> reason


def survey(root: str | os.PathLike[str]) -> Survey:
    """Find all sets in a folder and below, and folders with matches that are no sets; an OSError if there is no set."""
    labelled_sets = labelled.find_labelled_sets(root)
    taken = {labelled_set.folder for labelled_set in labelled_sets}
    folders = folders_with(root, "matches.h5")
    pair_sets = [PairSet(folder) for folder in folders if looks_like_a_set(folder)]
    lack = "is no set of pairs for lack of {}, and none of labelled matches for lack of {}"
    others = (folder for folder in folders if folder not in taken and not looks_like_a_set(folder))
    skipped = {path: lack.format(tutorial.missing_files(path), labelled.missing_files(path)) for path in others}
    if not pair_sets and not labelled_sets:
        said = "".join(f"; {folder} {reason}" for folder, reason in skipped.items())
        raise FileNotFoundError(f"no set of pairs and none of labelled matches in {root} or below{said}")
    return Survey(pair_sets, labelled_sets, skipped)
