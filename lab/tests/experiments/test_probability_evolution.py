"""The probability evolution: which pair it takes, and that figure and table show one run of it."""

import numpy as np
import pytest

import bansac
from bansac.matches import load_demo
from bansac_lab.experiments import probability_evolution as experiment
from bansac_lab.experiments.probability_evolution import rank_probability
from bansac_lab.measurement import Setup
from bansac_lab.sets import PairSet
from lab.tests.measurements.short_form import run_all
from lab.tests.pair_sets import write_pose_set


def test_demo_pair_learns_its_true_matches():
    _, rows, report = run_all(experiment, Setup())
    demo = load_demo()
    used = demo.ratios < 0.85
    np.testing.assert_array_equal([row["true"] for row in rows], demo.inliers[used])
    trace = bansac.estimate_homography(
        demo.x1[used], demo.x2[used], preset="paper", sampler="bansac", stopping=None, seed=0, trace=True
    ).trace
    assert len(trace) == 1000
    for k in (0, 10, 100, 1000):
        np.testing.assert_array_equal([row[f"p{k}"] for row in rows], trace.snapshots[k])
    first, *_, last = (row.values for row in report.tables["probability_evolution"].rows)
    assert first == ("0.500", "0.500", "0.500")
    assert float(last[0]) > 0.9
    assert float(last[1]) < 0.01
    assert float(last[2]) > 0.99
    axes = report.figures["probability_evolution_H"].axes
    assert [ax.get_title() for ax in axes[:4]] == ["Start", "Iteration 10", "Iteration 100", "Iteration 1000"]
    assert [text.get_text() for text in axes[-1].get_legend().get_texts()] == ["image 1, true", "image 1, estimated"]


def test_of_data_it_takes_one_pair_for_each_kind(sets, monkeypatch):
    monkeypatch.setitem(experiment.ITERATIONS, "F", (0, 10, 100))
    monkeypatch.setitem(experiment.ITERATIONS, "H", (0, 10, 100))
    units, rows, report = run_all(experiment, Setup(data=sets))
    assert {unit.payload[0] for unit in units} == {"F", "H"}
    assert set(report.figures) == {"probability_evolution_F", "probability_evolution_H"}
    for unit in units:
        model, folder, key = unit.payload
        matches = len(PairSet(folder).pair(key).filtered(0.85))
        assert sum(row["model"] == model for row in rows) == matches


def test_sacre_coeur_goes_before_other_sets(tmp_path):
    for name in ("aaa", "sacre_coeur", "zzz"):
        write_pose_set(tmp_path / name, pairs=1)
    (unit,) = experiment.units(Setup(data=tmp_path))
    assert unit.key.startswith("F/sacre_coeur/")


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ({"model": "F"}, "model 'F' needs data"),
        ({"max_ratio": 0.001}, "the pair demo has 0 matches of an SNN ratio below 0.001, at least 26"),
    ],
)
def test_settings_that_fit_no_pair_are_errors(setup, message):
    with pytest.raises(ValueError, match=message):
        run_all(experiment, Setup(**setup))


def test_data_without_a_pair_for_the_model_are_an_error(sets):
    with pytest.raises(ValueError, match="has the truth that model H needs"):
        experiment.units(Setup(data=sets / "EF", model="H"))
    with pytest.raises(ValueError, match="no pair has 26 matches"):
        experiment.units(Setup(data=sets, model="F", max_ratio=0.001))


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [([3, 2, 1], [1, 0, 0], 1.0), ([1, 2, 3], [1, 0, 0], 0.0), ([1, 1, 1], [1, 0, 1], 0.5), ([1, 2], [1, 1], None)],
)
def test_rank_probability(values, positive, expected):
    assert rank_probability(np.array(values, float), np.array(positive, bool)) == expected
