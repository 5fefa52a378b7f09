"""Labelled matches and check points: small sets written here, read back, and damaged."""

import numpy as np
import pytest

from bansac_lab.sets.labelled import CheckPointSet, LabelledSet, find_labelled_sets
from lab.tests.pair_sets import replace_entry, write_files

pytest.importorskip("h5py", reason="reading HDF5 files needs h5py")


def write_labelled_set(folder, pairs):
    """Write a set of pairs (x1, x2, labels, F) by key."""
    files = {
        "matches": {key: np.hstack(pair[:2]).astype(np.float32) for key, pair in pairs.items()},
        "labels": {key: np.asarray(pair[2], np.uint8) for key, pair in pairs.items()},
        "Fgt": {key: np.asarray(pair[3], np.float64) for key, pair in pairs.items()},
    }
    write_files(folder, files)


X = np.random.default_rng(0).uniform(0, 99, (4, 9, 2))
PAIRS = {key: (*X[2 * k : 2 * k + 2], np.arange(9) < 4, 3 * np.eye(3)) for k, key in enumerate("ba")}


@pytest.fixture
def folder(tmp_path):
    write_labelled_set(tmp_path / "deep" / "rooms", PAIRS)
    return tmp_path / "deep" / "rooms"


def test_pairs_come_back(folder):
    (labelled,) = find_labelled_sets(folder.parent.parent)
    assert (labelled.name, labelled.keys, len(labelled)) == ("rooms", ("a", "b"), 2)
    pair = labelled.pair("b")
    x1, x2, inliers, _ = PAIRS["b"]
    np.testing.assert_allclose(pair.x1, x1, rtol=1e-6)
    np.testing.assert_allclose(pair.x2, x2, rtol=1e-6)
    np.testing.assert_array_equal(pair.inliers, inliers)
    np.testing.assert_allclose(pair.F, np.eye(3) / np.sqrt(3))


def test_folders_without_labels_are_passed_over(folder):
    (folder / "labels.h5").unlink()
    assert find_labelled_sets(folder) == []
    with pytest.raises(FileNotFoundError, match=r"labels\.h5 is missing"):
        LabelledSet(folder)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        find_labelled_sets(folder / "nowhere")


def test_damage_is_told(folder):
    labelled = LabelledSet(folder)
    with pytest.raises(ValueError, match="has no pair 'c'; it has 2, the first is 'a'"):
        labelled.pair("c")
    replace_entry(folder / "labels.h5", "a", np.ones(5, np.uint8))
    with pytest.raises(OSError, match="9 matches but 5 labels"):
        labelled.pair("a")
    replace_entry(folder / "Fgt.h5", "b", np.zeros((3, 3)))
    with pytest.raises(OSError, match="matrix of 'b' is zero"):
        labelled.pair("b")


def test_sizes_are_read_where_they_are(folder):
    assert LabelledSet(folder).pair("a").size1 is None
    write_files(folder, {"size": {"a": [30, 40], "b": [50, 60]}})
    split = LabelledSet(folder.rename(folder.with_name("val")))
    assert split.name == "deep-val", "a split is named after what it splits"
    assert (split.pair("b").size1, split.pair("b").size2) == ((50, 60), None)
    assert [file.name for file in split.files()] == ["matches.h5", "labels.h5", "Fgt.h5", "size.h5"]


STORED = {
    "matches": np.hstack(X[:2]).astype(np.float32),
    "match_conf": np.linspace(0, 1, 9, dtype=np.float32),
    "vpts": np.hstack(X[2:])[:5],
    "size": np.array([30, 40]),
    "size2": np.array([50, 60]),
}


@pytest.fixture
def checked(tmp_path):
    return write_files(tmp_path, {name: {"a-b": values} for name, values in STORED.items()})


def test_pairs_with_check_points_come_back(checked):
    checked_set = CheckPointSet(checked)
    assert (checked_set.keys, len(checked_set.files())) == (("a-b",), 5)
    pair = checked_set.pair("a-b")
    np.testing.assert_array_equal(np.hstack([pair.x1, pair.x2]), STORED["matches"])
    np.testing.assert_array_equal(pair.ratios, STORED["match_conf"])
    assert (pair.size1, pair.size2) == ((30, 40), (50, 60))
    np.testing.assert_array_equal(np.hstack(checked_set.check_points("a-b")), STORED["vpts"])


def test_damaged_check_points_are_told(checked):
    replace_entry(checked / "vpts.h5", "a-b", np.ones((5, 3)))
    with pytest.raises(OSError, match=r"vpts\.h5 must have shape \(N, 4\), got \(5, 3\)"):
        CheckPointSet(checked).check_points("a-b")
    (checked / "vpts.h5").unlink()
    with pytest.raises(FileNotFoundError, match=r"no set with check points: vpts\.h5 is missing"):
        CheckPointSet(checked)
