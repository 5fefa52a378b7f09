"""Files of hloc, in and out."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from bansac.matches import HlocPairs
from bansac.synthetic import homography_matches

NAMES = ("query/night 1.jpg", "db/2.png", "3.jpg")


def matches_between(first: str, second: str) -> str:
    return f"{first.replace('/', '-')}/{second.replace('/', '-')}"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return features of three images and matches of two pairs, in the types that hloc writes."""
    features, matches = tmp_path / "feats.h5", tmp_path / "feats_matches.h5"
    plane = homography_matches(90, inlier_ratio=0.7, noise=0.1, seed=1)
    rng = np.random.default_rng(0)
    order = rng.permutation(90)
    with h5py.File(features, "w") as file:
        for name, x in zip(NAMES, (plane.x1, plane.x2[order], rng.uniform(0, 500, (60, 2))), strict=True):
            file[f"{name}/keypoints"] = x.astype(np.float32)
            file[f"{name}/descriptors"] = np.zeros((4, len(x)), np.float16)
            file[f"{name}/image_size"] = np.array([640, 480])
    with h5py.File(matches, "w") as file:
        right = np.argsort(order).astype(np.int16)
        right[::10] = -1
        group = file.create_group(matches_between(*NAMES[:2]))
        group["matches0"], group["matching_scores0"] = right, rng.uniform(0, 1, 90).astype(np.float16)
        file[f"{matches_between(NAMES[0], NAMES[2])}/matches0"] = rng.integers(0, 60, 90)
    return features, matches


def test_matches_with_their_scores(files: tuple[Path, Path]) -> None:
    pairs = HlocPairs(*files)
    assert pairs.keys == (f"{NAMES[0]} 3.jpg", f"{NAMES[0]} db/2.png")
    assert len(pairs) == 2
    pair = pairs.pair(f"{NAMES[0]} db/2.png")
    plane = homography_matches(90, inlier_ratio=0.7, noise=0.1, seed=1)
    matched = np.arange(90) % 10 != 0
    np.testing.assert_array_equal(pair.x1, plane.x1[matched].astype(np.float32))
    np.testing.assert_array_equal(pair.x2, plane.x2[matched].astype(np.float32))
    with h5py.File(files[1]) as file:
        scores = file[matches_between(*NAMES[:2])]["matching_scores0"][()]
    np.testing.assert_array_equal(pair.scores, scores[matched])
    assert pairs.pair(f"{NAMES[0]} 3.jpg").scores is None


def test_verified_matches_are_the_inliers(files: tuple[Path, Path], tmp_path: Path) -> None:
    pairs = HlocPairs(*files)
    inliers = np.arange(81) % 3 == 0
    none, some = pairs.keys
    out = tmp_path / "verified.h5"
    pairs.write_verified(out, [(none, np.empty(0, np.bool_)), (some, inliers)])
    again = HlocPairs(files[0], out)
    assert again.keys == pairs.keys
    assert len(again.pair(none)) == 0
    expected = pairs.pair(some).select(inliers)
    for name in ("x1", "x2", "scores"):
        np.testing.assert_array_equal(getattr(again.pair(some), name), getattr(expected, name))
    with h5py.File(out) as file:
        group = file[matches_between(*NAMES[:2])]
        assert (group["matches0"].shape, group["matching_scores0"].dtype) == ((90,), np.float16)
        assert np.count_nonzero(group["matches0"][()] > -1) == 27
    with pytest.raises(ValueError, match=r"has 81 matches, and its mask 80"):
        pairs.write_verified(out, [(some, inliers[1:])])
    assert len(HlocPairs(files[0], out)) == 2  # as it was
    with pytest.raises(ValueError, match="which is read"):
        pairs.write_verified(files[1], [])


def change(path: Path, name: str, value: Any) -> None:
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        if value is not None:
            file[name] = value


@pytest.mark.parametrize(
    ("which", "name", "value", "message"),
    [
        (1, "{pair}/matches0", np.zeros(80, int), r"matching_scores0' of .* must have shape \(80,\), got"),
        (1, "{pair}/matches0", np.full(90, 90), r"must be indices of 90 keypoints, got 90"),
        (1, "{pair}/matches0", np.full(90, 1e99), "must be indices"),
        (1, "{pair}/matches0", np.full(90, 0.5), "must be indices"),
        (1, "{pair}/matches0", None, r"lacks '.*/matches0'"),
        (1, "{pair}/matching_scores0", np.zeros(3), r"matching_scores0' of .* must have shape \(90,\)"),
        (0, "db/2.png/keypoints", np.zeros((90, 3)), r"keypoints' of .* must have shape \(N, 2\), got \(90, 3\)"),
        (0, "db/2.png/keypoints", np.full((90, 2), np.nan), "must be finite"),
    ],
)
def test_damaged_pairs_are_named(files: tuple[Path, Path], which: int, name: str, value: Any, message: str) -> None:
    change(files[which], name.format(pair=matches_between(*NAMES[:2])), value)
    pairs = HlocPairs(*files)
    with pytest.raises(OSError, match=message):
        pairs.pair(f"{NAMES[0]} db/2.png")


def test_files_that_do_not_fit(files: tuple[Path, Path], tmp_path: Path) -> None:
    features, matches = files
    h5py.File(tmp_path / "empty.h5", "w").close()
    with pytest.raises(OSError, match="holds no pairs of hloc"):
        HlocPairs(features, tmp_path / "empty.h5")
    with pytest.raises(OSError, match="cannot read"):
        HlocPairs(features, tmp_path / "nothing.h5")
    with pytest.raises(ValueError, match="has no pair 'a b'"):
        HlocPairs(features, matches).pair("a b")
    change(matches, f"{matches_between(NAMES[0], NAMES[2])}/matches0", np.zeros(80, int))
    with pytest.raises(OSError, match=r"pair '.* 3\.jpg' has 80 matches0 for 90 keypoints"):
        HlocPairs(features, matches).pair(f"{NAMES[0]} 3.jpg")
    change(features, "db-2.png/keypoints", np.zeros((1, 2)))
    with pytest.raises(ValueError, match="differ only in '/' and '-'"):
        HlocPairs(features, matches)
    change(features, "db-2.png", None)
    change(features, NAMES[0], None)
    with pytest.raises(OSError, match=r"of both images of no pair in .*: no 'query-night 1\.jpg'"):
        HlocPairs(features, matches)


def test_a_pair_that_cannot_be_read_has_a_name_and_no_inliers(files: tuple[Path, Path], tmp_path: Path) -> None:
    change(files[0], NAMES[1], None)
    change(files[1], f"{matches_between(NAMES[0], NAMES[2])}/matches0", np.full(90, 0.5))
    pairs = HlocPairs(*files)
    assert pairs.keys == (f"{NAMES[0]} 3.jpg", f"{NAMES[0]} db-2.png")
    with pytest.raises(OSError, match=r"feats\.h5 lacks 'db-2\.png/keypoints'"):
        pairs.pair(f"{NAMES[0]} db-2.png")
    pairs.write_verified(tmp_path / "verified.h5", [(key, np.empty(0, np.bool_)) for key in pairs.keys])
    with h5py.File(tmp_path / "verified.h5") as file:
        assert list(file["query-night 1.jpg"]) == ["db-2.png"]
    with pytest.raises(OSError, match="must be indices"):
        pairs.write_verified(tmp_path / "verified.h5", [(pairs.keys[0], np.ones(90, np.bool_))])
