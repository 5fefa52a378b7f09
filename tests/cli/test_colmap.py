"""bansac colmap verify: the summary, the JSON document, bad input, an interrupted run."""

import contextlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from bansac.cli import colmap as cli
from bansac.cli.console import INTERRUPTED
from bansac.colmap import VerificationOptions, VerificationSummary
from bansac.synthetic import epipolar_matches

pycolmap = pytest.importorskip("pycolmap", reason="pycolmap, of the extra colmap, is not installed")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a [red] base.db"
    settings = pycolmap.SyntheticDatasetOptions(num_rigs=1, num_frames_per_rig=4, num_points3D=80)
    pycolmap.set_random_seed(1)
    with pycolmap.Database.open(path) as opened:
        pycolmap.synthesize_dataset(settings, opened)
        opened.clear_two_view_geometries()
    return path


def test_summary_and_second_run(bansac: Any, database: Path) -> None:
    document = bansac.json("colmap", "verify", database, "--workers", "1")
    assert document.pop("seconds") > 0
    confidence = document.pop("model_confidence")
    assert len(confidence) == 6
    assert min(confidence.values()) > 0.5
    assert document == {
        "database": str(database),
        "pairs": 6,
        "new": 6,
        "inlier_matches": 480,
        "configurations": {"uncalibrated": 6},
        "ambiguous": [],
        "failures": {},
    }
    again = bansac("colmap", "verify", database)
    assert "a [red] base.db: 6 pairs with matches, all of them verified before" in again.stdout
    assert "nothing to do: all 6 pairs are done already" in again.stderr
    anew = bansac("colmap", "verify", database, "--overwrite")
    assert "6 of them new" in anew.stdout
    assert "6 uncalibrated; 480 inlier matches, 0 ambiguous, 0 failed" in anew.stdout


@pytest.mark.slow
def test_a_cluster_writes_the_same_geometries(bansac: Any, database: Path, cluster: str) -> None:
    other = database.with_name("other.db")
    shutil.copy(database, other)
    bansac("colmap", "verify", database)
    assert bansac.json("colmap", "verify", other, "--scheduler", cluster)["new"] == 6
    rows = []
    for path in (database, other):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            rows.append(connection.execute("SELECT * FROM two_view_geometries ORDER BY pair_id").fetchall())
    assert rows[0] == rows[1]


def test_options_and_failures(bansac: Any, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def verify(path: Path, **arguments: Any) -> VerificationSummary:
        given.update(arguments, path=path)
        return VerificationSummary(9, failures={"no [camera]": [f"{k} - 9" for k in range(7)]})

    monkeypatch.setattr(cli, "verify_database", verify)
    settings = ["--max-error", "2", "--min-num-inliers", "30", "--model-selection", "bansac", "--seed", "5"]
    settings.append("--multiple")
    shown = bansac("colmap", "verify", database, *settings, "--workers", "3")
    expected = VerificationOptions(
        max_error=2.0, min_num_inliers=30, model_selection="bansac", multiple_models=True, seed=5
    )
    assert (given["options"], given["workers"], given["overwrite"]) == (expected, 3, False)
    assert "7 failed: no [camera]: 0 - 9, 1 - 9, 2 - 9, 3 - 9, 4 - 9 and 2 more" in shown.stderr
    assert "9 pairs with matches, 0 of them new in 0.0 s; 0 inlier matches, 0 ambiguous, 7 failed" in shown.stdout


def test_bad_input(bansac: Any, tmp_path: Path) -> None:
    assert "max_error must be a number > 0" in bansac.refused("colmap", "verify", tmp_path, "--max-error", "0")


def test_ctrl_c_keeps_what_is_done(bansac: Any, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(*_: Any, **__: Any) -> VerificationSummary:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "verify_database", verify)
    for more, continuing in (((), "the same command"), (("--overwrite",), "the command without --overwrite")):
        stopped = bansac("colmap", "verify", database, *more, code=INTERRUPTED)
        assert f"finished work is kept; {continuing} continues it" in stopped.stderr


@pytest.mark.slow
def test_the_command_line_starts_without_pycolmap() -> None:
    program = "import sys; sys.modules['pycolmap'] = None; import bansac.cli.app"
    subprocess.run([sys.executable, "-c", program], check=True)


def write_images(folder: Path) -> None:
    settings = pycolmap.SyntheticDatasetOptions(num_rigs=1, num_frames_per_rig=3, num_points3D=50)
    pycolmap.set_random_seed(1)
    with pycolmap.Database.open(folder / "truth.db") as truth:
        model = pycolmap.synthesize_dataset(settings, truth)
    (folder / "images").mkdir()
    pycolmap.synthesize_images(pycolmap.SyntheticImageOptions(), model, folder / "images")


def write_hloc(folder: Path) -> None:
    scene = epipolar_matches(100, inlier_ratio=0.7, noise=0.1, seed=1)
    with h5py.File(folder / "features.h5", "w") as features, h5py.File(folder / "matches.h5", "w") as matches:
        features["1.jpg/keypoints"], features["2.jpg/keypoints"] = scene.x1, scene.x2
        matches["1.jpg/2.jpg/matches0"] = np.arange(100)
        matches["1.jpg/2.jpg/matching_scores0"] = np.full(100, 0.5, np.float16)


@pytest.mark.slow
def test_the_page_on_colmap_runs(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    page, *_ = (Path(__file__).parents[2] / "docs/colmap.md").read_text(encoding="utf-8").split("## Dense matchers")
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path)
    write_hloc(tmp_path)
    for language, block in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        if language == "python":
            exec(compile(block, "docs/colmap.md", "exec"), {})
        else:
            for line in block.splitlines():
                if line.startswith("bansac"):
                    bansac(*shlex.split(line)[1:])
    printed = capsys.readouterr().out
    assert "3 images, " in printed
    assert "{'uncalibrated': 3} {}" in printed
    with h5py.File(tmp_path / "verified.h5") as verified:
        assert 65 <= np.count_nonzero(verified["1.jpg/2.jpg/matches0"][()] >= 0) <= 80
