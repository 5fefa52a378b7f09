"""The tutorial's format: small sets written here, read back, and damaged in every way."""

import os
import sys

import numpy as np
import pytest

from bansac.geometry import rotation_matrix
from bansac.synthetic import epipolar_matches
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import MAX_RATIO
from lab.tests.pair_sets import remove_entry, replace_entry, write_files, write_ppm

h5py = pytest.importorskip("h5py", reason="reading the tutorial's sets needs h5py")


@pytest.fixture
def h_folder(tmp_path):
    """Make a homography set of pairs p0-q .. p9-q with 10, 11, .. 19 matches."""
    rng = np.random.default_rng(0)
    keys = [f"p{i}-q" for i in range(10)]
    files = {
        "matches": {k: rng.uniform(0, 99, (10 + i, 4)).astype("f4") for i, k in enumerate(keys)},
        "match_conf": {k: np.linspace(0.5, 0.9, 10 + i, dtype="f4") for i, k in enumerate(keys)},
        "Hgt": {k: np.diag([2.0, 1.0, 1.0 + i]) for i, k in enumerate(keys)},
        "size": {k: np.array([480, 640]) for k in keys},
    }
    return write_files(tmp_path / "H" / "walls", files)


@pytest.fixture
def ef_folder(tmp_path):
    """Make a pose set of one pair whose world frame is neither camera's."""
    rng = np.random.default_rng(1)
    scene = epipolar_matches(50, inlier_ratio=1.0, noise=0.0)
    R1, T1 = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    R2, T2 = scene.R @ R1, scene.R @ T1 + scene.t
    files = {
        "matches": {"a-b": np.hstack([scene.x1, scene.x2])},
        "match_conf": {"a-b": np.full((50, 1), 0.7)},
        "K1_K2": {"a-b": np.stack([scene.K, scene.K])[None]},
        "R": {"a": R1, "b": R2},
        "T": {"a": T1[:, None], "b": T2[:, None]},
    }
    return write_files(tmp_path / "EF" / "tower", files)


def test_homography_pair_is_read_as_written(h_folder):
    pairs = PairSet(h_folder)
    assert (pairs.name, pairs.kind, len(pairs)) == ("walls", "H", 10)
    assert pairs.keys == tuple(f"p{i}-q" for i in range(10))
    pair = pairs.pair("p3-q")
    with h5py.File(h_folder / "matches.h5") as file:
        np.testing.assert_array_equal(np.hstack([pair.x1, pair.x2]), file["p3-q"][()])
    assert pair.x1.dtype == pair.x2.dtype == pair.ratios.dtype == np.float64
    np.testing.assert_array_equal(pair.H, np.diag([2, 1, 4]))
    np.testing.assert_allclose(pair.scores, 1 - np.linspace(0.5, 0.9, 13), atol=1e-7)
    assert pair.size1 == (480, 640)
    assert pair.size2 is None
    assert pair.F is None


def test_relative_pose_and_matrices_explain_the_matches(ef_folder):
    scene = epipolar_matches(50, inlier_ratio=1.0, noise=0.0)
    pair = PairSet(ef_folder).pair("a-b")
    np.testing.assert_allclose(pair.R, scene.R, atol=1e-12)
    np.testing.assert_allclose(pair.t, scene.t, atol=1e-12)
    np.testing.assert_allclose(pair.E, scene.E, atol=1e-12)
    np.testing.assert_allclose(pair.F, scene.F, atol=1e-12)
    assert pair.ratios.shape == (50,)
    x1, x2 = (np.column_stack([x, np.ones(50)]) for x in (pair.x1, pair.x2))
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", x2, pair.F, x1), 0, atol=1e-9)


def test_pairs_are_evenly_spaced(h_folder):
    pairs = PairSet(h_folder)
    for limit, chosen in ((43, range(10)), (None, range(10)), (1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9])):
        assert [pair.key for pair in pairs.pairs(limit)] == [f"p{i}-q" for i in chosen]
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        pairs.pairs(0)


