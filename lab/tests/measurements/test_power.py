"""Classes have right and wrong models; a report counts which right ones are refused."""

from typing import Any

import numpy as np
import pytest

from bansac_lab.measurement import Setup
from bansac_lab.measurements.power import CLASSES, MEASUREMENT, UNITS, make_case
from bansac_lab.scenes import MAPS
from lab.tests.measurements.short_form import run

ALL = [(of, name, data) for of, problems in CLASSES.items() for name in problems for data in problems[name]]


@pytest.mark.parametrize(("family", "problem", "data"), [row for row in ALL if row[0] != "grids"])
def test_the_truth_is_right_and_another_model_is_wrong(family: str, problem: str, data: Any) -> None:
    case, again, other = (make_case(family, problem, data, seed) for seed in (1, 1, 2))
    truth = case.scene.truth
    if problem == "pose":
        true, wrong = (truth.R, truth.t), (truth.R, truth.t + 1)
    else:
        true = truth.H[: 3 if problem == "H" else 2] if problem in MAPS else getattr(truth, problem)
        wrong = true + np.abs(true).max() * np.eye(3)[: len(true)]
    assert case.is_right(true)
    assert not case.is_right(wrong)
    assert not case.is_right(None)
    if family != "units":
        assert (int(case.scene.inliers.sum()), len(case.scene.inliers)) == data
    for mine, same in zip(case.scene.data, again.scene.data, strict=True):
        np.testing.assert_array_equal(mine, same)
    assert case.scene.data[0].shape != other.scene.data[0].shape or (case.scene.data[0] != other.scene.data[0]).any()


def test_wrong_partners_are_the_other_points_of_the_list() -> None:
    case = make_case("list", "H", (12, 40), 0)
    wrong, exact = ~case.scene.inliers, case.scene.truth.x2
    distances = np.linalg.norm(case.scene.data[1][wrong, None] - exact[wrong], axis=2)
    assert distances.min(axis=1).max() < case.limit
    assert sorted(distances.argmin(axis=1)) == list(range(28))
    assert (distances.argmin(axis=1) != np.arange(28)).all()


def test_a_large_threshold_has_the_data_of_the_small_one() -> None:
    small, large = (make_case(family, "affine", (5, 7), 3) for family in ("few", "large"))
    np.testing.assert_array_equal(small.scene.data[1], large.scene.data[1])
    assert large.settings["threshold"] == pytest.approx(10 / 3 * small.settings["threshold"])


@pytest.mark.parametrize("unit", UNITS)
def test_units_have_the_same_data(unit: str) -> None:
    pixels, other = (make_case("units", "H", name, 0) for name in ("pixels", unit))
    *scales, origin = UNITS[unit]
    for mine, theirs, scale in zip(pixels.scene.data, other.scene.data, scales, strict=True):
        np.testing.assert_allclose((theirs - origin) / scale, mine, atol=1e-3)
    assert not other.settings


def test_a_grid_moves_by_whole_pixels() -> None:
    x1, x2 = make_case("grids", "F", "", 0).scene.data
    assert 9 <= len(x1) <= 30
    assert (np.ptp(x2 - x1, axis=0) == 0).all()
    assert (x1 % 1 == 0).all()
    assert (x2 % 1 == 0).all()


def test_short_run() -> None:
    units = "list/H/(20, 200)/0", "units/H/pixels/0", "units/H/per cent/0", "grids/F"
    document, tables = run("power", *units, repeats=1)
    cells = {(cell["family"], cell["data"]): cell for cell in document["cells"]}
    assert list(cells) == [
        *(("list", "20 of 200"), ("units", "pixels"), ("units", "per cent")),
        ("grids", "3 x 3 to 6 x 5"),
    ]
    assert cells["units", "pixels"]["found"] > 0.9
    assert "| wrong partners from the same list | H | 20/200: " in tables["power"]


def test_refused_and_claimed_models_are_counted() -> None:
    def row(right: bool, success: bool) -> dict[str, Any]:
        of = {"family": "few", "problem": "F", "data": "7 of 9", "seed": 0, "found": 1.0}
        return of | {"right": right, "success": success}

    rows = [row(True, True), row(True, False), row(True, False), row(False, True), row(False, False)]
    (cell,) = MEASUREMENT.report(MEASUREMENT.resolve(Setup()), rows).records["cells"]
    counts = {name: cell[name] for name in ("runs", "right", "refused", "wrong", "claimed")}
    assert counts == {"runs": 5, "right": 3, "refused": 2, "wrong": 2, "claimed": 1}


def test_a_problem_that_the_classes_lack_is_an_error() -> None:
    with pytest.raises(ValueError, match="--problems: the chosen classes have no such problem"):
        list(MEASUREMENT.units(MEASUREMENT.resolve(Setup(classes=("grids",), problems=("H",)))))
