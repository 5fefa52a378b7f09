import json
from pathlib import Path
from typing import Any

import pytest

from bansac_lab.measurement import Setup
from bansac_lab.measurements.speed import calls, report
from bansac_lab.measurements.speed.report import tables_of
from lab.tests.pair_sets import write_homography_set, write_pose_set


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "SIZES", (30, 100))
    monkeypatch.setattr(calls, "_RATIOS", (0.5,))


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_speed_is_measured_and_shown(bansac: Any, tmp_path: Path) -> None:
    out = tmp_path / "reports" / "speed.json"
    options = ("--peers", "", "--seconds", "1e-3", "--max-points", "100", "--out", out)
    document = bansac.json("bench", "speed", *options)
    assert json.loads(out.read_text()) == document
    assert document["settings"] == {"peers": [], "seconds": 1e-3, "max_points": 100, "pairs": None}
    for kind in ("H", "F", "E"):
        assert document["solvers"][kind]["share_of_truth"] > 0.97
        for row in document["iterations"][kind].values():
            assert row["unverified_ns"] > 0
        assert set(document["sizes"][kind]["ten"]["ms"]["bansac"]) == {"30", "100"}
        assert min(document["draws"][kind].values()) > 0
    assert [row["target"] for row in document["targets"]] == [1.4, 1.4, 1.4, 0.05, 0.05, 0.05]
    assert list(tables_of(document))[-1] == "outliers"


def test_the_report_has_all_tables() -> None:
    document = json.loads((Path(__file__).parents[3] / "benchmarks" / "speed.json").read_text(encoding="utf-8"))
    titles = [table.title for table in tables_of(document).values()]
    for title in ("Targets", "1000 iterations over 2000 matches", "Minimal solvers", "Default options", "Real pairs"):
        assert any(shown.startswith(title) for shown in titles)


def test_a_folder_may_be_named_as_a_command(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_homography_set(tmp_path / "speed", pairs=1)
    options = ("--model", "H", "--methods", "uniform", "--repeats", "1")
    for arguments in (("./speed",), ("folders", "speed")):
        assert set(bansac.json("bench", *arguments, *options)["sets"]) == {"speed"}


@pytest.mark.slow
def test_real_pairs_are_measured(tmp_path: Path) -> None:
    write_pose_set(tmp_path / "EF" / "room", pairs=2)
    write_homography_set(tmp_path / "H" / "wall", pairs=2)
    write_homography_set(tmp_path / "H" / "exact_warp", pairs=2)
    found = report.pair_times(Setup(data=tmp_path, pairs=1), ())
    assert list(found) == ["E", "F", "H", "H exact"]
    assert found["F"]["default"]["AUC@10"] > 0.5
    assert all(figures["ms_median"] > 0 for methods in found.values() for figures in methods.values())
