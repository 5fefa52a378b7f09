"""Search of a folder for sets of pairs, sets of labelled matches, and folders with matches that are neither."""

import os
from dataclasses import dataclass
from pathlib import Path

from bansac.matches.pair_folder import folders_with
from bansac_lab.sets import labelled, tutorial
from bansac_lab.sets.labelled import LabelledSet
from bansac_lab.sets.tutorial import PairSet


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
    pair_sets = [PairSet(folder) for folder in folders if _looks_like_a_set(folder)]
    lack = "is no set of pairs for lack of {}, and none of labelled matches for lack of {}"
    others = (folder for folder in folders if folder not in taken and not _looks_like_a_set(folder))
    skipped = {path: lack.format(tutorial.missing_files(path), labelled.missing_files(path)) for path in others}
    if not pair_sets and not labelled_sets:
        said = "".join(f"; {folder} {reason}" for folder, reason in skipped.items())
        raise FileNotFoundError(f"no set of pairs and none of labelled matches in {root} or below{said}")
    return Survey(pair_sets, labelled_sets, skipped)


def find_sets(root: str | os.PathLike[str]) -> list[PairSet]:
    """Find the sets of pairs in a folder and its subfolders.

    A folder is a set if it contains ``matches.h5``, ``match_conf.h5`` and ground truth (``Hgt.h5``, ``R.h5`` or
    ``T.h5``). If other files of such a folder are missing, an OSError is raised. All other folders are skipped, for
    example the tutorial's test sets, which have cameras but no poses.

    Parameters
    ----------
    root : str or path
        A set, or a folder with sets at any depth.

    Returns
    -------
    list of PairSet
        The sets, sorted by path.

    Raises
    ------
    OSError
        If the folder does not exist or has no set, or if a set is incomplete or damaged.
    ImportError
        If h5py is not installed.
    """
    folders = [folder for folder in folders_with(root, "matches.h5") if _looks_like_a_set(folder)]
    if not folders:
        wanted = "matches.h5, match_conf.h5, and Hgt.h5 or K1_K2.h5, R.h5 and T.h5"
        raise FileNotFoundError(f"no set of pairs in {root} or below: a set is a folder with {wanted}")
    return [PairSet(folder) for folder in folders]


def _looks_like_a_set(folder: Path) -> bool:
    """Return whether a folder with matches is a set of pairs, possibly an incomplete one."""
    has_truth = any((folder / name).exists() for name in ("Hgt.h5", "R.h5", "T.h5"))
    return has_truth and (folder / "match_conf.h5").exists()