def test_match_counts_are_those_of_the_filtered_pairs(h_folder):
    pairs = PairSet(h_folder)
    assert pairs.match_counts().tolist() == [len(pair.filtered(MAX_RATIO)) for pair in pairs.pairs(None)]
    assert pairs.match_counts(0.8, limit=2).tolist() == [len(pair.filtered(0.8)) for pair in pairs.pairs(2)]
    assert pairs.match_counts(1.0, limit=2).tolist() == [10, 19]
    (h_folder / "match_conf.h5").write_bytes(b"")
    with pytest.raises(OSError, match=r"cannot read .*match_conf\.h5"):
        pairs.match_counts()


def test_find_sets_below_a_folder_and_at_it(h_folder, ef_folder, tmp_path):
    (tmp_path / "notes").mkdir()
    write_files(tmp_path / "labelled", {"matches": {"a-b": np.zeros((1, 4))}})  # without truth: no set
    assert [(s.name, s.kind) for s in find_sets(tmp_path)] == [("tower", "EF"), ("walls", "H")]
    assert [s.name for s in find_sets(str(h_folder))] == ["walls"]
    h_folder.rename(h_folder.with_name("val"))
    for name in ("R.h5", "T.h5"):  # as in the tutorial's test sets, which have cameras but no truth
        (ef_folder / name).unlink()
    assert [pairs.name for pairs in find_sets(tmp_path)] == ["H-val"]


def image_set(folder, key, *images):
    """Write a homography set of one pair without sizes, and images: the first has 5 by 7 pixels, the next 6 by 8."""
    values = {"matches": np.zeros((4, 4)), "match_conf": np.zeros(4), "Hgt": np.eye(3)}
    write_files(folder, {name: {key: value} for name, value in values.items()})
    for i, name in enumerate(images):
        write_ppm(folder / name, (5 + i, 7 + i))
    return PairSet(folder)


@pytest.mark.parametrize(
    ("key", "image1", "image2"),
    [
        ("a-b", "a.ppm", "b.ppm"),
        ("a-b", "deep/down/a.PPM", "deep/up/b.ppm"),
        ("adam-adam", "1/adam.ppm", "2/adam.ppm"),
        ("adam-adam", "../1/adam.ppm", "../2/adam.ppm"),
        ("adam-adam", "../imgs/1/adam.ppm", "../imgs/2/adam.ppm"),
        ("adam-adam", "../EVD/1/adam.ppm", "../EVD/2/adam.ppm"),
        ("adam", "1/adam.ppm", "2/adam.ppm"),
        ("cafe1-cafe2", "1/cafe.ppm", "2/cafe.ppm"),
        ("cafe_1-cafe_2", "1/cafe.ppm", "2/cafe.ppm"),
        ("v_dog_1-v_dog_3", "imgs/v_dog/1.ppm", "imgs/v_dog/3.ppm"),
        ("v_dog_1-v_dog_3", "../imgs/v_dog/1.ppm", "../imgs/v_dog/3.ppm"),
        ("v_dog-1-v_dog-3", "imgs/v_dog/1.ppm", "imgs/v_dog/3.ppm"),
        ("v_dog-1-3", "imgs/v_dog/1.ppm", "imgs/v_dog/3.ppm"),
        ("v_dog-3", "imgs/v_dog/1.ppm", "imgs/v_dog/3.ppm"),
        ("1-v_dog_3", "imgs/v_dog/1.ppm", "imgs/v_dog/3.ppm"),
        ("peter-b-c", "peter-b.ppm", "c.ppm"),
        ("st-peter-1-st-peter-2", "images/st-peter-1.ppm", "images/st-peter-2.ppm"),
    ],
)
def test_sizes_come_from_images(tmp_path, key, image1, image2):
    others = ("imgs/v_cat/1.ppm", "imgs/v_cat/3.ppm", "1/eve.ppm", "2/eve.ppm", "imgs/peter.ppm")
    pairs = image_set(tmp_path / "EVD" / "val", key, image1, image2, *others)
    pair = pairs.pair(key)
    assert (pair.size1, pair.size2) == ((5, 7), (6, 8))
    assert (pairs.image_size(key), pairs.image_size(key, 2)) == ((5, 7), (6, 8))
    found = [pairs.image_path(key), pairs.image_path(key, 2)]
    assert found == [(pairs.folder / name).resolve() for name in (image1, image2)]
    assert pairs.files() == [pairs.folder / name for name in ("matches.h5", "match_conf.h5", "Hgt.h5")]


