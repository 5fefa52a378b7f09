"""The verdicts of docs/reproduction.md follow the committed tables, and these have what they need and no more."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from reproduction import claims, evidence
from reproduction.claim import CLAIMS, above, first, verdict
from reproduction.evidence import RUNS
from reproduction.main_claims import bansac_first

from bansac.lab.experiments import EXPERIMENTS

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
NAMES = sorted(path.parent.name for path in RUNS.glob("*/run.json"))


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that changes a value of a copy of the tables."""
    shutil.copytree(RUNS, tmp_path / "runs")
    monkeypatch.setattr(evidence, "RUNS", tmp_path / "runs")

    def change(run: str, label: str, place: int, value: float) -> None:
        path = tmp_path / "runs" / run / f"{evidence.file_of(run)}.json"
        document = json.loads(path.read_text())
        next(row for row in document["rows"] if row.get("labels") == [label])["values"][place] = value
        path.write_text(json.dumps(document))
        evidence.load.cache_clear()

    evidence.load.cache_clear()
    yield change
    evidence.load.cache_clear()


def test_verdicts() -> None:
    assert [verdict(held, 4) for held in (4, 3, 1, 0)] == ["yes", "in part", "in part", "no"]
    assert first({"a": 0.5004, "b": 0.4996, "c": 0.4}) == {"a", "b"}, "level with three digits"
    assert first({"a": 0.5, "b": 0.4}, lowest=True) == {"b"}
    row = dict.fromkeys(evidence.METHODS, 0.5) | {"BANSAC": 0.6, "P-BANSAC": 0.5}
    assert above(row, "BANSAC")
    assert not above(row, "P-BANSAC")
    assert not above(row, "BANSAC", lowest=True)


def test_a_verdict_follows_the_table(copy: Any) -> None:
    _, before, held = bansac_first()
    assert (held, before[:18]) == ("yes", "first in 8 of 8 ro")
    prosac = evidence.METHODS.index("PROSAC")
    copy("main-table", "Rotation mAA (5°)", prosac, 0.999)  # the first row of this label is that of E
    _, after, held = bansac_first()
    assert (held, after[:18]) == ("in part", "first in 7 of 8 ro")
    assert before not in claims.claims()


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
            assert (RUNS / run / f"{claim.table_name or evidence.file_of(run)}.json").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_small_complete_and_names_no_machine(name: str) -> None:
    document = evidence.settings(name)
    assert document["experiment"] in EXPERIMENTS
    assert document["failed"] == {}
    assert evidence.command(name).startswith(f"bansac experiments run {document['experiment']}")
    files = sorted((RUNS / name).iterdir())
    assert len(files) > 1
    for path in files:
        assert path.suffix == ".json"
        assert path.stat().st_size < 50_000
        assert not re.search(r'"(/|\w:\\)', path.read_text(encoding="utf-8")), f"{path} has the path of a machine"


def test_a_command_has_the_settings_of_its_run() -> None:
    exact = "bansac experiments run main-table --data H --model H --sets exact_warp --max-ratio 0.95"
    assert evidence.command("main-table-exact") == exact
    assert evidence.command("synthetic") == "bansac experiments run synthetic"


def test_every_experiment_has_been_run() -> None:
    assert {evidence.settings(name)["experiment"] for name in NAMES} == set(EXPERIMENTS)


def test_unknown_rows_and_columns_are_named() -> None:
    with pytest.raises(KeyError, match=r"0 rows .*'Speed' and 1 columns"):
        evidence.table("main-table").value("Speed", "BANSAC", section="Calibrated", group="With Local")
