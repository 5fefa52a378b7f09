"""The targets that a report is held against."""

import pytest

from bansac_lab.measurements.speed import report
from bansac_lab.peers.poselib import POSELIB

FIXED = {"uniform": 1.0, "bansac": 1.5, "opencv": 2.0}
SIZES = {"ten": {"ms": {"bansac": {"30": 0.04}}}, "default": {"bytes": {"10000": 90.0, "1000000": 50.0}}}


def test_targets_follow_from_the_measurements():
    pairs = {"H exact": {"bansac": {"ms_mean": 3.0, "ms_median": 1.0}, "opencv": {"ms_mean": 2.0, "ms_median": 2.0}}}
    found = {"fixed": dict.fromkeys("HFE", FIXED), "sizes": {"H": SIZES}, "pairs": pairs}
    rows = {row["what"]: (row["value"], row["target"], row["met"]) for row in report.targets(found)}
    assert rows["H, 1000 iterations, uniform over OpenCV"] == (0.5, 0.8, True)
    assert rows["E, 1000 iterations, uniform over OpenCV"] == (0.5, 0.3, False)
    assert rows["F, 1000 iterations, BANSAC over uniform"] == (1.5, 1.4, False)
    assert rows["H, ms of ten iterations on 30 points"] == (0.04, 0.05, True)
    assert rows["H, bytes a point at 1,000,000 points"] == (50.0, 60, True)
    assert rows["H exact, real pairs, mean, bansac over opencv"] == (1.5, 0.9, False)
    assert rows["H exact, real pairs, median, bansac over opencv"] == (0.5, 0.9, True)
    assert len(rows) == 6 + 2 + 2


def test_what_is_not_measured_has_no_target():
    without = {name: time for name, time in FIXED.items() if name != "opencv"}
    sizes = SIZES | {"default": {"bytes": {}}}
    rows = list(report.targets({"fixed": dict.fromkeys("HFE", without), "sizes": {"H": sizes}}))
    assert [row["target"] for row in rows] == [1.4, 1.4, 1.4, 0.05]


def test_a_peer_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(type(POSELIB), "package", "no_such_module")
    assert "poselib" not in report.find_peers(None)
    with pytest.raises(ModuleNotFoundError, match="method poselib needs the package no_such_module"):
        report.find_peers(["poselib"])
