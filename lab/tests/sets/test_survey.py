"""What a folder holds: sets of both kinds, and matches that are no set."""

import numpy as np
import pytest

from bansac_lab.sets.survey import survey
from lab.tests.pair_sets import write_homography_set, write_pose_set
from lab.tests.sets.test_labelled import write_labelled_set


@pytest.fixture
def root(tmp_path):
    write_pose_set(tmp_path / "b" / "val", pairs=1)
    write_homography_set(tmp_path / "a", pairs=1)
    x = np.ones((8, 2))
    write_labelled_set(tmp_path / "c", {"a-b": (x, x, np.ones(8), np.eye(3))})
    return tmp_path


def test_every_folder_with_matches_is_in_it(root):
    write_pose_set(root / "b" / "test", pairs=1)
    for name in ("R.h5", "T.h5"):  # as in the test splits of the tutorial
        (root / "b" / "test" / name).unlink()
    found = survey(root)
    assert [pair_set.name for pair_set in found.pair_sets] == ["a", "b-val"]
    assert [labelled_set.name for labelled_set in found.labelled_sets] == ["c"]
    lack = "is no set of pairs for lack of R.h5, T.h5, and none of labelled matches for lack of labels.h5, Fgt.h5"
    assert found.skipped == {root / "b" / "test": lack}


def test_a_folder_may_be_both(root):
    for name in ("labels.h5", "Fgt.h5"):
        (root / "c" / name).rename(root / "a" / name)
    found = survey(root / "a")
    assert (len(found.pair_sets), len(found.labelled_sets), found.skipped) == (1, 1, {})


def test_incomplete_sets_and_empty_folders_are_errors(root):
    (root / "b" / "val" / "R.h5").unlink()
    with pytest.raises(FileNotFoundError, match=r"no complete set of pairs: R\.h5 is missing"):
        survey(root)
    (root / "c" / "labels.h5").unlink()
    with pytest.raises(FileNotFoundError, match=r"no set of pairs and none of labelled .*; .*c is no set of pairs for"):
        survey(root / "c")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        survey(root / "nowhere")
