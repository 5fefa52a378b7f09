"""Every experiment over image pairs, from end to end on small sets."""

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac import Network
from bansac.batch.output_files import OutputFolder
from bansac.engine.dbn import PAPER_CPT
from bansac_lab.experiments import find_experiment
from bansac_lab.experiments.grids import CPT_VARIATIONS
from bansac_lab.measurement import Setup
from bansac_lab.runner import RunSummary, run_experiment
from bansac_lab.tables import Table
from lab.tests.test_summary import ROWS_OF_HOMOGRAPHIES

# Rows with labels and columns of each table: (name of the table, models, rows a model, columns).
TABLES = {
    "markov-order": ("markov_order", "EF", 7, 3),
    "main-table": ("main_table", "EFH", None, 12),
    "classification-cpt": ("classification_cpt", "EF", 7, 6),
    "sampling-activation": ("sampling_activation", "EF", 7, 4),
    "stopping-criteria": ("stopping_criteria", "EF", 7, 6),
    "cpt-robustness": ("cpt_robustness", "EF", 13, 6),
    "readings": ("readings", "EF", 8, 21),
    "scoring": ("scoring", "EF", 7, 8),
}


def run(name: str, data: Path, out: Path, **changes: Any) -> RunSummary:
    settings: dict[str, Any] = {"data": data, "pairs": 1, "repeats": 1}
    return run_experiment(find_experiment(name), Setup(**settings | changes), OutputFolder(out))


def sections(table: Table) -> list[str]:
    return list(dict.fromkeys(row.section for row in table.rows))


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, sets: Path, tmp_path: Path) -> None:
    table_name, models, rows, columns = TABLES[name]
    outcome = run(name, sets, tmp_path)
    table = outcome.report.tables[table_name]
    if name == "main-table":
        methods = ("RANSAC", "NAPSAC", "P-NAPSAC", "PROSAC", "BANSAC", "P-BANSAC")
        assert table.columns == methods * 2
        assert table.groups == (("Without Local Optimization", 6), ("With Local Optimization", 6))
        labels = [row.labels[0] for row in table.rows]
        assert labels[:5] == [
            "Rotation mAA (5°)",
            "Rotation mAA (10°)",
            "Translation mAA (5°)",
            "Translation mAA (10°)",
            "Avg. execution time [ms]",
        ]
        assert labels[-6:-1] == ROWS_OF_HOMOGRAPHIES
    assert len(table.columns) == columns
    assert len(sections(table)) == len(models)
    if rows is not None:
        assert len(table.rows) == rows * len(models)
    assert all(isinstance(value, float) and value >= 0 for row in table.rows for value in row.values)
    with (tmp_path / "runs.csv").open(encoding="utf-8") as file:
        runs = list(csv.DictReader(file))
    assert {row["model"] for row in runs} == set(models)
    assert len({row["configuration"] for row in runs}) * (5 if models == "EFH" else 4) == len(runs)
    assert (tmp_path / f"{table_name}.md").read_text().startswith(table.title)
    assert json.loads((tmp_path / "run.json").read_text())["experiment"] == name
    assert any("room (1 pairs), yard (1 pairs); 1 repeats" in note for note in outcome.report.notes)
    if name == "stopping-criteria":
        assert table.stub == ("RANSAC", "SPRT", "PROSAC", "BANSAC")
        marks = ["".join("x" if label else "." for label in row.labels) for row in table.rows]
        assert marks == ["x...", ".x..", "..x.", "...x", "x..x", ".x.x", "..xx"] * 2
        assert all(row["stop_reason"] in [*row["stopping"].split("+"), "max_iterations"] for row in runs)


def test_leads_are_differences_of_the_main_table(sets: Path, tmp_path: Path) -> None:
    tables = run("main-table", sets, tmp_path, model="E", repeats=3).report.tables
    leads, main = tables["leads"], tables["main_table"]
    assert leads.columns == ("BANSAC", "P-BANSAC") * 4
    for row, of_main in zip(leads.rows, main.rows, strict=False):
        sign = -1 if "time" in row.labels[0] else 1
        values = [sign * float(value) for value in of_main.values]
        for place, lead in enumerate(row.values):
            start, ours = (6 if place >= 4 else 0), 4 + place % 2
            others = [k for k in range(6) if k != ours and (k < 4 or place % 4 >= 2)]
            expected = values[start + ours] - max(values[start + k] for k in others)
            assert lead.value == pytest.approx(expected, abs=1e-9)
            assert lead.error >= 0


def test_scenes(sets: Path, tmp_path: Path) -> None:
    table = run("per-scene", sets, tmp_path).report.tables["per_scene"]
    assert [row.labels for row in table.rows] == [("room",), ("yard",)] * 3
    assert len(table.columns) == 12
    assert [span for _, span in table.groups] == [6, 6]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "points"), [("fixed-iterations", 10), ("inlier-ratio", 6)])
def test_figures(name: str, points: int, sets: Path, tmp_path: Path) -> None:
    outcome = run(name, sets, tmp_path, sets=("room",))
    file = name.replace("-", "_")
    assert list(outcome.report.figures) == [file]
    assert (tmp_path / f"{file}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / f"{file}.svg").read_text()
    axes = outcome.report.figures[file].axes
    labels = ["Rotation error [°]", "Translation error [°]", "Avg. execution time [ms]"]
    assert [ax.get_ylabel() for ax in axes] == labels
    assert all(len(ax.lines) == 6 and len(ax.lines[0].get_xdata()) == points for ax in axes)
    table = outcome.report.tables[file]
    assert len(table.rows) == 6 * points
    with (tmp_path / "runs.csv").open(encoding="utf-8") as csv_file:
        runs = list(csv.DictReader(csv_file))
    assert {row["model"] for row in runs} == {"F"}
    if name == "fixed-iterations":
        assert all(row["iterations"] == row["fixed_iterations"] for row in runs), "nothing stops early"
        assert {row["stop_reason"] for row in runs} == {"max_iterations"}
    else:
        assert {row["max_ratio"] for row in runs} == {"0.82", "0.84", "0.86", "0.88", "0.9", "0.92"}


def test_entries_of_the_cpt_are_varied_one_at_a_time() -> None:
    changed: list[int] = []
    for configuration in CPT_VARIATIONS:
        network = configuration.settings.get("network", Network())
        if network.cpt != "default":
            difference = np.ravel(network.cpt) - np.ravel(PAPER_CPT[0])
            (where,) = np.flatnonzero(difference)
            assert round(abs(difference[where]), 9) in (0.05, 0.1)
            assert configuration.name.endswith(f": {np.ravel(network.cpt)[where]:g}")
            changed.append(int(where))
    assert sorted(changed) == [0, 0, 1, 1, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("name", [*TABLES, "per-scene", "fixed-iterations", "inlier-ratio"])
def test_experiments_reach_workers(name: str) -> None:
    experiment = find_experiment(name)
    again = pickle.loads(pickle.dumps(experiment))
    assert again.name == name
    names = [configuration.name for configuration in again.run_unit.__self__.methods]
    assert len(set(names)) == len(names)
