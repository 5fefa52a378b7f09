"""The synthetic experiment: its error measure, its trials and what it says of them."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bansac_lab.experiments import synthetic as experiment
from bansac_lab.experiments.synthetic import METHODS, ratio_of_means
from bansac_lab.measurement import Setup
from bansac_lab.metrics import circle_rmse, curve_rmse
from bansac_lab.tables import Measured

DIAGONAL = 2 * math.sqrt(2)


@pytest.mark.parametrize(
    ("rmse", "model", "true", "expected"),
    [
        (curve_rmse, [0.3, 0.0], [0.3, 0.0], 0.0),
        (curve_rmse, [0.5, 0.0, 0.0], [0.2, 0.0], 0.3),
        (curve_rmse, [0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], 0.0),
        # y = x + .2 and y = x: the distance is at right angles to the line.
        (curve_rmse, [0.2, 1.0], [0.0, 1.0], 0.2 / math.sqrt(2)),
        (curve_rmse, [1.5, 0.0], [0.0, 0.0], DIAGONAL),  # outside the square
        (curve_rmse, None, [0.0, 0.0], DIAGONAL),
        (circle_rmse, [0.1, 0.2, 0.5], [0.1, 0.2, 0.5], 0.0),
        (circle_rmse, [0.0, 0.0, 0.7], [0.0, 0.0, 0.4], 0.3),
        (circle_rmse, [5.0, 5.0, 1.0], [0.0, 0.0, 0.4], DIAGONAL),  # outside the square
        (circle_rmse, [0.0, 0.0, 5.0], [0.0, 0.0, 0.4], DIAGONAL),  # around the square
        (circle_rmse, None, [0.0, 0.0, 0.4], DIAGONAL),
    ],
)
def test_rmse_with_known_answers(rmse, model, true, expected):
    model = None if model is None else np.array(model)
    assert rmse(model, np.array(true)) == pytest.approx(expected, abs=1e-12)


coefficients = st.lists(st.integers(-50, 50).map(lambda k: k / 100), min_size=3, max_size=5)  # none is nearly 0


@settings(max_examples=20)
@given(coefficients, coefficients)
@example([0.25, 0.28, 0.25, -0.5], [-0.5, 0.5, -0.5, 0.25, 0.5])  # the nearest points are at x < -1.5
def test_distance_to_a_curve_is_that_to_the_nearest_zero_of_its_derivative(model, true):
    x = np.linspace(-1, 1, 181)
    points = np.column_stack([x, np.polynomial.polynomial.polyval(x, model)])
    points = points[np.abs(points[:, 1]) <= 1]
    curve, identity = np.polynomial.Polynomial(true), np.polynomial.Polynomial([0, 1])
    nearest = []
    for x, y in points:
        feet = ((identity - x) + (curve - y) * curve.deriv()).roots()
        feet = np.append(feet[np.abs(feet.imag) < 1e-6].real, x)
        nearest.append(np.hypot(feet - x, curve(feet) - y).min())
    expected = np.sqrt(np.mean(np.square(nearest)))
    assert curve_rmse(np.array(model), np.array(true)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("radius", [1e3, 1e6])
def test_a_huge_circle_counts_like_the_line_that_it_is_within_the_square(radius):
    # The line y = 0 through the square; the true circle is around the origin with radius .5.
    along = np.linspace(-1, 1, 20001)
    expected = np.sqrt(np.mean((np.abs(along) - 0.5) ** 2))
    assert circle_rmse(np.array([0.0, radius, radius]), np.array([0.0, 0.0, 0.5])) == pytest.approx(expected, abs=5e-3)


def test_ratio_of_means_has_the_spread_of_repeated_samples():
    rng = np.random.default_rng(0)
    samples = rng.gamma(5, 1, (400, 200, 1)) + rng.gamma(5, 1, (400, 200, 2))  # numerator and denominator, paired
    measured = [ratio_of_means(a, b) for a, b in samples.transpose(0, 2, 1)]
    spread = np.std([m.value for m in measured])
    assert np.mean([m.error for m in measured]) == pytest.approx(spread, rel=0.15)
    assert np.mean([m.value for m in measured]) == pytest.approx(1, abs=0.01)


def test_rows_do_not_depend_on_how_trials_are_cut_into_chunks(monkeypatch):
    def rows(chunk):
        monkeypatch.setattr(experiment, "_CHUNK", chunk)
        setup = Setup(repeats=3, seed=5)
        units = [unit for unit in experiment.units(setup) if unit.payload[1] == 0.4]
        found = [row for unit in units for row in experiment.run_unit(setup, unit)]
        for row in found:
            del row["seconds"]
        return sorted(found, key=lambda row: (row["problem"], row["trial"], row["method"]))

    whole = rows(3)
    assert whole == rows(1)
    assert {row["seed"] for row in whole} == {5, 6, 7}
    assert len(whole) == 2 * 3 * len(METHODS)


def test_report_has_every_rate_and_finds_bansac_faster():
    setup = Setup(repeats=6)
    units = [unit for unit in experiment.units(setup) if unit.payload[1] in (0.3, 0.5)]
    rows = [row for unit in units for row in experiment.run_unit(setup, unit)]
    assert all(row["found"] and row["rmse"] < 0.1 for row in rows)
    assert {row["iterations"] for row in rows if row["method"] == experiment.OWN_STOP} == {3000}
    report = experiment.report(setup, iter(rows))
    assert [row.labels for row in report.tables["synthetic"].rows[:2]] == [("30 %",), ("50 %",)]
    for row in report.tables["synthetic_ratios"].rows:
        to_ransac = row.values[0]
        assert isinstance(to_ransac, Measured)
        assert to_ransac.value < 1
    assert len(report.figures["synthetic"].axes) == 4
    assert any("fired in 0 of 12 runs" in note for note in report.notes)


def test_the_own_stop_fires_where_the_noise_is_far_below_the_threshold():
    setup = Setup(repeats=3, noise=0.002)
    units = [unit for unit in experiment.units(setup) if unit.payload[1] == 0.5]
    rows = [row for unit in units for row in experiment.run_unit(setup, unit)]
    assert {row["stop_reason"] for row in rows if row["method"] == experiment.OWN_STOP} == {"bansac"}


def test_a_trial_without_a_model_is_counted_and_noted():
    setup = Setup(repeats=1)
    rows = [row for unit in experiment.units(setup)[:1] for row in experiment.run_unit(setup, unit)]
    rows[0] |= {"found": False, "rmse": curve_rmse(None, np.zeros(2))}
    report = experiment.report(setup, rows)
    assert report.tables["synthetic"].rows[0].values[len(METHODS)].value == pytest.approx(1000 * DIAGONAL)
    assert any("1 runs found no model" in note for note in report.notes)


@pytest.mark.parametrize(
    ("extra", "deviation"),
    [({}, 0.02), ({"noise": 0.1}, 0.1), ({"noise_is_variance": True}, math.sqrt(0.02))],
)
def test_noise_is_a_deviation_unless_it_is_said_to_be_a_variance(extra, deviation):
    setup = Setup(repeats=1, **extra)
    report = experiment.report(setup, experiment.run_unit(setup, experiment.units(setup)[-1]))
    assert f"standard deviation of {deviation:.3g}" in report.notes[0]


def test_bad_noise_is_named():
    with pytest.raises(ValueError, match="noise must be"):
        experiment.units(experiment.EXPERIMENT.resolve(Setup(noise=-1.0)))
