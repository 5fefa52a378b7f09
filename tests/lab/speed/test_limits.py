"""What an iteration must cost: the counts of arithmetic, and the limits that follow from them."""

from __future__ import annotations

import pytest

from bansac.lab.measurements.speed.limits import UPDATE, count_evaluation, iteration_limits, point_limit
from bansac.lab.measurements.speed.scenes import PROBLEMS

PEAKS = {
    "operations": {"float32": 50.0, "float64": 20.0},
    "divisions": {"float32": 10.0, "float64": 2.0},
    "bytes": {"1000": 170.0},
}


def test_counts_are_those_of_the_formulas():
    # H: two quotients of one denominator. F: five linear forms, their product, and four squares. E: two norms.
    work = {kind: count_evaluation(problem) for kind, problem in PROBLEMS.items()}
    assert {kind: (found.operations, found.divisions) for kind, found in work.items()} == {
        "H": (6 + 2 + 2, 1),
        "F": (10 + 2 + 4 + 1, 1),
        "E": (10 + 2 + 4 + 3, 1),
    }
    assert {found.bytes for found in work.values()} == {4 * 4 + 1}


def test_the_slowest_of_three_counts():
    assert point_limit(count_evaluation(PROBLEMS["H"]), PEAKS, 1000) == {
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
