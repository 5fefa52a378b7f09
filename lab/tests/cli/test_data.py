import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from bansac_lab.cli import data as data_module
from lab.tests.pair_sets import write_files, write_homography_set, write_pose_set
from lab.tests.sets.archives import ArchiveServer, homography_archive, pose_archive, serve
from lab.tests.sets.test_labelled import write_labelled_set
from tests.processes import ENVIRONMENT, interruptible

pytest.importorskip("pooch", reason="downloads need pooch")

ARCHIVE = "homography.tar.gz"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ArchiveServer]:
    monkeypatch.setenv("no_proxy", "*")
    with serve() as state:
        state.files[ARCHIVE] = homography_archive(tmp_path / "scratch")
        yield state


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    write_pose_set(tmp_path / "sets" / "poses" / "room[b]", pairs=2)
    write_homography_set(tmp_path / "sets" / "planes" / "wall", pairs=3)
    return tmp_path / "sets"


def test_info_describes_every_set(bansac: Any, sets: Path) -> None:
    document = bansac.json("data", "info", sets)
    assert document["folder"] == str(sets)
    plane, pose = document["sets"]
    assert plane == {
        "name": "wall",
        "folder": "planes/wall",
        "kind": "H",
        "pairs": 3,
        "scenes": 3,
        "matches": {"max_ratio": 0.85, "pairs": 3, "min": 120, "median": 120.0, "max": 120},
        "sizes": "files",
    }
    assert (pose["name"], pose["kind"], pose["scenes"], pose["sizes"]) == ("room[b]", "EF", 1, None)
    assert pose["matches"]["max_ratio"] == 0.85
    lines = [line.split() for line in bansac("data", "info", sets).stdout.splitlines()]
    assert ["wall", "H", "3", "3", "120", "120", "120", "files"] in lines
    assert ["room[b]", "EF", "2", "1", "120", "120", "120", "unknown"] in lines


def test_info_of_labelled_sets_and_of_what_is_passed_over(bansac: Any, sets: Path) -> None:
    x = np.ones((10, 2))
    labels = {"a-b": np.arange(10) < 2, "c-d": np.arange(10) < 8, "e-f": np.zeros(0)}
    pairs = {key: (x[: len(of_pair)], x[: len(of_pair)], of_pair, np.eye(3)) for key, of_pair in labels.items()}
    write_labelled_set(sets / "labels" / "rooms", pairs)
    write_labelled_set(sets / "labels" / "half", pairs)
    (sets / "labels" / "half" / "Fgt.h5").unlink()
    (sets / "planes" / "wall" / "match_conf.h5").unlink()
    document = bansac.json("data", "info", sets)
    assert [(found["name"], found["kind"]) for found in document["sets"]] == [("room[b]", "EF"), ("rooms", "labelled")]
    assert document["sets"][1] == {
        "name": "rooms",
        "folder": "labels/rooms",
        "kind": "labelled",
        "pairs": 3,
        "matches": {"pairs": 3, "min": 0, "median": 10.0, "max": 10},
        "inliers": {"min": 0.0, "median": 0.2, "max": 0.8},
    }
    half, wall = document["skipped"]
    assert half == {
        "folder": "labels/half",
        "why": "is no set of pairs for lack of match_conf.h5, K1_K2.h5, R.h5, T.h5 (or Hgt.h5), "
        "and none of labelled matches for lack of Fgt.h5",
    }
    assert (wall["folder"], "for lack of match_conf.h5, and none" in wall["why"]) == ("planes/wall", True)
    shown = bansac("data", "info", sets).stdout.splitlines()
    assert ["rooms", "labelled", "3", "0", "10", "10", "0.00", "0.20", "0.80"] in [line.split() for line in shown]
    assert f"skipped: {half['folder']} {half['why']}" in shown


def test_info_of_labelled_sets_alone(bansac: Any, tmp_path: Path) -> None:
    x = np.ones((10, 2))
    write_labelled_set(tmp_path / "rooms", {"a-b": (x, x, np.ones(10), np.eye(3))})
    shown = bansac("data", "info", tmp_path).stdout
    assert "labelled" in shown
    assert "SNN ratio" not in shown
    (tmp_path / "rooms" / "labels.h5").unlink()
    message = bansac.refused("data", "info", tmp_path)
    assert "no set of pairs and none of labelled matches in" in message
    assert "rooms is no set of pairs for lack of match_conf.h5" in message


