"""The curve example: its panels are moments of one run."""

import numpy as np
import pytest

import bansac
from bansac.synthetic import polynomial_points
from bansac_lab.experiments import curve_example
from bansac_lab.measurement import Setup


@pytest.fixture(scope="module")
def rows():
    setup = Setup(seed=1)
    (unit,) = curve_example.units(setup)
    return curve_example.run_unit(setup, unit)


def test_probabilities_are_those_of_one_longer_run(rows):
    data = polynomial_points(300, 2, 0.5, 0.02, seed=1)
    longer = bansac.fit_polynomial(
        data.points, 2, seed=1, trace=True, **{**curve_example.SETTINGS, "max_iterations": 100}
    ).trace
    for iteration in curve_example.ITERATIONS:
        of_step = [row for row in rows if row["iteration"] == iteration]
        np.testing.assert_array_equal([row["probability"] for row in of_step], longer.snapshots[iteration])
        np.testing.assert_array_equal([[row["x"], row["y"]] for row in of_step], data.points)
        if iteration:
            assert of_step[0]["inliers"] == longer.best_inliers[iteration - 1]


def test_it_starts_without_knowledge_and_learns(rows):
    def mean(iteration, true):
        values = [row["probability"] for row in rows if row["iteration"] == iteration and row["true_inlier"] == true]
        return np.mean(values)

    assert mean(0, True) == mean(0, False) == 0.5
    assert mean(14, True) > mean(14, False) + 0.1
    assert mean(14, True) < 0.5 < mean(100, True), "the first models are bad, and vote against inliers too"
    assert all(row["c0"] is None and row["rmse"] is None for row in rows if row["iteration"] == 0)


def test_report_draws_a_panel_for_each_iteration(rows):
    report = curve_example.report(Setup(seed=1), iter(rows))
    rows_of_table = report.tables["curve_example"].rows
    titles = [ax.get_title() for ax in report.figures["curve_example"].axes]
    assert titles[:6] == ["Start", *(f"Iteration {k}" for k in (2, 4, 9, 11, 14))]
    assert len(titles) == 7  # and the colour bar
    assert [row.labels for row in rows_of_table] == [(str(k),) for k in (0, 2, 4, 9, 11, 14, 100)]
