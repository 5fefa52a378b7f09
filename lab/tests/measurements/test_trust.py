"""The fit holds its signs and finds known coefficients; areas and calibration errors are those of known cases."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from bansac.estimate.model_confidence import COEFFICIENTS
from bansac.matches import Matches
from bansac_lab.measurement import Setup
from bansac_lab.measurements import trust
from bansac_lab.measurements.calibration import bins, error_of
from bansac_lab.measurements.trust import MEASUREMENT
from bansac_lab.tables import to_markdown
from lab.tests.pair_sets import write_homography_set, write_pose_set


def calibration_error(p: np.ndarray, right: np.ndarray) -> float:
    return error_of(bins(p, right))


def test_fit_finds_known_coefficients_and_holds_a_wrong_sign_at_zero() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(20_000, 3)) * [1.0, 5.0, 1.0]
    right = rng.random(20_000) < expit(numbers @ [2.0, 0.2, -1.0] + 0.5)
    *slopes, _ = trust.fit(numbers, right.astype(float), np.ones(20_000))
    assert slopes[2] == 0.0
    first, second, constant = trust.fit(numbers[:, :2], expit(numbers[:, :2] @ [2.0, 0.2] + 0.5), np.ones(20_000))
    assert (first, second, constant) == pytest.approx((2.0, 0.2, 0.5), rel=0.03)


def test_area_and_calibration_error_of_known_cases() -> None:
    right = np.array([False, False, True, True])
    assert trust.area(np.array([0.1, 0.3, 0.3, 0.9]), right) == 0.875
    assert np.isnan(trust.area(np.ones(4), np.ones(4, np.bool_)))
    assert calibration_error(np.array([0.05, 0.05, 0.95, 0.95]), right) == pytest.approx(0.05)
    assert calibration_error(np.full(4, 0.5), right) == 0.0


def test_the_band_holds_a_calibrated_predictor_and_not_an_overconfident_one() -> None:
    rng = np.random.default_rng(1)
    true = rng.uniform(0.2, 0.8, 2000)
    right, pairs = rng.random(2000) < true, [str(k // 4) for k in range(2000)]
    assert calibration_error(true, right) < trust.band(true, pairs, rng)
    bold = np.where(true > 0.5, 0.97, 0.03)
    assert calibration_error(bold, right) > trust.band(bold, pairs, rng)


def test_a_scene_apart_has_no_part_in_any_fit() -> None:
    rng = np.random.default_rng(0)
    scenes = np.repeat(["a", "b", trust.APART[0]], 200)
    frame = pd.DataFrame({"scene": scenes, "x": rng.normal(size=600)})
    frame["right"] = frame["x"] > 0
    p, coefficients = trust.predict(frame)
    frame.loc[400:, "right"] = ~frame.loc[400:, "right"]
    other, same = trust.predict(frame)
    assert same == coefficients
    np.testing.assert_array_equal(other, p)
    assert trust.area(p[:400], frame["right"].to_numpy(bool)[:400]) == 1.0


def test_thinned_pairs_have_the_share_of_inliers_and_the_numbers() -> None:
    rng = np.random.default_rng(0)
    pair = Matches(rng.random((3000, 2)), rng.random((3000, 2)), inliers=np.arange(3000) < 1500)
    thinned = [trust.thin(pair, rng) for _ in range(100)]
    shares = np.array([one.inliers.mean() for one in thinned if one.inliers is not None])
    assert shares.min() < 0.1
    assert shares.max() > 0.7
    assert all(len(one) <= 2001 for one in thinned)
    assert min(map(len, thinned)) < 100


def test_scenes_are_buildings_and_photographs() -> None:
    assert trust.scene_name("Herz-Jesus-P8", "0-1") == trust.scene_name("Herz-Jesus-P25", "0-1") == "Herz-Jesus"
    assert trust.scene_name("exact_warp", "BostonA15-w15") == "Boston"
    assert trust.scene_name("exact_warp", "LePoint1A3-w3") == "LePoint1"
    assert trust.scene_name("exact_warp", "dum5-w5") == "dum"


def test_short_run(tmp_path: Path) -> None:
    for name in ("room", "hall"):
        write_pose_set(tmp_path / "EF" / name, pairs=2)
    write_homography_set(tmp_path / "H" / "exact_warp", pairs=2)
    write_homography_set(tmp_path / "H" / "inexact", pairs=1)
    setup = MEASUREMENT.resolve(Setup(data=tmp_path, repeats=1))
    units = list(MEASUREMENT.units(setup))
    assert not any("inexact" in unit.key for unit in units)
    made = "plain", "window 10", "half-turn", "focal", "list", "uniform"
    some = [unit for unit in units if unit.payload[2] not in trust.MADE or unit.payload[1] in made]
    rows = [row for unit in some for row in MEASUREMENT.run_unit(setup, unit)]
    of_pairs = [row for row in rows if row["scene"] not in (*trust.MADE, *trust.WRONG)]
    plain = [row["right"] for row in of_pairs if row["variant"] == "plain"]
    assert {row["variant"] for row in of_pairs} == {"plain", "thinned", "static", "shuffled"}
    assert np.mean(plain) > 0.9
    assert not any(row["right"] for row in of_pairs if row["variant"] == "shuffled")
    report = MEASUREMENT.report(setup, rows)
    assert report.texts[".csv"].count("\n") == len(rows) + 1
    found = report.records["problems"]
    assert found["E"]["all"]["ROC"] > 0.8
    assert found["F"]["scenes"].keys() == {"room", "hall", *trust.MADE}
    document = report.records
    assert "| E | all runs |" in to_markdown(trust.table(document))
    code = trust.code_of(document["problems"])
    names: dict[str, dict[str, dict[str, float]]] = {}
    exec(code, names)
    assert names["COEFFICIENTS"].keys() == COEFFICIENTS.keys()
    rounded = {name: round(value, 3) for name, value in found["E"]["coefficients"].items()}
    assert names["COEFFICIENTS"]["essential matrix"] == pytest.approx(rounded, abs=1e-3)