def test_info_counts_matches_of_50_spaced_pairs_and_scenes(bansac: Any, tmp_path: Path) -> None:
    folder = write_homography_set(tmp_path / "wall", pairs=1)
    for name in ("matches", "match_conf", "Hgt", "size"):
        (folder / f"{name}.h5").unlink()
    ratios = {f"v-{i // 5:03}-{k}-v-{i // 5:03}-{k + 1}": np.arange(i) / 1000 for i in range(999) for k in [i % 5]}
    write_files(folder, {"match_conf": ratios, "matches": dict.fromkeys(ratios, 0), "Hgt": {}})
    (found,) = bansac.json("data", "info", folder)["sets"]
    assert (found["pairs"], found["folder"]) == (999, ".")
    spread = {"min": 0, "median": pytest.approx(499, abs=1), "max": 850}
    assert found["matches"] == {"max_ratio": 0.85, "pairs": 50, **spread}
    assert found["scenes"] == 999  # every first image is another one here


def test_scenes_are_first_images() -> None:
    assert {data_module._first_image(key) for key in ("a-b", "a-c", "a")} == {"a"}
    assert data_module._first_image("st-peter-1-st-peter-2") == "st-peter-1"


def test_info_of_bad_folders(bansac: Any, sets: Path, tmp_path: Path) -> None:
    assert "there is no folder" in bansac.refused("data", "info", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no set of pairs" in bansac.refused("data", "info", tmp_path / "empty")
    (sets / "planes" / "wall" / "match_conf.h5").write_bytes(b"damaged")
    assert "match_conf.h5" in bansac.refused("data", "info", sets)


def test_fetch_shows_folder_and_sets_and_does_nothing_the_second_time(
    bansac: Any, server: ArchiveServer, tmp_path: Path
) -> None:
    arguments = ("data", "fetch", "evd", "--out", tmp_path / "data", "--url", server.url)
    first = bansac(*arguments)
    folder = tmp_path / "data" / "homography" / "homography" / "EVD"
    assert first.stdout.splitlines()[0] == str(folder)
    assert ["EVD-val", "H", "3", "3", "120", "120", "120", "images"] in [
        line.split() for line in first.stdout.splitlines()
    ]
    size = len(server.files[ARCHIVE])
    lines = [line for line in first.stderr.splitlines() if line]  # Rich 13 ends a progress bar by an empty line
    assert lines == [f"bansac: downloading {size / 1e6:.1f} MB", "bansac: evd is there now"]
    again = bansac(*arguments)
    assert again.stderr.lstrip() == "bansac: evd was there already\n"
    assert again.stdout == first.stdout
    assert server.requests == 1

    document = bansac.json("data", "fetch", "hpatches", "--out", tmp_path / "data", "--url", server.url)
    assert document["was_there"] is True
    assert document["archive"]["bytes"] == size
    assert len(document["archive"]["sha256"]) == 64
    assert [found["name"] for found in document["sets"]] == ["HPatchesSeq-val"]


def test_fetch_all_scenes(bansac: Any, server: ArchiveServer, tmp_path: Path) -> None:
    server.files["RANSAC-Tutorial-Data-EF.tar"] = pose_archive(tmp_path / "more")
    out = ("--out", tmp_path / "data", "--url", server.url)
    document = bansac.json("data", "fetch", "phototourism", "--full", *out)
    assert [(found["name"], found["kind"]) for found in document["sets"]] == [("sacre_coeur", "EF")]


@pytest.mark.parametrize(("name", "message"), [("nothing", "nothing"), ("phototourism", "404")])
def test_fetch_refuses(bansac: Any, server: ArchiveServer, tmp_path: Path, name: str, message: str) -> None:
    assert message in bansac.refused("data", "fetch", name, "--out", tmp_path / "data", "--url", server.url)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_ctrl_c_leaves_nothing_half(bansac: Any, server: ArchiveServer, tmp_path: Path) -> None:
    server.files[ARCHIVE] = homography_archive(tmp_path / "large", padding=300_000)
    server.cuts, server.stall = [200_000], threading.Event()
    arguments = ["data", "fetch", "evd", "--out", str(tmp_path / "data"), "--url", server.url]
    command = [sys.executable, "-m", "bansac", *arguments]
    folder = tmp_path / "data"
    with interruptible(command, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        while process.poll() is None and not any(path.stat().st_size for path in folder.glob("*") if path.is_file()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    server.stall.set()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert sorted(path.name for path in folder.iterdir()) == []
    bansac(*arguments)


def test_bars_on_a_terminal(
    bansac: Any, server: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(data_module, "notes", Console(file=shown, force_terminal=True, width=100))
    bansac("data", "fetch", "evd", "--out", tmp_path / "data", "--url", server.url)
    for stage in ("download", "unpack"):
        assert f"{stage} " in shown.getvalue()
