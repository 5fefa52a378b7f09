import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bansac as library
from bansac.batch import features
from bansac.matches import load_demo
from bansac.matches.image_matching import match_images
from tests.arrays import read_arrays

cv2 = pytest.importorskip("cv2", reason="matching images needs OpenCV")

SMALL = ("--model", "H", "--features", "500", "--max-size", "450")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the two images of the demo, a copy of one, a grey field and a file that is no image."""
    folder = tmp_path_factory.mktemp("images")
    pair = load_demo()
    shutil.copy(pair.image1, folder / "img 1.jpg")
    shutil.copy(pair.image2, folder / "img 2.jpg")
    shutil.copy(pair.image2, folder / "img 10.jpg")
    (folder / "bad").mkdir()
    cv2.imwrite(str(folder / "bad" / "grey.png"), np.full((50, 50), 128, np.uint8))
    (folder / "bad" / "torn.jpg").write_bytes((folder / "img 1.jpg").read_bytes()[:100])
    return folder


def run(bansac: Any, images: Path, out: Path, *arguments: Any, pairs: str = "exhaustive", code: int = 0) -> Any:
    return bansac.json("match", images, "--pairs", pairs, *SMALL, "--out", out, *arguments, code=code)


def test_every_pair_has_the_answer_of_two_images(bansac: Any, images: Path, tmp_path: Path) -> None:
    summary = run(bansac, images, tmp_path / "r.npz", "--workers", "2")
    assert (summary["pairs"], summary["images"], summary["new"], summary["successes"]) == (10, 5, 10, 3)
    assert set(summary["failed_images"]) == {"bad/grey.png", "bad/torn.jpg"}
    assert len(summary["failed"]) == 7
    assert "bad/torn.jpg: cannot read" in summary["failed"]["bad/torn.jpg img 1.jpg"]
    found = read_arrays(tmp_path / "r.npz")
    k = found["name"].tolist().index("img 1.jpg img 2.jpg")
    assert (found["image1"][k], found["image2"][k]) == ("img 1.jpg", "img 2.jpg")
    assert found["configuration"][k] == "planar"
    matches = match_images(images / "img 1.jpg", images / "img 2.jpg", max_features=500, max_size=450)
    alone = library.estimate_homography(matches.x1, matches.x2, scores=matches.scores)
    part = slice(found["offsets"][k], found["offsets"][k + 1])
    np.testing.assert_array_equal(found["model"][k], alone.model)
    np.testing.assert_array_equal(found["inliers"][part], alone.inliers)
    np.testing.assert_array_equal(found["probabilities"][part], alone.probabilities.astype(np.float32))
    for number, points in (("1", matches.x1), ("2", matches.x2)):
        stored = read_arrays(tmp_path / "bansac-features" / found[f"features{number}"][k])
        np.testing.assert_array_equal(stored["points"][found[f"index{number}"][part]], points)


def test_the_same_images_have_their_features_once(bansac: Any, images: Path, tmp_path: Path) -> None:
    run(bansac, images, tmp_path / "r.npz", pairs="sequential:1")
    store = tmp_path / "bansac-features"
    stamps = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
    assert len(stamps) == 2  # one of the demo's images is there twice
    again = run(bansac, images, tmp_path / "other.npz")
    assert {path.name: path.stat().st_mtime_ns for path in store.iterdir()} == stamps
    assert again["pairs"] == 10
    name = read_arrays(tmp_path / "r.npz")["features1"].tolist()[-1]
    (store / name).write_bytes(b"torn")
    features.load_features.cache_clear()  # those of this process
    torn = run(bansac, images, tmp_path / "more.npz", "--seed", "1", code=1)
    assert "(deleted, they are computed again)" in torn["failed"]["img 2.jpg img 10.jpg"]


def test_a_changed_image_is_matched_anew(bansac: Any, images: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    shutil.copytree(images, folder)
    run(bansac, folder, tmp_path / "r.npz")
    shutil.copy(folder / "img 1.jpg", folder / "bad" / "torn.jpg")
    summary = run(bansac, folder, tmp_path / "r.npz")
    assert (summary["new"], summary["successes"]) == (4 + 3, 6)


def test_hdf5_and_parquet_have_the_same(bansac: Any, images: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    for suffix in ("npz", "h5", "parquet"):
        run(bansac, images, tmp_path / f"r.{suffix}", pairs="sequential:2")
    found, table = read_arrays(tmp_path / "r.npz"), parquet.read_table(tmp_path / "r.parquet").to_pydict()
    with h5py.File(tmp_path / "r.h5") as file:
        assert set(file) == set(found)
        for name, values in found.items():
            stored = file[name].asstr()[()] if values.dtype.kind == "U" else file[name][()]
            if name != "seconds":
                np.testing.assert_array_equal(stored, values)
    for name in ("image1", "features2", "success", "num_inliers"):
        assert table[name] == found[name].tolist()
    assert list(itertools.chain(*filter(None, table["index2"]))) == found["index2"].tolist()


def test_readers_are_told(bansac: Any, images: Path, tmp_path: Path) -> None:
    shown = bansac("match", images, "--pairs", "sequential:1", *SMALL, "--out", tmp_path / "r.npz")
    assert "4 pairs, 4 of them new; 2 with a model, 0 without, 2 failed" in shown.stdout
    reported = [line for line in shown.stderr.splitlines() if "bad/grey.png" in line]
    assert len(reported) == 1, shown.stderr  # though two pairs have this image
    assert reported[0].startswith("bansac: bad/grey.png: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "{tmp}/r.txt"], "--out must name a file *.npz, *.parquet or *.h5"),
        ([], "--out must name a file"),
        (["--out", "{tmp}/r.npz", "--pairs", "some"], "--pairs must be exhaustive"),
        (["--out", "{tmp}/r.npz", "--scheduler", "nowhere"], "the scheduler 'nowhere' cannot be reached"),
        (["--out", "{tmp}/r.npz", "--scheduler", "a:1", "--workers", "2"], "--workers does not go with --scheduler"),
        (["--out", "{tmp}/r.npz", "--calib", "{tmp}/K.txt"], "--calib does not go with --model H"),
    ],
)
def test_bad_argument_is_named(bansac: Any, images: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    if any("--scheduler" in argument for argument in arguments):
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    (tmp_path / "K.txt").touch()
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    assert message in bansac.refused("match", images, "--model", "H", *given)


def test_options_of_a_folder_are_refused_with_two_images(bansac: Any, images: Path) -> None:
    two = (images / "img 1.jpg", images / "img 2.jpg")
    assert "--pairs is for a folder" in bansac.refused("match", *two, "--model", "H", "--pairs", "exhaustive")
    assert "IMG2 is missing" in bansac.refused("match", two[0], "--model", "H")


def test_the_cameras_of_a_folder_are_one(bansac: Any, images: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "K.npz", K1=np.diag([500.0, 500, 1]), K2=np.diag([600.0, 600, 1]))
    found = bansac.refused("match", images, "--model", "E", "--calib", tmp_path / "K.npz", "--out", tmp_path / "r.npz")
    assert "one camera matrix" in found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the largest size of a file is set as on Linux")
def test_threads_that_still_work_do_not_abort_a_command_that_fails(images: Path, tmp_path: Path) -> None:
    import resource

    done = subprocess.run(
        [sys.executable, "-m", "bansac", "match", images, *SMALL, "--out", tmp_path / "r.npz", "--workers", "2"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),  # as on a full disk
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("bansac: ")
