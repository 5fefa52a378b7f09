"""Reports of hard scenes count what the rows say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bansac_lab.frames import import_pandas
from bansac_lab.measurement import Setup
from bansac_lab.measurements import few_inliers, noise
from bansac_lab.measurements.rival_scenes import repeated_plane_matches
from bansac_lab.task import squared_distances

ROOT = Path(__file__).parents[2]


def values(table: Any) -> dict[tuple[str, ...], tuple[Any, ...]]:
    return {row.labels: row.values for row in table.rows}


def few_row(method: str, ratio: float, right: bool, success: bool, seconds: float) -> dict[str, Any]:
    cell = {"problem": "H", "n": 500, "inlier_ratio": ratio, "seed": 0, "method": method}
    return {**cell, "right": right, "success": success, "seconds": seconds}


def test_few_inliers() -> None:
    rows = [
        few_row("default", 0.05, False, True, 1.0),
        few_row("poselib", 0.05, True, True, 4.0),
        few_row("default", 0.3, True, True, 1.0),
        few_row("poselib", 0.3, True, True, 4.0),
        few_row("default", 0.0, False, False, 0.5),
        few_row("poselib", 0.0, False, True, 2.0),
    ]
    found = few_inliers.report(Setup(), rows)
    hard = values(found.tables["hard"])
    assert hard["default",][:2] == (0.5, 0.0)
    assert hard["default",][-3:] == (0.5, 2.0, 0.25)
    assert hard["poselib",][-3:] == (0.0, 8.0, 1.0)
    unrelated = values(found.tables["unrelated"])
    assert unrelated["default",][0] == 500.0
    assert unrelated["poselib",][-1] == "1 of 1"
    cell = found.records["cells"][0]
    assert (cell["method"], cell["right"], cell["false"], cell["seconds"]) == ("default", 0.0, 1.0, 1.0)
    time = found.figures["hard"].axes[1].containers[0].lines[0].get_xydata()
    np.testing.assert_allclose(time, [[1000.0, 0.5]])


def test_readme_picture_shows_the_means_of_its_report() -> None:
    document = json.loads((ROOT / "benchmarks" / "hard.json").read_text(encoding="utf-8"))
    means = few_inliers.means(document, "F")
    rows = document["tables"]["hard"]["rows"]
    rows = rows[rows.index({"section": few_inliers.TITLES["F"]}) + 1 :]
    values = {row["labels"][0]: row["values"] for row in reversed(rows[: len(means)])}
    scenes = len(few_inliers.RATIOS) * len(few_inliers.SIZES) * few_inliers.SEEDS
    for method, (right, seconds) in means.items():
        assert right == pytest.approx(values[method][0], rel=1e-5)
        assert seconds == pytest.approx(values[method][-2] / scenes, rel=1e-5)
    with Image.open(ROOT / "docs" / "images" / "few_inliers.png") as picture:
        shown = json.loads(picture.text["Description"])  # type: ignore[attr-defined]
    assert shown == {method: list(means[method]) for method in shown}
    assert set(shown) == {"default", "uniform", "poselib", "opencv-magsac", "superansac"}


def test_thresholds_are_compared_with_the_best_fixed_one() -> None:
    rows = []
    for seed, scale in enumerate((1.0, 2.0, 3.0)):
        errors = {"default": 6.0, "1 px": 4.0, "2 px": 2.0}
        cell = {"problem": "H", "noise": 1.0, "n": 100, "inlier_ratio": 0.4, "seed": seed}
        rows += [cell | {"method": name, "error": scale * e, "seconds": e} for name, e in errors.items()]
    (cell,) = noise.compare_cells(import_pandas().DataFrame(rows)).to_dict("records")
    assert cell["best"] == "2 px"
    assert (cell["error"], cell["best_error"], cell["error_ratio"]) == (12.0, 4.0, 3.0)
    assert cell["time_ratio"] == 3.0
    found = values(noise.report(Setup(), rows).tables["noise"])
    assert found["H",] == pytest.approx((3.0, 3.0, 3.0, 3.0))


@pytest.mark.parametrize("pattern", ["row", "grid"])
def test_scene_of_a_repeated_pattern(pattern: str) -> None:
    scene = repeated_plane_matches(pattern, 200, 0.5, 0.8, 1)
    assert int(scene.inliers.sum()) == 100
    assert int(scene.on_plane.sum()) == 80
    assert squared_distances(scene.F, scene, "F")[scene.inliers].max() < 3**2
    distances = np.sqrt(squared_distances(scene.H, scene, "H"))
    assert distances[scene.on_plane].max() < 3
    shifted = np.sort(distances[~scene.inliers])[:50]  # by one period; unrelated matches are further away
    assert shifted.min() > 4
    assert shifted.max() < 60
