import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import pytest

from bansac_lab.cli import experiments
from bansac_lab.experiments import EXPERIMENTS
from lab.tests.pair_sets import remove_entry, write_homography_set, write_pose_set
from tests.processes import ENVIRONMENT, count_units, interruptible, wait_for_units


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_pose_set(folder / "room", pairs=2)
    write_homography_set(folder / "wall", pairs=2)
    return folder


def runs(out: Path) -> list[dict[str, str]]:
    """Return the rows of runs.csv without their times."""
    with (out / "runs.csv").open(encoding="utf-8") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def test_list_names_all_experiments(bansac: Any) -> None:
    shown = bansac("experiments", "list").stdout
    for name in EXPERIMENTS:
        assert name in shown.splitlines()
    assert "tab:results_E_F_H_LO" in shown
    assert "needs --data" in shown
    assert shown.count("; takes --data") == 1  # probability-evolution


def test_run(bansac: Any, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = bansac("experiments", "run", "markov-order", "--data", sets, "--pairs", "1", "--repeats", "1", "--out", out)
    assert "| Rotation mAA (5°) ↑" in shown.stdout
    assert "room (1 pairs); 1 repeats" in shown.stdout
    assert "markov_order.md" in shown.stdout
    document = json.loads((out / "run.json").read_text())
    assert document["settings"] == {
        "data": str(sets),
        "model": None,
        "pairs": 1,
        "repeats": 1,
        "seed": 0,
        "sets": [],
        "exclude": [],
        "extra": {},
    }
    assert {row["model"] for row in runs(out)} == {"E", "F"}
    assert len(runs(out)) == 2 * 3


def test_all_runs_what_has_data_and_resumes(bansac: Any, sets: Path, tmp_path: Path, monkeypatch: Any) -> None:
    names = ("markov-order", "curve-example")
    monkeypatch.setattr(experiments, "EXPERIMENTS", dict.fromkeys(names))
    command = ["experiments", "run", "all", "--data", sets, "--pairs", "1", "--repeats", "1", "--out", tmp_path]
    shown = bansac(*command).stdout
    assert "markov-order: 0." in shown
    assert "curve-example: 0." in shown
    first = {name: runs(tmp_path / name) for name in ("markov-order", "curve-example")}
    bansac(*command)
    assert {name: runs(tmp_path / name) for name in first} == first
    command[4:] = [sets / "wall", "--out", tmp_path / "planes"]
    assert "markov-order: left out, --data: --model E, F needs sets with poses as truth" in bansac(*command).stdout


def test_settings_reach_the_experiment(bansac: Any, sets: Path, tmp_path: Path) -> None:
    bansac(
        *("experiments", "run", "markov-order", "--data", sets, "--out", tmp_path, "--model", "F", "--seed", "5"),
        *("--repeats", "2", "--sets", "room", "--max-ratio", "0.5"),
    )
    rows = runs(tmp_path)
    assert {row["model"] for row in rows} == {"F"}
    assert {row["seed"] for row in rows} == {"5", "6"}
    assert all(int(row["matches"]) < 120 for row in rows)


def test_default_folder(bansac: Any, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bansac("experiments", "run", "markov-order", "--data", sets, "--pairs", "1", "--repeats", "1", "--model", "E")
    assert (tmp_path / "bansac-experiments" / "markov-order" / "run.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown experiment 'nothing'; the experiments are markov-order"),
        (["main-table"], "--data must name a folder with sets of pairs"),
        (["main-table", "--data", "nowhere"], "there is no folder nowhere"),
        (["main-table", "--data", "SETS", "--pairs", "0"], "pairs must be at least 1, got 0"),
        (["main-table", "--data", "SETS", "--workers", "0"], "workers must be at least 1, got 0"),
        (["main-table", "--data", "SETS", "--seed", "-1"], "seed must be in"),
        (["main-table", "--data", "SETS", "--sets", "cellar"], "there is no set 'cellar'; there are room, wall"),
        (["main-table", "--data", "SETS", "--exclude", "room,wall"], "--exclude leaves none"),
        (["synthetic", "--data", "SETS"], "--data: synthetic takes no such option"),
        (["markov-order", "--data", "SETS", "--model", "H"], "model must be among E, F; got 'H'"),
        (["markov-order", "--data", "SETS", "--max-ratio", "0.22"], "the data hold too little"),
    ],
)
def test_bad_argument_is_named(bansac: Any, sets: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [str(sets) if argument == "SETS" else argument for argument in arguments]
    assert message in bansac.refused("experiments", "run", *given, "--out", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_damaged_pair_is_reported_and_the_others_run(bansac: Any, tmp_path: Path, workers: int) -> None:
    folder, out = write_pose_set(tmp_path / "sets" / "cellar", pairs=2), tmp_path / "out"
    cameras = remove_entry(folder / "K1_K2.h5", "0a-0b")
    run = ("experiments", "run", "markov-order", "--data", tmp_path / "sets", "--model", "F", "--repeats", "1")
    shown = bansac(*run, "--workers", str(workers), "--out", out, code=1)
    assert "unit F/cellar/0a-0b/0 failed: " in shown.stdout
    assert "K1_K2.h5 lacks '0a-0b'" in shown.stdout
    assert "1 units have failed; the same command tries them again" in shown.stderr
    assert {row["pair"] for row in runs(out)} == {"1a-1b"}
    with h5py.File(folder / "K1_K2.h5", "a") as file:
        file["0a-0b"] = cameras
    bansac(*run, "--out", out)
    assert {row["pair"] for row in runs(out)} == {"0a-0b", "1a-1b"}


def test_bad_folder_is_named(bansac: Any, sets: Path, tmp_path: Path, blocked: Path) -> None:
    run = ("experiments", "run", "markov-order", "--data", sets, "--out")
    assert "--out: cannot write into" in bansac.refused(*run, blocked)
    assert "--out: cannot write into" in bansac.refused(*run, sets / "room" / "matches.h5")
    write_pose_set(tmp_path / "damaged" / "room", pairs=1)
    broken = tmp_path / "damaged" / "room" / "R.h5"
    broken.write_bytes(broken.read_bytes()[:1000])
    assert "R.h5" in bansac.refused(
        "experiments", "run", "markov-order", "--data", tmp_path / "damaged", "--out", tmp_path
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT there")
def test_ctrl_c_ends_the_workers_and_keeps_their_units(sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "interrupted"
    arguments = ["main-table", "--data", sets, "--out", out, "--repeats", "20", "--workers", "2"]
    command = [sys.executable, "-m", "bansac", "experiments", "run", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interruptible(command, start_new_session=True, **pipes, env=ENVIRONMENT) as process:
        wait_for_units(out / "journal.sqlite", 10, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers too
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert count_units(out / "journal.sqlite") >= 10
