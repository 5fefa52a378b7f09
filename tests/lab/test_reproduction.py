"""The verdicts of docs/reproduction.md follow the committed tables, and these have what they need and no more."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac.lab.experiments import EXPERIMENTS, find_experiment
from bansac.lab.measurement import Setup
from bansac.lab.reports import load
from bansac.lab.reproduction import claims, runs
from bansac.lab.reproduction.claim import CLAIMS, above, first, verdict
from bansac.lab.reproduction.main_claims import bansac_over_baselines

# Every table and figure of the paper and its supplement with results or settings in it.
LABELS = (
    "fig:teaser",
    "table:ablation_markov_assumptions",
    "fig:ablation_fixed_iters",
    "fig:ablation_inlier_rates",
    "tab:results_E_F_H_LO",
    "fig:prob_update_fundamental",
    "tab:photoTourism_results",
    "fig:results_synthetic_data",
    "fig:curve_fitting_example",
    "tab:prob_C",
    "table:ablation_classification_CPT",
    "tab:cpt_2nd_markov",
    "tab:cpt_3rd_markov",
    "table:ablation_sampling",
    "tab:stopping_criteria",
)
RUNS = Path(__file__).parents[2] / "benchmarks" / "experiments"
NAMES = sorted(path.parent.name for path in RUNS.glob("*/run.json"))


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that changes a value of a copy of the tables."""
    copied = tmp_path / "benchmarks" / "experiments"
    shutil.copytree(RUNS, copied)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)

    def change(run: str, name: str, label: str, place: int, value: Any) -> None:
        path = copied / run / f"{name}.json"
        document = json.loads(path.read_text())
        next(row for row in document["rows"] if row.get("labels") == [label])["values"][place] = value
        path.write_text(json.dumps(document))
        load.cache_clear()

    return change


def test_verdicts() -> None:
    assert [verdict(held, 4) for held in (4, 3, 1, 0)] == ["yes", "in part", "in part", "no"]
    assert first({"a": 0.5004, "b": 0.4996, "c": 0.4}) == {"a", "b"}, "level with three digits"
    assert first({"a": 0.5, "b": 0.4}, lowest=True) == {"b"}
    row = dict.fromkeys(runs.METHODS, 0.5) | {"BANSAC": 0.6, "P-BANSAC": 0.5}
    assert above(row, "BANSAC")
    assert not above(row, "P-BANSAC")
    assert not above(row, "BANSAC", lowest=True)


def test_a_verdict_follows_the_table(copy: Any) -> None:
    def change(lead: float) -> tuple[str, str]:
        for label in runs.RATES:
            for place in range(8):
                copy("main-table", "leads", label, place, {"value": lead, "error": 0.01})  # the first row is that of E
        _, said, held = bansac_over_baselines()
        assert said in claims.claims()
        return said, held

    said, _ = change(0.02)
    assert said.startswith("ahead in 8 of 8") or "behind" in said
    said, held = change(0.005)  # within the interval
    assert held != "yes"
    said, held = change(-0.02)
    assert held != "yes"
    assert "behind in" in said


def test_a_lead_within_its_interval_is_none() -> None:
    assert runs.Lead(0.02, 0.01).holds
    assert not runs.Lead(0.005, 0.01).holds
    assert not runs.Lead(0.005, 0.01).fails
    assert runs.Lead(-0.02, 0.01).fails


@pytest.mark.parametrize("label", LABELS)
def test_every_table_and_figure_of_the_paper_has_a_claim(label: str) -> None:
    assert any(label in re.split(r", ", claim.place) for claim in CLAIMS)


def test_every_claim_has_figures_and_tables() -> None:
    for claim in CLAIMS:
        of_paper, ours, holds = claim.judge()
        assert holds in ("yes", "in part", "no")
        assert re.search(r"\d", ours), claim.words
        assert re.search(r"\d", of_paper) or "figure" in of_paper or "settings" in of_paper, claim.words
        for run in claim.runs:
            assert (RUNS / run / f"{claim.table_name or runs.file_of(run)}.json").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_small_complete_and_names_no_machine(name: str) -> None:
    document = runs.settings(name)
    assert document["experiment"] in EXPERIMENTS
    assert document["failed"] == {}
    assert runs.command(name).startswith(f"bansac experiments run {document['experiment']}")
    files = sorted((RUNS / name).iterdir())
    assert len(files) > 1
    for path in files:
        if path.name == "errors.npz":
            continue
        assert path.suffix == ".json"
        assert path.stat().st_size < 50_000
        assert not re.search(r'"(/|\w:\\)', path.read_text(encoding="utf-8")), f"{path} has the path of a machine"


def test_a_command_has_the_settings_of_its_run() -> None:
    exact = "bansac experiments run main-table --data H --model H --sets exact_warp --max-ratio 0.95"
    assert runs.command("main-table-exact") == exact
    assert runs.command("synthetic") == "bansac experiments run synthetic"


def test_every_experiment_has_been_run() -> None:
    assert {runs.settings(name)["experiment"] for name in NAMES} == set(EXPERIMENTS)


def test_unknown_rows_and_columns_are_named() -> None:
    with pytest.raises(KeyError, match=r"0 rows .*'Speed' and 1 columns"):
        runs.table("main-table").value("Speed", "BANSAC", section="Calibrated", group="With Local")


@pytest.mark.skipif("BANSAC_DATA" not in os.environ, reason="set BANSAC_DATA to the folder with the sets of the runs")
@pytest.mark.parametrize("name", sorted(path.parent.name for path in RUNS.glob("*/errors.npz")))
def test_a_sample_of_pairs_has_the_stored_errors(name: str) -> None:
    stored = np.load(RUNS / name / "errors.npz")
    document = runs.settings(name)
    settings = document["settings"] | {"data": Path(os.environ["BANSAC_DATA"], document["settings"]["data"])}
    experiment, setup = find_experiment(document["experiment"]), Setup(**settings)
    units = experiment.units(setup)
    compared = 0
    for unit in units[:: len(units) // 7]:
        for row in experiment.run_unit(setup, unit):
            texts = {column: str(row[column]) for column in ("model", "set", "pair", "configuration")}
            of_run = stored["repeat"] == row["repeat"]
            for column, text in texts.items():
                of_run &= stored[f"{column}_values"][stored[column]] == text
            (place,) = np.flatnonzero(of_run)
            assert stored["iterations"][place] == row["iterations"], texts
            for error in ("rotation_error", "translation_error", "corner_error"):
                if row.get(error) is not None:
                    assert stored[error][place] == np.float32(row[error]), texts
                    compared += 1
    assert compared > 20
