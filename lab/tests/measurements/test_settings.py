"""Short forms of the measurements of the default's settings, of many pairs, and of the time around the estimation."""

from pathlib import Path

import pytest

from bansac_lab.measurement import Setup, Unit
from bansac_lab.measurements import cluster, latency
from lab.tests.measurements.short_form import run
from lab.tests.pair_sets import write_homography_set, write_pose_set


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sets that the measurements name."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("room", "yard", "middlebury_dino"):
        write_pose_set(folder / "EF" / name, pairs=2)
    write_homography_set(folder / "H" / "exact_warp", pairs=2)
    return folder


def test_ablation_compares_every_variant_with_the_default(data: Path) -> None:
    document, tables = run("ablation", data=data, problems=("F",), pairs=2, repeats=1)
    variants = document["problems"]["F"]["variants"]
    assert variants["default"]["difference"] == 0
    assert list(variants["default"]["sets"]) == ["room", "yard"]
    assert document["problems"]["F"]["protocol"]["repeats"] == 1
    assert tables["ablation"].startswith("|  | F, AUC@10 |\n| --- | --- |\n| default | ")


def test_thresholds_of_the_warped_photographs(data: Path) -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("poselib")
    document, tables = run("thresholds", data=data, models=("exact_warp",), pairs=1, repeats=1)
    assert document["groups"]["exact_warp"]["units"] == 1
    assert tables["best-thresholds"].startswith("| method | H, warped photographs |")


def test_many_pairs_without_peers(data: Path) -> None:
    options = {"models": ("F",), "peers": (), "times": 1, "rounds": 1, "memory": (3,)}
    document, tables = run("many", data=data, **options)
    assert document["pairs"] == 4
    assert list(document["models"]["F"]) == ["bansac", "bansac, processes", "compiled loop"]
    assert list(document["peak_memory_mb"]) == ["3"]
    assert tables["many-pairs"].startswith("| pairs a second | 1 worker | 2 workers |")


def test_costs_of_a_cluster_are_those_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(ValueError, match="set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1"):
        cluster.units(Setup())


def test_imports_are_timed() -> None:
    rows = latency.run_unit(Setup(runs=1), Unit("imports", ("imports",)))
    assert [row["figure"] for row in rows] == [*latency.STATEMENTS["imports"]]
    assert all(0 < row["cpu_seconds"] for row in rows)


def test_a_time_over_its_budget_is_a_failure() -> None:
    names = [name for group in ("warm", "cold") for name in latency.STATEMENTS[group]]
    figures = dict.fromkeys([*latency.STATEMENTS["imports"], *names], (1.0, 2.0)) | {"first call ever H": (9.0, 9.0)}
    rows = [{"figure": name, "seconds": wall, "cpu_seconds": cpu} for name, (wall, cpu) in figures.items()]
    report = latency.report(Setup(runs=1), rows)
    assert report.failures == ["first call ever H: 9.000 s, more than 5.5 s (cpu_seconds)"]
    assert report.records["seconds"]["import bansac, more than import numpy"] == 0
