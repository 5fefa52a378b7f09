"""Means over the sets, and intervals by the bootstrap, against known answers."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bansac_lab.summary import (
    AUC_10,
    CORNERS_10,
    ITERATIONS,
    ROTATION_5,
    ROTATION_10,
    ROTATION_ERROR,
    TIME,
    TRANSLATION_5,
    VISIBLE_5,
    VISIBLE_10,
    Summary,
    bootstrap,
    lead,
    metric_table,
)

ROWS_OF_HOMOGRAPHIES = [
    "Homography mAA (5 px), visible area",
    "Homography mAA (10 px), visible area",
    "Homography mAA (5 px), corners",
    "Homography mAA (10 px), corners",
    "Avg. execution time [ms]",
]


def row(error: float, *, set_name: str = "s", model: str = "F", name: str = "a", **more: Any) -> Any:
    fixed = {"model": model, "set": set_name, "pair": "p", "repeat": 0, "configuration": name, "iterations": 10}
    return fixed | {"rotation_error": error, "translation_error": 2 * error, "seconds": 0.004} | more


def test_means_are_over_the_sets() -> None:
    summary = Summary([row(0.5), row(0.5), row(0.5, pair="q", seconds=0.007), row(180.0, set_name="t", iterations=40)])
    assert summary.of_set(ROTATION_5, "F", "s", "a") == 1
    assert summary.mean(ROTATION_5, "F", "a") == pytest.approx(0.5), (
        "three runs of one set weigh as much as one of another"
    )
    assert summary.mean(ITERATIONS, "F", "a") == 25
    assert summary.of_set(TIME, "F", "s", "a") == pytest.approx(5.0)
    assert summary.of_set(ROTATION_ERROR, "F", "t", "a") == 180
    assert summary.notes()[0] == "F: s (2 pairs), t (1 pairs); 1 repeats"


def test_known_accuracies() -> None:
    summary = Summary([row(3.0)])
    assert summary.mean(ROTATION_5, "F", "a") == pytest.approx(0.5, abs=0.01)
    assert summary.mean(ROTATION_10, "F", "a") == pytest.approx(7 / 9, abs=0.01)
    assert summary.mean(TRANSLATION_5, "F", "a") == 0
    # The larger error is 6: recall climbs to 1 over 6 degrees and stays there.
    assert summary.mean(AUC_10, "F", "a") == pytest.approx((6 / 2 + 4) / 10)


def test_homographies_that_fail_count() -> None:
    def plane(error: float) -> Any:
        return row(0, model="H", corner_error=error, rotation_error=None, translation_error=None)

    summary = Summary([plane(0.5), plane(math.inf)])
    assert summary.mean(CORNERS_10, "H", "a") == 0.5
    assert math.isnan(summary.mean(VISIBLE_10, "H", "a"))


def test_errors_over_the_visible_area_are_means_where_they_are_known() -> None:
    known = [row(0, model="H", corner_error=9.0, visible_area_error=error) for error in (0.5, math.inf)]
    unknown = row(0, model="H", corner_error=9.0, visible_area_error=math.nan)
    assert Summary([*known, unknown]).mean(VISIBLE_5, "H", "a") == 0.5


def test_runs_without_time_do_not_count_for_the_time() -> None:
    summary = Summary([row(1.0, seconds=0.002), row(1.0, seconds=None), row(1.0, set_name="t", seconds=0.004)])
    assert summary.mean(TIME, "F", "a") == pytest.approx(3.0)
    assert math.isnan(Summary([row(1.0, seconds=None)]).mean(TIME, "F", "a"))


def test_missing_configuration_has_no_figure() -> None:
    summary = Summary([row(1.0), row(1.0, set_name="t", name="b")])
    assert math.isnan(summary.mean(ROTATION_5, "F", "a"))
    assert math.isnan(summary.of_set(ROTATION_5, "E", "s", "a"))


def test_table_has_a_section_for_each_model_in_order() -> None:
    rows = [row(1.0, model=model, name=name, corner_error=3.0) for model in "HFE" for name in "ab"]
    table = metric_table(Summary(rows), "Title", {"both": {"a": "A", "b": "B"}})
    titles = [section.split()[0] for section in dict.fromkeys(line.section for line in table.rows)]
    assert titles == ["Calibrated", "Uncalibrated", "Homography"]
    assert [line.labels[0] for line in table.rows][-5:] == ROWS_OF_HOMOGRAPHIES
    assert table.columns == ("A", "B")


PAIRS, REPEATS = 40, 5


def summary_of(seconds: Callable[[str, int, int], float]) -> Summary:
    """Return a summary of two sets whose times are ``seconds(configuration, pair, repeat)``."""
    runs = itertools.product(("yard", "room"), range(PAIRS), range(REPEATS), "abc")
    return Summary(
        row(0.0, set_name=name, model="E", name=of, pair=str(pair), repeat=str(k), seconds=seconds(of, pair, k))
        for name, pair, k, of in runs
    )


def test_a_constant_difference_has_no_interval() -> None:
    offsets = {"a": 0.001, "b": 0.003, "c": 0.005}
    summary = summary_of(lambda name, pair, repeat: offsets[name] + 0.01 * pair)
    found = lead(bootstrap(summary, TIME, "E", ["a", "b", "c"]), TIME, "a", ["b", "c"])
    assert found.value == pytest.approx(2.0)  # milliseconds; a shorter time is ahead
    assert found.error == pytest.approx(0.0, abs=1e-9)
    behind = lead(bootstrap(summary, TIME, "E", ["a", "b", "c"]), TIME, "b", ["a", "c"])
    assert behind.value == pytest.approx(-2.0)


@pytest.mark.parametrize("of_pairs", [True, False])
def test_the_interval_has_the_width_of_the_standard_error(of_pairs: bool) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1e-3, (2, PAIRS, REPEATS))
    noise = np.repeat(noise[:, :, :1], REPEATS, axis=2) if of_pairs else noise
    summary = summary_of(lambda name, pair, repeat: 0.1 + noise["ab".find(name), pair, repeat])
    error = lead(bootstrap(summary, TIME, "E", ["a", "b"]), TIME, "a", ["b"]).error
    difference = 1e3 * (noise[0] - noise[1])
    standard = difference.mean(axis=1).std() / np.sqrt(2 * PAIRS)  # of the mean of two sets
    assert 1.8 * standard < error < 2.1 * standard


def test_missing_times_are_left_out() -> None:
    summary = summary_of(lambda name, pair, repeat: 0.002 if repeat == 0 else float("nan"))
    means = bootstrap(summary, TIME, "E", ["a", "b"])
    assert np.allclose(means["a"], 2.0)
