"""What an iteration must cost: the limits that follow from the arithmetic."""

from __future__ import annotations

import pytest

from bansac.lab.measurements.speed.iterations import UPDATE, evaluation_work, iteration_limits, point_limit

PEAKS = {
    "operations": {"float32": 50.0, "float64": 20.0},
    "divisions": {"float32": 10.0, "float64": 2.0},
    "bytes": {"1000": 170.0},
}


def test_the_slowest_of_three_counts():
    assert point_limit(evaluation_work("H"), PEAKS, 1000) == {
        "operations": 10 / 50.0,
        "divisions": 1 / 10.0,
        "bytes": 17 / 170.0,
    }
    assert max(point_limit(UPDATE, PEAKS, 1000).values()) == 9 / 170.0  # bytes: odds read and written, mask read


def test_limits_of_an_iteration():
    found = iteration_limits("H", PEAKS, points=1000, inlier_ratio=0.4, solver=30.0, models=2.0, classified=1.0)
    assert found["uniform"] == pytest.approx(30.0 + 2 * 600 * 0.2)
    assert found["bansac"] == pytest.approx(30.0 + (1000 + 600) * 0.2 + 1000 * 9 / 170.0)
    idle = iteration_limits("H", PEAKS, points=1000, inlier_ratio=0.4, solver=30.0, models=0.0, classified=0.0)
    assert idle == {"uniform": 30.0, "bansac": 30.0}, "no model, nothing to look at"
