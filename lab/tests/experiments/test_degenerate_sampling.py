"""Degenerate sampling: its scenes, its measure of the bias, and what runs on them show."""

import numpy as np
import pytest

import bansac
from bansac.synthetic import planar_scene_matches
from bansac_lab.experiments import degenerate_sampling as experiment
from bansac_lab.experiments.degenerate_sampling import METHODS, sampling_bias
from bansac_lab.measurement import Setup
from lab.tests.measurements.short_form import run_all


@pytest.fixture
def short(monkeypatch):
    """Make few and short runs."""
    monkeypatch.setattr(experiment, "STEPS", (10, 100, 1000))
    monkeypatch.setattr(experiment, "SHARES", (0.5, 0.9))


def test_bias_compares_weights_with_a_floor_of_one():
    on, off = np.array([True, True, False, False]), np.array([False, False, True, False])
    assert sampling_bias(np.array([0.2, 0.4, 0.1, 1.0]), on, off) == pytest.approx(3)
    assert sampling_bias(np.array([1.0, 1.0, 0.0, 1.0]), on, off) == pytest.approx(100)
    assert sampling_bias(None, on, off) is None


def test_true_f_is_right_and_one_of_the_plane_alone_is_wrong_off_it():
    matches = planar_scene_matches(500, 0.5, 0.8, 0.25, seed=3)
    off_plane = matches.inliers & ~matches.on_plane
    assert experiment._median_distance(matches.F, matches, off_plane) < 0.5
    # Any F = [e']x H fits the plane; this epipole is a quarter of a turn, seen from the centre, from the true one.
    true = matches.K @ matches.t
    x, y = true[:2] - true[2] * matches.K[:2, 2]
    e = np.array([*(matches.K[:2, 2] + 1000 * np.array([-y, x]) / np.hypot(x, y)), 1.0])
    F = np.cross(e, matches.H.T).T
    assert experiment._median_distance(F, matches, matches.on_plane) < 0.5
    assert experiment._median_distance(F, matches, off_plane) > experiment.WRONG_ABOVE


def test_a_run_without_a_model_counts_as_wrong(short):
    units = [unit for unit in experiment.units(Setup(repeats=1)) if unit.payload[0] == 0.5]
    rows = [row for unit in units for row in experiment.run_unit(Setup(), unit)]
    for row in rows:
        row["off_plane_error"] = None if row["method"] == "BANSAC" else 0.5
    values = experiment.report(Setup(), rows).tables["degenerate_errors"].rows[0].values
    assert values[: len(METHODS)] == tuple(100.0 if method == "BANSAC" else 0.0 for method in METHODS)


@pytest.mark.usefixtures("short")
def test_rows_of_scenes_and_their_report():
    units, rows, report = run_all(experiment, Setup(repeats=2, seed=4))
    assert len(units) == 4
    assert len(rows) == 4 * (len(METHODS) + 2 * 3)
    assert {row["seed"] for row in rows} == {4, 5}
    for row in rows:
        assert (row["bias"] is None) == row["method"].startswith("RANSAC")
        assert row["on_plane"] + row["off_plane"] == 250
    # Of half the points on the plane BANSAC does well, and is biased only where the plane dominates.
    easy = [row for row in rows if row["scene"] == "50 %" and row["open"] and row["iterations"] == 1000]
    assert all(row["off_plane_error"] < 1 and row["translation_error"] < 5 for row in easy)
    assert max(row["bias"] or 0 for row in rows if row["scene"] == "90 %") > 2
    assert [row.labels for row in report.tables["degenerate_errors"].rows] == [("50 %",), ("90 %",)]
    assert report.tables["degenerate_bias"].columns == ("10", "100", "1000")
    assert set(report.figures) == {"degenerate_bias"}


def test_an_open_run_is_the_beginning_of_a_longer_one():
    scene = planar_scene_matches(experiment.MATCHES, experiment.INLIER_RATIO, 0.8, experiment.NOISE, 1)
    longer = bansac.estimate_fundamental(
        scene.x1,
        scene.x2,
        preset="paper",
        threshold=0.5,
        seed=1,
        trace=True,
        max_iterations=300,
        stopping=None,
        **METHODS["BANSAC"].settings,
    )
    off_plane = scene.inliers & ~scene.on_plane
    expected = sampling_bias(longer.trace.snapshots[100], scene.on_plane, off_plane)
    assert experiment._run(scene, off_plane, "BANSAC", 1, 100)["bias"] == expected
