"""The verdicts of docs/reproduction.md follow the committed tables, and these have what they need and no more."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from bansac.engine.dbn import PAPER_CPT
from bansac_lab.experiments import EXPERIMENTS, find_experiment
from bansac_lab.measurement import Setup
from bansac_lab.reports import load
from bansac_lab.reproduction import claims, runs
from bansac_lab.reproduction.claims import in_words, judge, leads
from bansac_lab.tables import Measured

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
CLAIMS = runs.stored("claims")["claim"]
RUNS = Path(__file__).parents[2] / "benchmarks" / "experiments"
NAMES = sorted(path.parent.name for path in RUNS.glob("*/run.json"))


def test_a_verdict_follows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(claim for claim in CLAIMS if claim["words"].startswith("BANSAC is more accurate"))
    copied = tmp_path / "benchmarks" / "experiments"
    shutil.copytree(RUNS, copied)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    path = copied / "main-table" / "leads.json"

    def change(lead: float) -> tuple[str, str]:
        document = json.loads(path.read_text())
        for label in runs.RATES:
            row = next(row for row in document["rows"] if row.get("labels") == [label])  # the first row is that of E
            row["values"][:8] = [{"value": lead, "error": 0.01}] * 8
        path.write_text(json.dumps(document))
        load.cache_clear()
        said, held = judge(claim)
        assert any(said in row.values for row in claims.claims().rows)
        return said, held

    assert change(0.02)[1] == "in part"  # another group of scenes speaks against it
    assert judge({key: value for key, value in claim.items() if key != "against"})[1] == "yes"
    assert change(0.005)[1] == "in part"  # within the interval
    said, held = change(-0.02)
    assert held == "in part"
    assert said.startswith("4/0/4, ")


def test_leads_of_comparisons() -> None:
    place = {"run": "main-table", "section": "Calibrated", "group": "Without", "column": "BANSAC"}
    found = runs.table("main-table")
    without = {"section": "Calibrated", "group": "Without"}
    own, prosac, rival = (
        [found.value(name, method, **without) for name in ("Rotation mAA (5°)", runs.TIME)]
        for method in ("BANSAC", "PROSAC", "P-BANSAC")
    )
    accuracy = place | {"row": "Rotation mAA (5°)"}
    (lead,) = leads(accuracy | {"over": {"column": "baselines"}})
    assert lead.value == pytest.approx(own[0] - found.value("Rotation mAA (5°)", "P-NAPSAC", **without))
    assert lead.error == 0.005
    (lead,) = leads(accuracy | {"over": {"column": "others"}, "margin": 0.01})
    assert (lead.value, lead.error) == (pytest.approx(own[0] - rival[0] + 0.01), 0)
    time = place | {"row": "time", "lower": True, "unit": " ms"}
    (lead,) = leads(time | {"over": {"column": "PROSAC"}})
    assert (lead.value, lead.error) == (pytest.approx(prosac[1] - own[1]), pytest.approx(0.05 * prosac[1]))
    (lead,) = leads(time | {"over": {"column": "PROSAC"}, "factor": 2})
    assert (lead.value, lead.error) == (pytest.approx(2 * prosac[1] - own[1]), 0)
    (lead,) = leads(time | {"column": [["BANSAC", "P-BANSAC"]], "over": {"column": "PROSAC"}})
    assert lead.value == pytest.approx(prosac[1] - rival[1]), "the best of ours"
    local = found.value("Rotation mAA (5°)", "BANSAC", section="Calibrated", group="With Local")
    (lead,) = leads(accuracy | {"minus": {"group": "With Local"}, "value": 0.0})
    assert lead.value == pytest.approx(own[0] - local)
    (lead,) = leads(accuracy | {"per": {"group": "With Local"}, "value": 1.0})
    assert lead.value == pytest.approx(own[0] / local - 1)
    assert len(leads({"run": "cpt-robustness", "section": "poses", "column": 0, "over": {"row": ["paper"]}})) == 24


def test_words_of_leads() -> None:
    found = [Measured(0.02, 0.01), Measured(0.005, 0.01), Measured(-0.03, 0.01)]
    assert in_words(found) == "1/1/1, -0.030…+0.020"
    assert in_words(found[:1], " ms") == "+0.02 ± 0.01 ms"
    assert in_words([Measured(1, 0), Measured(2, 0)], "°") == "2/0/0, +1.00…+2.00°"


def test_the_tables_of_the_network_are_the_papers() -> None:
    for order, cpt in enumerate(PAPER_CPT, 1):
        np.testing.assert_array_equal(np.array(cpt).ravel()[::-1], runs.stored("paper")["cpt"][f"order{order}"])


@pytest.mark.parametrize("label", LABELS)
def test_every_table_and_figure_of_the_paper_has_a_claim(label: str) -> None:
    assert any(label in claim["place"].split(", ") for claim in CLAIMS)


def test_every_claim_has_figures_and_tables() -> None:
    for claim in CLAIMS:
        ours, holds = judge(claim)
        assert holds in ("yes", "in part", "no")
        assert re.search(r"\d", ours), claim["words"]
        for path in re.findall(r"\(\.\./(.*?)\)", claims.links(claim)):
            assert (RUNS.parents[1] / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_small_complete_and_names_no_machine(name: str) -> None:
    document = runs.settings(name)
    assert document["experiment"] in EXPERIMENTS
    assert document["failed"] == {}
    files = sorted((RUNS / name).iterdir())
    assert len(files) > 1
    for path in files:
        if path.name == "errors.npz":
            continue
        assert path.suffix == ".json"
        assert path.stat().st_size < 50_000
        assert not re.search(r'"(/|\w:\\)', path.read_text(encoding="utf-8")), f"{path} has the path of a machine"


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
    more = settings.pop("extra")
    experiment, setup = find_experiment(document["experiment"]), Setup(**settings, **more)
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
