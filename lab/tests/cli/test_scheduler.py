"""Commands on a cluster of processes on this machine: the results are those of one process, bit for bit."""

import csv
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac.batch import run as batch
from bansac.matches import load_demo
from bansac.synthetic import homography_matches
from lab.tests import toy
from tests.clusters import worker_processes

pytestmark = pytest.mark.slow


def load(path: Path) -> dict[str, Any]:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive if name != "seconds"}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_killed_worker_changes_no_result_of_many_files(
    bansac: Any, tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for k in range(60):
        pair = homography_matches(80 + k, inlier_ratio=0.4, noise=0.5, seed=k)
        np.savez(folder / f"{k}.npz", x1=pair.x1, x2=pair.x2, scores=np.linspace(0.9, 0.1, 80 + k))
    (folder / "torn.npz").write_text("no archive")
    command = ("estimate", folder, "--model", "H")
    local = bansac.json(*command, "--out", tmp_path / "local.npz", "--workers", "1")
    victims = worker_processes(cluster)
    add, added = batch.Journal.add, []

    def kill_after_some(journal: Any, unit: Any, *arguments: Any, **named: Any) -> None:
        added.append(unit.key)
        if len(added) == 5:
            os.kill(victims[0], signal.SIGKILL)
        add(journal, unit, *arguments, **named)

    monkeypatch.setattr(batch.Journal, "add", kill_after_some)
    remote = bansac.json(*command, "--out", tmp_path / "remote.npz", "--scheduler", cluster)
    assert remote | {"out": ""} == local | {"out": ""}
    assert len(added) == len(set(added)) == 61  # the pairs, and that they have been written
    expected = load(tmp_path / "local.npz")
    for name, values in load(tmp_path / "remote.npz").items():
        np.testing.assert_array_equal(values, expected[name])


def test_a_folder_of_images(bansac: Any, tmp_path: Path, cluster: str) -> None:
    pytest.importorskip("cv2", reason="matching images needs OpenCV")
    pair, folder = load_demo(), tmp_path / "images"
    folder.mkdir()
    for k, image in enumerate((pair.image1, pair.image2, pair.image2)):
        shutil.copy(image, folder / f"{k}.jpg")
    (folder / "torn.jpg").write_text("no image")
    settings = ("--model", "H", "--features", "500", "--max-size", "450")
    local = bansac.json("match", folder, *settings, "--out", tmp_path / "a" / "r.npz")
    remote = bansac.json("match", folder, *settings, "--out", tmp_path / "b" / "r.npz", "--scheduler", cluster)
    assert remote["failed"] == local["failed"]
    assert (remote["successes"], remote["new"]) == (3, 6)
    expected = load(tmp_path / "a" / "r.npz")
    for name, values in load(tmp_path / "b" / "r.npz").items():
        np.testing.assert_array_equal(values, expected[name])


def test_experiments(bansac: Any, tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bansac_lab.cli.experiments.find_experiment", lambda name: toy.make_toy())
    rows = {}
    for name, where in (("local", ()), ("remote", ("--scheduler", cluster))):
        bansac("experiments", "run", "toy", "--out", tmp_path / name, *where)
        with (tmp_path / name / "runs.csv").open(encoding="utf-8") as file:
            rows[name] = [row | {"seconds": ""} for row in csv.DictReader(file)]
    assert rows["remote"] == rows["local"]
    assert len(rows["local"]) == 12


def test_a_second_place_to_run_is_refused(bansac: Any, tmp_path: Path) -> None:
    command = ("experiments", "run", "main-table", "--data", tmp_path, "--scheduler", "host:1")
    assert "--workers does not go with" in bansac.refused(*command, "--workers", "2")
    assert "--scheduler is for many pairs" in bansac.refused(
        "estimate", tmp_path / "a.csv", "--model", "H", "--scheduler", "host:1"
    )