def test_own_images_come_before_those_beside_and_equal_stems_before_similar(tmp_path):
    assert image_set(tmp_path / "one", "a-b", "x/a.ppm", "../imgs/a.ppm").image_size("a-b") == (5, 7)
    assert image_set(tmp_path / "two", "a_b-c", "a_b.ppm", "a-b.ppm").image_size("a_b-c") == (5, 7)


def test_sizes_in_files_come_before_images(h_folder):
    write_ppm(h_folder / "p3.ppm", (5, 7))
    write_ppm(h_folder / "q.ppm", (6, 8))
    pairs = PairSet(h_folder)
    assert (pairs.pair("p3-q").size1, pairs.pair("p3-q").size2) == ((480, 640), (6, 8))
    assert pairs.image_size("p3-q", 1) == (480, 640)
    assert [path.name for path in pairs.files()][3:] == ["size.h5"]


def test_missing_image_is_an_error_where_its_size_is_asked_for(tmp_path):
    pairs = image_set(tmp_path / "walls", "a-b", "../imgs/c.ppm")
    assert (pairs.pair("a-b").size1, pairs.pair("a-b").size2) == (None, None)
    expected = rf"has no size2\.h5, and no image called 'b' \(\.png, .*\) is in {tmp_path}/walls, {tmp_path}/imgs or"
    with pytest.raises(FileNotFoundError, match=expected):
        pairs.image_size("a-b", 2)
    with pytest.raises(ValueError, match="walls has no pair 'c'"):
        pairs.image_path("c")


def test_several_images_that_fit_are_named(tmp_path):
    pairs = image_set(tmp_path / "walls", "a-b", "x/a.ppm", "y/a.ppm")
    with pytest.raises(OSError, match=r"several files fit image 1 of the pair 'a-b': .*x/a\.ppm, .*y/a\.ppm"):
        pairs.image_size("a-b")
    assert pairs.pair("a-b").size1 is None


def test_damaged_image_is_named_and_so_is_missing_opencv(tmp_path, monkeypatch):
    pairs = image_set(tmp_path / "walls", "a-b", "a.ppm")
    (tmp_path / "walls" / "a.ppm").write_bytes(b"no image")
    with pytest.raises(OSError, match=r"cannot read .*a\.ppm as an image"):
        pairs.image_size("a-b")
    assert pairs.pair("a-b").size1 is None
    monkeypatch.setattr("bansac.matches.images.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert pairs.pair("a-b").size1 is None
    with pytest.raises(ImportError, match=r"pip install opencv-python-headless"):
        pairs.image_size("a-b")


def test_poses_are_read_without_images(ef_folder):
    write_ppm(ef_folder / "images" / "a.ppm", (5, 7))
    pairs = PairSet(ef_folder)
    assert pairs.pair("a-b").size1 is None
    assert pairs.image_size("a-b") == (5, 7)


def test_image_names_may_contain_hyphens(ef_folder):
    def rename(name, old, new):
        with h5py.File(ef_folder / name, "a") as file:
            file.move(old, new)

    for name in ("matches.h5", "match_conf.h5", "K1_K2.h5"):
        rename(name, "a-b", "st-peter-1-st-peter-2")
    for name in ("R.h5", "T.h5"):
        rename(name, "a", "st-peter-1")
        rename(name, "b", "st-peter-2")
    assert len(PairSet(ef_folder).pair("st-peter-1-st-peter-2")) == 50


def test_what_is_no_set_is_named(ef_folder, tmp_path):
    for read in (find_sets, PairSet):
        with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
            read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"matches\.h5, match_conf\.h5, K1_K2\.h5, R\.h5, T\.h5 \(or Hgt"):
        PairSet(tmp_path)
    for name in ("R.h5", "K1_K2.h5"):
        hidden = (ef_folder / name).rename(ef_folder / "hidden")
        with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
            find_sets(ef_folder)
        hidden.rename(ef_folder / name)
    (ef_folder / "matches.h5").unlink()
    with pytest.raises(FileNotFoundError, match=f"no set of pairs in {tmp_path} or below: a set is a folder with"):
        find_sets(tmp_path)


