import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import bansac as library
from bansac.batch.result_files import WRITERS
from bansac.batch.sources import find_sources
from bansac.cli.console import INTERRUPTED, NO_MODEL, TERMINATED
from bansac.executors import processes, short_items
from bansac.geometry import normalise_points
from bansac.matches import HlocPairs
from bansac.matches.match_files import read_matches
from bansac.synthetic import depth_matches, homography_matches
from lab.tests.pair_sets import write_homography_set, write_pose_set
from tests.arrays import read_arrays, write_arrays
from tests.processes import count_units, interruptible, wait_for_units


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with pairs in several forms, one of them noise and one broken."""
    folder = tmp_path / "pairs"
    (folder / "deep").mkdir(parents=True)
    for seed in range(3):
        pair = homography_matches(80 + seed, inlier_ratio=0.7, noise=0.1, seed=seed)
        np.savez(folder / f"{seed}.npz", x1=pair.x1, x2=pair.x2, scores=np.linspace(0.9, 0.1, 80 + seed))
        np.savetxt(folder / "deep" / f"{seed}.csv", np.hstack([pair.x1, pair.x2]), delimiter=",")
    np.savetxt(folder / "noise.csv", np.random.default_rng(0).uniform(0, 500, (60, 4)), delimiter=",")
    (folder / "torn.npz").write_text("no archive")
    (folder / "README.txt").write_text("not a pair")
    return folder


NAMES = ["0.npz", "1.npz", "2.npz", "deep/0.csv", "deep/1.csv", "deep/2.csv", "noise.csv", "torn.npz"]


def run(bansac: Any, file: Path, out: Path, *arguments: str, model: str = "H") -> Any:
    return bansac.json("estimate", file, "--model", model, "--out", out, *arguments)


@pytest.mark.parametrize("executor", [short_items, pytest.param(processes, marks=pytest.mark.slow)])
def test_every_pair_has_the_answer_that_it_has_alone(
    bansac: Any, folder: Path, executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bansac.cli.arguments.short_items", executor)
    out = folder / "results.npz"  # no pair itself
    summary = run(bansac, folder, out, "--workers", "2", "--seed", "4")
    assert (summary["pairs"], summary["new"], summary["successes"]) == (8, 8, 6)
    assert list(summary["failed"]) == ["torn.npz"]
    found = read_arrays(out)
    assert found["name"].tolist() == NAMES
    assert found["success"].tolist() == [True] * 6 + [False, False]
    for k, name in enumerate(NAMES[:-1]):
        pair = read_matches(folder / name)
        scores = {} if pair.scores is None else {"scores": pair.scores}
        alone = library.estimate_homography(pair.x1, pair.x2, seed=4, **scores)
        part = slice(found["offsets"][k], found["offsets"][k + 1])
        np.testing.assert_array_equal(found["model"][k], alone.model)
        np.testing.assert_array_equal(found["inliers"][part], alone.inliers)
        probabilities = np.full(len(pair), np.nan) if alone.probabilities is None else alone.probabilities
        np.testing.assert_array_equal(found["probabilities"][part], probabilities.astype(np.float32))
        for field in ("num_inliers", "iterations", "restarts", "stop_reason", "message", "threshold", "seed"):
            assert found[field][k] == getattr(alone, field)
    assert np.isnan(found["model"][-1]).all()
    assert "torn.npz: cannot be read" in found["message"][-1]
    assert found["num_data"][-1] == 0
    assert "R" not in found


def test_summary_for_readers(bansac: Any, folder: Path) -> None:
    shown = bansac("estimate", folder, "--model", "H", "--out", folder / "r.npz")
    assert "8 pairs, 8 of them new; 6 with a model, 1 without, 1 failed" in shown.stdout
    assert "torn.npz: cannot be read" in " ".join(shown.stderr.split())


def test_a_list_of_files(bansac: Any, folder: Path, tmp_path: Path) -> None:
    names = folder / "names.txt"
    names.write_text("# the good ones\n2.npz\n\ndeep/1.csv\nnowhere.csv\n")
    summary = run(bansac, names, tmp_path / "r.npz")
    assert read_arrays(tmp_path / "r.npz")["name"].tolist() == ["2.npz", "deep/1.csv", "nowhere.csv"]
    assert "no such file" in summary["failed"]["nowhere.csv"]
    assert run(bansac, folder / "1.npz", tmp_path / "one.npz")["successes"] == 1


def test_an_input_is_never_replaced(bansac: Any, folder: Path) -> None:
    (folder / "names.txt").write_text("1.npz")
    for source in (folder / "1.npz", folder / "names.txt", folder):
        refused = bansac.refused("estimate", source, "--model", "H", "--out", folder / "1.npz", "--overwrite")
        assert "1.npz is read, and the results would replace it" in refused


def test_groups_of_one_file(bansac: Any, folder: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.h5"
    with h5py.File(groups, "w") as file:
        for k in range(2):
            for name, array in read_arrays(folder / f"{k}.npz").items():
                file[f"room/{k}/{name}"] = array
        file["notes/remark"] = np.zeros(3)
    assert run(bansac, groups, tmp_path / "r.npz")["successes"] == 2
    found = read_arrays(tmp_path / "r.npz")
    assert found["name"].tolist() == ["room/0", "room/1"]
    alone = bansac.json("estimate", groups, "--pair", "room/1", "--model", "H")
    np.testing.assert_array_equal(found["model"][1], alone["parameters"])
    refused = bansac.refused("estimate", groups, "--model", "H")
    assert "has 2 pairs, the first is 'room/0': --pair chooses one" in refused
    assert "groups.h5: cannot be read" in bansac.refused("estimate", groups, "--pair", "hall", "--model", "H")


@pytest.mark.parametrize(("pair", "name"), [("1.npz", "1.npz"), ("0.csv", "deep/0.csv")])
def test_one_pair_of_a_folder(bansac: Any, folder: Path, tmp_path: Path, pair: str, name: str) -> None:
    assert run(bansac, folder, tmp_path / "r.npz", "--pair", pair)["pairs"] == 1
    assert read_arrays(tmp_path / "r.npz")["name"].tolist() == [name]


def test_sets_of_pairs_with_poses_and_with_homographies(bansac: Any, tmp_path: Path) -> None:
    write_pose_set(tmp_path / "data" / "room")
    summary = run(bansac, tmp_path / "data", tmp_path / "e.npz", "--threshold", "1", model="E")
    assert (summary["pairs"], summary["successes"], summary["failed"]) == (3, 3, {})
    found = read_arrays(tmp_path / "e.npz")
    assert found["name"].tolist() == [f"room/{k}a-{k}b" for k in range(3)]
    np.testing.assert_allclose(np.linalg.svd(found["model"])[1], [[1, 1, 0]] * 3, atol=1e-9)
    np.testing.assert_allclose(found["R"] @ found["R"].transpose(0, 2, 1), [np.eye(3)] * 3, atol=1e-9)
    assert found["t"].shape == (3, 3)
    command = ("estimate", tmp_path / "data" / "room", "--pair", "1a-1b", "--model", "E", "--threshold", "1")
    alone = bansac.json(*command)
    np.testing.assert_array_equal(found["R"][1], alone["R"])
    write_homography_set(tmp_path / "walls" / "wall")
    assert run(bansac, tmp_path / "walls", tmp_path / "h.npz")["successes"] == 3


@pytest.mark.filterwarnings("default")
def test_files_beside_sets_are_ignored_with_a_note(bansac: Any, folder: Path) -> None:
    write_pose_set(folder / "data" / "room")
    shown = bansac("estimate", folder, "--model", "F", "--out", folder / "r.npz")
    assert "3 pairs, 3 of them new" in shown.stdout
    assert f"8 other files are ignored, such as {folder / '0.npz'}" in shown.stderr
    (folder / "data" / "room" / "matches.h5").rename(folder / "plain.h5")
    assert "ignored" not in bansac("estimate", folder, "--model", "F", "--out", folder / "s.npz").stderr


def test_camera_matrices_for_all(bansac: Any, tmp_path: Path, scene: Any) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    np.savez(folder / "a.npz", x1=scene.x1, x2=scene.x2)
    (tmp_path / "K.json").write_text(json.dumps({"K": scene.K.tolist()}))
    calibrated = ("--calib", str(tmp_path / "K.json"), "--threshold", "1")
    assert run(bansac, folder, tmp_path / "r.npz", *calibrated, model="E")["successes"] == 1
    assert run(bansac, folder, tmp_path / "bare.npz", "--threshold", "1", model="E")["failed"] == {}
    lens = library.Camera.from_matrix(scene.K, [-0.1, 0.02, 0, 0])
    x1, x2 = (lens.project(normalise_points(scene.K, x)) for x in (scene.x1, scene.x2))
    np.savez(folder / "a.npz", x1=x1, x2=x2)
    (tmp_path / "K.json").write_text(json.dumps({"K": scene.K.tolist(), "distortion": [-0.1, 0.02, 0, 0]}))
    assert run(bansac, folder, tmp_path / "r.npz", *calibrated, "--overwrite", model="E")["successes"] == 1
    alone = library.estimate_relative_pose(x1, x2, lens, lens, threshold=1.0)
    np.testing.assert_array_equal(read_arrays(tmp_path / "r.npz")["R"][0], alone.model.R)


def test_depths_of_the_pairs(bansac: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    folder, scene = tmp_path / "pairs", depth_matches(80, 0.6, 0.5, 1)
    folder.mkdir()
    depths = {"depth1": scene.depth1, "depth2": np.where(scene.inliers, scene.depth2, np.nan)}
    both = {"x1": scene.x1, "x2": scene.x2, "K": scene.K}
    np.savez(folder / "bare.npz", **both)
    np.savez(folder / "deep.npz", **both, **depths)
    write_arrays(folder / "deep.h5", **both, **depths)
    np.savez(folder / "short.npz", **both, depth1=np.ones(3))
    expected = library.estimate_relative_pose(scene.x1, scene.x2, scene.K, **depths).model
    for suffix in WRITERS:
        summary = run(bansac, folder, tmp_path / f"e{suffix}", model="E")
        assert summary["failed"].keys() == {"short.npz"}
    found = read_arrays(tmp_path / "e.npz")
    np.testing.assert_array_equal(found["scale"], [np.nan, expected.scale, expected.scale, np.nan])
    np.testing.assert_array_equal(found["t"][1], expected.t)
    with h5py.File(tmp_path / "e.h5") as file:
        np.testing.assert_array_equal(file["scale"], found["scale"])
    np.testing.assert_array_equal(parquet.read_table(tmp_path / "e.parquet")["scale"].to_numpy(), found["scale"])
    run(bansac, folder, tmp_path / "f.npz", model="F")
    assert "scale" not in read_arrays(tmp_path / "f.npz")
    run(bansac, folder, tmp_path / "none.npz", "--no-depths", model="E")
    np.testing.assert_array_equal(read_arrays(tmp_path / "none.npz")["scale"], [np.nan] * 4)


def test_a_second_run_does_what_is_missing(bansac: Any, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    first = run(bansac, folder, out)
    before = read_arrays(out)
    again = run(bansac, folder, out)
    assert again == first | {"new": 1}  # the one that failed
    for name, values in read_arrays(out).items():
        np.testing.assert_array_equal(values, before[name])
    shutil.copy(folder / "0.npz", folder / "added.npz")
    shutil.copy(folder / "1.npz", folder / "torn.npz")
    changed = homography_matches(90, inlier_ratio=0.7, noise=0.1, seed=9)
    np.savez(folder / "2.npz", x1=changed.x1, x2=changed.x2)
    summary = run(bansac, folder, out)
    assert (summary["pairs"], summary["new"], summary["successes"], summary["failed"]) == (9, 3, 8, {})
    assert "nothing to do: all 9 pairs are done" in bansac("estimate", folder, "--model", "H", "--out", out).stderr
    assert read_arrays(out)["num_data"].tolist() == [80, 81, 90, 80, 80, 81, 82, 60, 81]
    assert run(bansac, folder, out, "--threshold", "2", "--overwrite")["new"] == 9
    assert run(bansac, folder, out)["new"] == 0


def test_an_interrupted_run_goes_on(bansac: Any, folder: Path, tmp_path: Path, interrupt: Any) -> None:
    whole, out = tmp_path / "whole.npz", tmp_path / "r.npz"
    run(bansac, folder, whole, "--workers", "1")
    with interrupt(3):
        stopped = bansac("estimate", folder, "--model", "H", "--out", out, code=INTERRUPTED)
    assert "finished work is kept" in stopped.stderr
    assert not out.exists()
    assert run(bansac, folder, out)["new"] == 5
    expected = read_arrays(whole)
    for name, values in read_arrays(out).items():
        if name != "seconds":
            np.testing.assert_array_equal(values, expected[name])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_signal_leaves_neither_locks_nor_temporary_files(
    bansac: Any, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder, out = tmp_path / "pairs", tmp_path / "out" / "results.npz"
    folder.mkdir()
    for k in range(12):
        np.savez(folder / f"{k:02}.npz", matches=np.random.default_rng(k).uniform(0, 500, (300, 4)))
    settings = ["--sampler", "uniform", "--max-iterations", "100000", "--workers", "2"]
    command = [sys.executable, "-m", "bansac", "estimate", folder, "--model", "F", "--out", out, *settings]
    with interruptible(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_units(out.with_suffix(".sqlite"), 2, process)
        process.send_signal(number)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == code, errors
    assert "finished work is kept" in errors
    assert [path.name for path in out.parent.iterdir()] == ["results.sqlite"]
    kept = count_units(out.with_suffix(".sqlite"))
    summary = bansac.json("estimate", folder, "--model", "F", "--out", out, *settings, code=NO_MODEL)
    assert (summary["pairs"], summary["new"]) == (12, 12 - kept)
    assert kept >= 2


def test_parquet_without_pyarrow_says_what_to_install(
    bansac: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = bansac.refused("estimate", folder, "--model", "H", "--out", tmp_path / "r.parquet")
    assert "pip install pyarrow" in found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{folder} --model H", "--out must name a file *.npz, *.parquet or *.h5"),
        ("{folder} --model H --out {folder}/out", "--out must name a file *.npz, *.parquet or *.h5"),
        ("{folder} --model line --out {folder}/r.npz", "--model line takes one file, and --out *.npz is for many"),
        ("{folder}/0.npz --model H --multiple --out {folder}/r.h5", "takes one file, and --out *.h5 is for many pairs"),
        ("{folder} --model H --degree 2 --out {folder}/r.npz", "--degree does not go with --model H"),
        ("{folder} --model H --pair 7.npz --out {folder}/r.npz", "has no pair '7.npz'; --pair takes one of 8"),
        ("{folder} --model H --pair npz --out {folder}/r.npz", "has no pair 'npz'"),
        ("{folder} --model H --pair t.csv --out {folder}/r.npz", "has several pairs 't.csv'"),
        ("{folder} --model H --workers 0 --out {folder}/r.npz", "workers must be an integer >= 1"),
        ("{folder}/0.npz --model H --workers 2", "--workers is for many pairs"),
        ("{folder}/none --model H --out {folder}/r.npz", "none: there is no such file or folder"),
        ("{folder}/empty --model H --out {folder}/r.npz", "empty: holds no pairs"),
        ("{folder} --model H --out {folder}/taken.npz", "taken.npz': is a folder"),
        ("{folder} --model H --out {folder}/0.npz/r.npz", "--out: cannot write"),
    ],
)
def test_bad_argument_is_named(bansac: Any, folder: Path, arguments: str, message: str) -> None:
    (folder / "empty").mkdir()
    (folder / "taken.npz").mkdir()
    for name in "ab" if "t.csv" in arguments else "":
        (folder / name).mkdir()
        (folder / name / "t.csv").write_text("")
    assert message in bansac.refused("estimate", *(argument.format(folder=folder) for argument in arguments.split()))


def test_matches_of_hloc(bansac: Any, tmp_path: Path) -> None:
    features, matches = tmp_path / "features.h5", tmp_path / "matches.h5"
    plane = homography_matches(80, inlier_ratio=0.7, noise=0.1, seed=0)
    scores = np.linspace(0.9, 0.1, 80)
    with h5py.File(features, "w") as file:
        file["a/1.jpg/keypoints"], file["2.jpg/keypoints"], file["3.jpg/keypoints"] = plane.x1, plane.x2, plane.x1[:5]
    with h5py.File(matches, "w") as file:
        file["a-1.jpg/2.jpg/matches0"], file["a-1.jpg/2.jpg/matching_scores0"] = np.arange(80), scores
        file["a-1.jpg/3.jpg/matches0"] = np.where(np.arange(80) < 3, np.arange(80), -1)
    out = tmp_path / "verified.h5"
    summary = run(bansac, matches, out, "--features", str(features))
    assert (summary["pairs"], summary["successes"], summary["failed"]) == (2, 1, {})
    alone = library.estimate_homography(plane.x1, plane.x2, scores=scores)
    verified = HlocPairs(features, out)
    assert len(verified.pair("a/1.jpg 3.jpg")) == 0
    np.testing.assert_array_equal(verified.pair("a/1.jpg 2.jpg").x1, plane.x1[alone.inliers])
    assert run(bansac, matches, tmp_path / "all.npz", "--features", str(features))["pairs"] == 2
    with h5py.File(features, "a") as file:
        del file["3.jpg"]
    summary = run(bansac, matches, tmp_path / "fewer.h5", "--features", str(features))
    assert (summary["successes"], list(summary["failed"])) == (1, ["a/1.jpg 3.jpg"])
    assert read_arrays(tmp_path / "all.npz")["name"].tolist() == ["a/1.jpg 2.jpg", "a/1.jpg 3.jpg"]
    refused = bansac.refused("estimate", matches, "--model", "H", "--features", features, "--out", matches)
    assert "matches.h5 is read, and the results would replace it" in refused


def test_only_a_file_of_the_same_run_is_replaced_unless_that_is_asked_for(
    bansac: Any, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine.npz"
    np.savez(out, precious=np.arange(5))
    refused = bansac.refused("estimate", folder, "--model", "H", "--out", out)
    assert "mine.npz is there already, and was not written by a run with this input and these settings" in refused
    assert read_arrays(out)["precious"].sum() == 10
    assert not out.with_suffix(".sqlite").exists()
    assert run(bansac, folder, out, "--overwrite")["new"] == 8
    assert run(bansac, folder, out)["new"] == 1  # the broken one is tried again
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.npz").write_text("no archive")
    for _ in range(2):  # nothing but failures: nothing is in the journal but that it was written
        none = ("estimate", tmp_path / "broken", "--model", "H", "--out", tmp_path / "none.npz")
        assert bansac.json(*none, code=1)["failed"]
    before = out.read_bytes()
    other, copies = tmp_path / "mine.parquet", tmp_path / "copies"
    shutil.copytree(folder, copies)
    refused = bansac.refused("estimate", copies, "--model", "H", "--out", out)
    assert "mine.npz is there already" in refused
    assert run(bansac, copies, other)["pairs"] == 8  # with the same journal
    assert "mine.parquet is there already" in bansac.refused("estimate", folder, "--model", "H", "--out", other)
    assert "--overwrite" in bansac.refused("estimate", folder, "--model", "H", "--seed", "5", "--out", out)
    assert out.read_bytes() == before
    assert run(bansac, folder, out, "--seed", "5", "--overwrite")["new"] == 8
    assert set(read_arrays(out)["seed"][:-1]) == {5}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have only names in Unicode")
def test_a_name_that_is_not_utf8_is_written_with_its_bytes(bansac: Any, folder: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    shutil.copy(folder / "0.npz", odd / os.fsdecode(b"a\xff.npz"))
    shutil.copy(folder / "torn.npz", odd / os.fsdecode(b"torn\xfe.npz"))
    for suffix in ("npz", "h5"):
        summary = run(bansac, odd, tmp_path / f"r.{suffix}")
        assert (summary["pairs"], summary["successes"]) == (2, 1)
        assert list(summary["failed"]) == ["torn\\udcfe.npz"]
    assert read_arrays(tmp_path / "r.npz")["name"].tolist() == ["a\\udcff.npz", "torn\\udcfe.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows links to administrators only")
def test_a_link_to_itself_is_a_failed_pair_and_no_output(bansac: Any, folder: Path, tmp_path: Path) -> None:
    loops = [folder / "loop.csv", tmp_path / "loop.npz"]
    for loop in loops:
        loop.symlink_to(loop.name)
    for _ in range(2):  # with and without a journal
        failed = run(bansac, folder, tmp_path / "r.npz")["failed"]
        assert "loop.csv" in failed["loop.csv"]
    command = ("estimate", folder, "--model", "H", "--out")
    assert f"--out: cannot write '{loops[1]}': Too many levels" in bansac.refused(*command, loops[1])
    for command in (["estimate", loops[0]], ["estimate", loops[0], "--pair", "a"], ["match", loops[0], loops[0]]):
        assert "loop.csv" in bansac.refused(*command, "--model", "H", "--out", tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_named_pipes_in_a_folder_are_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    assert "pipe.csv" not in [source.name for source in find_sources(folder, folder / "r.npz")]
    (folder / "link.csv").symlink_to("nowhere")
    assert "link.csv" in [source.name for source in find_sources(folder, folder / "r.npz")]
