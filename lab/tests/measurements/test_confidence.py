"""Counts of runs that find the best model."""

import pytest

from bansac.batch.journal import Unit
from bansac_lab.measurement import Setup
from bansac_lab.measurements.confidence import CONFIDENCES, MEASUREMENT, interval


def test_units_are_all_cells() -> None:
    keys = [unit.key for unit in MEASUREMENT.units(Setup(runs=2))]
    assert keys[:2] == ["two models/line/uniform, ransac/0.5", "two models/line/uniform, ransac/0.9"]
    assert [key for key in keys if key.startswith("two models/line/bansac, bansac/")] == [
        "two models/line/bansac, bansac/0.999"
    ]
    assert len(keys) == len(set(keys)) == 2 * (16 * len(CONFIDENCES) + 2 + 18)


def test_a_report_has_the_cells_and_the_tables() -> None:
    setup = Setup(runs=4)
    units = [Unit(data, (data, "line", "default", 0.5)) for data in ("two models", "one model")]
    rows = [row for unit in units for row in MEASUREMENT.run_unit(setup, unit)]
    document = MEASUREMENT.report(setup, rows[1:]).records
    cell = document["data"]["one model"]["line"]["default"]["0.5"]
    assert cell["runs"] == 4
    assert cell["found"] == 4
    assert "processor_seconds" not in cell
    assert MEASUREMENT.render("confidence-one-model", lambda name: {"confidence": document}[name]) == "1.00"


def test_interval_of_a_share() -> None:
    assert interval(50, 100) == pytest.approx((0.404, 0.596), abs=1e-3)
