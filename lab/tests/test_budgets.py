"""Budgets reach the methods, and the curves are the points of the report."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac.estimate import presets
from bansac_lab.measurement import Setup
from bansac_lab.measurements.budgets import Sweep, best_within, limit, plot_curves, time_table
from bansac_lab.measurements.folders import comparison
from bansac_lab.peers.library import Method, Task
from bansac_lab.peers.methods import METHODS
from bansac_lab.runner import open_run, run_measurement
from bansac_lab.task import DEFAULTS
from lab.tests.pair_sets import write_homography_set, write_pose_set
from lab.tests.peers.toy import Toy

CURVES = {
    "a": [
        {"max_iterations": 10, "AUC@10": 0.8, "ms_mean": 3.0},
        {"max_iterations": 100, "AUC@10": 0.7, "ms_mean": 4.0},
    ],
    "b": [
        {"max_iterations": 10, "AUC@10": 0.5, "ms_mean": 0.75},
        {"max_iterations": 100, "AUC@10": 0.9, "ms_mean": 0.25},
    ],
}


def test_every_method_runs_at_every_budget(tmp_path: Path) -> None:
    calls: list[int] = []

    def call(task: Task, settings: Any) -> None:
        calls.append(settings["max_iterations"])

    peer = Method("peer", {"max_iterations": 7, "confidence": 0.5}, Toy(answer=call))
    sweep = Sweep("F", (METHODS["uniform"], peer), (20, 500))
    folder = write_pose_set(tmp_path / "room", pairs=2)
    bench = comparison(sweep.limited_methods(), dataclasses.replace(DEFAULTS["F"], repeats=1), sweep)
    document = run_measurement(bench, Setup(data=folder), None).report.records
    assert sorted(calls) == [20] * 4 + [500] * 4  # the warm-up, twice, and two pairs
    assert list(document["mean"]) == ["uniform", "peer"]
    for curves in (document["mean"], document["sets"]["room"]["curves"]):
        for points in curves.values():
            assert [point["max_iterations"] for point in points] == [20, 500]
            assert all(point["ms_mean"] > 0 for point in points)
        assert curves["peer"][0]["AUC@10"] == 0
        assert curves["uniform"][1]["AUC@10"] > 0.8
    assert document["sets"]["room"]["pairs"] == 2
    assert document["budgets"] == [20, 500]
    assert document["settings"]["peer"] == {"max_iterations": 7, "confidence": 0.5}
    assert "max_iterations" not in document["protocol"]
    json.dumps(document, allow_nan=False)


def test_iterations_stay_within_the_budget(tmp_path: Path) -> None:
    sweep = Sweep("H", (METHODS["default"], METHODS["uniform"]), (3, 40))
    bench = comparison(sweep.limited_methods(), dataclasses.replace(DEFAULTS["H"], repeats=1))
    with open_run(bench, Setup(data=write_homography_set(tmp_path / "wall")), None) as run:
        for row in run.execute()[0]:
            name, _, budget = str(row["configuration"]).partition(" ")
            assert name in ("default", "uniform")
            assert 1 <= row["iterations"] <= int(budget.strip("[]"))


@pytest.mark.parametrize(("budget", "expected"), [(20, 4), (1000, 4), (1001, 5), (4000, 16)])
def test_rounds_grow_with_the_budget(monkeypatch: pytest.MonkeyPatch, budget: int, expected: int) -> None:
    """The preset has four restarts of a thousand samples in all, at least 50."""
    preset = presets.Preset(presets.Options(restarts=4, max_iterations=1000, min_iterations=50))
    monkeypatch.setitem(presets.PRESETS, "four", preset)
    settings = limit(Method("four", {"preset": "four"}), budget, "E").settings
    assert settings["restarts"] == expected
    assert settings["max_iterations"] == budget
    assert settings.get("min_iterations", 50) == min(budget, 50)


def test_a_single_round_stays_one() -> None:
    assert dict(limit(METHODS["bansac"], 50, "H").settings) == {"sampler": "bansac", "max_iterations": 50}


def test_the_own_limits_of_a_peer_give_way_to_the_budget() -> None:
    limited = limit(METHODS["poselib-prosac-own"], 300, "E")
    assert (limited.settings["max_iterations"], limited.settings["confidence"]) == (300, 0.9999)
    assert limited.name != METHODS["poselib-prosac-own"].name


def test_the_best_point_within_a_time_counts() -> None:
    assert math.isnan(best_within(CURVES["a"], 2.9, "AUC@10"))
    assert best_within(CURVES["a"], 3.0, "AUC@10") == 0.8
    assert best_within(CURVES["a"], 100.0, "AUC@10") == 0.8
    rows = time_table(CURVES, "E").rows
    assert [row.labels for row in rows] == [("a",), ("b",)]
    assert rows[1].values == (0.9,) * 8
    assert time_table(CURVES, "E").marks()[1][-1] == "best"


def test_lines_go_from_left_to_right() -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    (ax,) = plot_curves(CURVES, "F").axes
    lines = [container.lines[0].get_xydata() for container in ax.containers]
    np.testing.assert_array_equal(lines, [[[3, 0.8], [4, 0.7]], [[0.25, 0.9], [0.75, 0.5]]])
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "AUC@10"