@pytest.mark.parametrize("name", ["matches.h5", "match_conf.h5", "K1_K2.h5", "R.h5", "T.h5"])
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_a_truncated_file_is_named(ef_folder, name, share):
    path = ef_folder / name
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(OSError, match=f"cannot read .*{name}"):
        PairSet(ef_folder).pair("a-b")


@pytest.mark.parametrize(("name", "key"), [("match_conf.h5", "a-b"), ("K1_K2.h5", "a-b"), ("R.h5", "b"), ("T.h5", "b")])
def test_a_pair_or_an_image_missing_from_one_file_is_named(ef_folder, name, key):
    remove_entry(ef_folder / name, key)
    with pytest.raises(OSError, match=f"{name} lacks '{key}'" if key == "a-b" else f"{name} lacks"):
        PairSet(ef_folder).pair("a-b")


@pytest.mark.parametrize(
    ("matches", "message"),
    [
        ({"a-b": np.zeros((5, 3))}, r"must have shape \(N, 4\), got \(5, 3\)"),
        ({"a-b": np.full((50, 4), np.nan)}, "must be finite"),
        ({"a-b": np.zeros((3, 4))}, "3 matches but 50 ratios"),
        ({"a-b": np.bytes_(b"text")}, "cannot read 'a-b'"),
        ({"a-b/c": 0.0}, r"cannot read 'a-b' of .*matches\.h5"),
        ({}, r"matches\.h5 holds no pairs"),
    ],
)
def test_damaged_matches_are_named(ef_folder, matches, message):
    write_files(ef_folder, {"matches": matches})
    with pytest.raises(OSError, match=message):
        PairSet(ef_folder).pair("a-b")


def test_pairs_without_matches_are_read_and_unknown_ones_are_named(h_folder):
    for name, shape in (("matches.h5", (0, 4)), ("match_conf.h5", (0,))):
        replace_entry(h_folder / name, "p0-q", np.empty(shape))
    pair = PairSet(h_folder).pair("p0-q")
    assert len(pair) == len(pair.filtered(0.6)) == 0
    with pytest.raises(ValueError, match="walls has no pair 'p10-q'"):
        PairSet(h_folder).pair("p10-q")


@pytest.mark.skipif("BANSAC_DATA" not in os.environ, reason="set BANSAC_DATA to a folder of real sets")
def test_real_matches_agree_with_their_truth():
    for pairs in find_sets(os.environ["BANSAC_DATA"]):
        pair = next(pairs.pairs(1)).filtered(0.6 if pairs.kind == "H" else 0.85)
        x1, x2 = (np.column_stack([x, np.ones(len(x))]) for x in (pair.x1, pair.x2))
        if pairs.kind == "H":
            mapped = x1 @ pair.H.T
            distance = np.hypot(*(mapped[:, :2] / mapped[:, 2:] - pair.x2).T)
        else:
            lines = x1 @ pair.F.T
            distance = np.abs((lines * x2).sum(axis=1)) / np.hypot(lines[:, 0], lines[:, 1])
        assert np.mean(distance < 3) > 0.05, pairs
