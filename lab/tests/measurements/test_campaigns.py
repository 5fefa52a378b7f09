"""Short forms of the measurements on many scenes: their units run, and their tables read the report."""

from pathlib import Path

import numpy as np
import pytest
from numba import config

from bansac.synthetic import epipolar_matches
from bansac_lab import reports
from bansac_lab.known_scenes import FUNCTIONS, SCENES, known_scene
from lab.tests.measurements.short_form import run
from lab.tests.pair_sets import ratios, write_files, write_homography_set, write_pose_set

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted, the searches take minutes")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sets of the measurements."""
    folder = tmp_path_factory.mktemp("data")
    write_pose_set(folder / "EF" / "kitti_seq1", pairs=1)
    write_homography_set(folder / "H" / "exact_warp", pairs=1)
    scene = epipolar_matches(120, 0.7, 0.1)
    matches = {"matches": {"a": np.hstack([scene.x1, scene.x2])}}
    truth = {"labels": {"a": scene.inliers.astype(np.uint8)}, "Fgt": {"a": scene.F}}
    write_files(folder / "F_labelled" / "adelaidermf", {**matches, **truth})
    points = {"vpts": {"a": np.hstack([scene.x1, scene.x2])[scene.inliers][:20]}}
    confidences = {"match_conf": {"a": ratios(scene.inliers)}}
    write_files(folder / "F_labelled" / "kusvod2_strechamvs", {**matches, **points, **confidences})
    return folder


def test_calibration_of_a_set_and_of_a_family(data: Path) -> None:
    name = "F, AdelaideRMF (labels)"
    document, tables = run("calibration", name, data=data)
    assert document["groups"][name]["runs"] == 1
    assert document["groups"][name]["probabilities"]["ECE"] < 0.1
    assert f"| {name} | .0" in tables["calibration"]
    document, tables = run("calibration", "F/plain", runs=2)
    figures = document["families"]["F"]["plain"]
    assert figures["runs"] == 2
    assert tables["calibration"].startswith("| family | F |")


def test_configurations_of_scenes() -> None:
    settings = "100 matches, 80% inliers, 0.3 px"
    document, _ = run("configurations", f"synthetic/pose/planar/{settings}", f"wrong_translations/{settings}", scenes=2)
    assert document["synthetic"]["pose, planar"]["right"][settings] == 1
    assert document["wrong_translations"][settings]["bansac"] == 0


def test_honesty_of_noise_scenes_and_sets(data: Path) -> None:
    noise = "false success/line/N = 200/3 px/grid", "samplers/ar/line/uniform"
    families = (f"{part}/homography/N = 300/grid 1" for part in ("families", "families without a model"))
    document, tables = run("honesty", *noise, *families, "power/ellipse/10", "real", data=data, runs=2)
    assert document["false success"] == {"line, N = 200, 3 px, grid": 0}
    assert document["power"]["ellipse, 10 exact of 10"] == {"runs": 2, "right": 2, "success": 2}
    assert document["real"]["essential, kitti_seq1"] == {"runs": 2, "right": 2, "right but no success": 0}
    assert "families without a model: 1 cells, 0 above 1 %" in "; ".join(document["notes"])
    assert "| families with a model | 1 | 2 | 2 | 2 |" in tables["misleading-scenes"]


def test_covariance_of_lines_and_poses() -> None:
    document, tables = run("covariance", problems=("line", "absolute_pose", "relative_pose"), runs=10)
    assert 0.3 < document["problems"]["line"]["300 points"]["mean"] < 3
    assert document["problems"]["absolute_pose"]["every match three times"]["doubted"] == 0
    assert "| `line` | 2 |" in tables["covariances"]
    assert "| 6 matches | `absolute_pose` |" in tables["awkward-covariances"]
    assert "`line`" not in tables["awkward-covariances"]
    assert "| depths, noise of 5 % | `relative_pose` |" in tables["awkward-covariances"]


def test_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    from bansac_lab.measurements import scale

    monkeypatch.setattr(scale, "SIZES", (1000, 12_000))
    for problem in ("rigid 3d", "plane"):
        units = (f"{problem}/0.6/{n}/0" for n in scale.SIZES)
        document, tables = run("scale", *units, problems=(problem,), repeats=1)
        errors = document["tables"]["scale-errors"]["rows"][-1]["values"]
        assert errors[1] < errors[0] < scale.SPATIAL_NOISE
        assert f"| {problem}, 60 % inliers, default | " in tables["scale"]
    labels = [row.label for row in scale.page_table(reports.bench("scale")).rows]
    assert "H, 10 % inliers, default" in labels
    assert "H, 60 % inliers, poselib" in labels
    assert "H, 10 % inliers, poselib" not in labels


def test_labelled_matches(data: Path) -> None:
    document, tables = run("labelled", data=data / "F_labelled", repeats=1)
    assert document["thresholds"]["1"]["check_points"]["found_within"]["default"]["1"] > 0.9
    assert "\n| a | " in tables["check-points"]
    assert "\n| prosac | 1.00 | 1.00 |" in tables["found-within"]


def test_replacements_have_a_model_where_the_others_are_right() -> None:
    document, tables = run("replacements", repeats=2)
    assert len(document["counts"]) == 12
    assert all(row["calls"] == 2 and row["theirs right, ours None"] == 0 for row in document["counts"].values())
    assert "\n| `solvePnPRansac` | 2 |" in tables["replacements"]


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_has_its_true_model(name: str) -> None:
    scene = known_scene(name, 60, 0.8, 0.0, 1)
    result = FUNCTIONS[name](*scene.arguments, threshold=1e-3)
    assert result.inliers[scene.inliers].all()
    numbers = np.concatenate([np.ravel(part) for part in result.model])
    near = min(np.abs(numbers - sign * scene.model.ravel()).max() for sign in (1, -1))
    assert near < 1e-4 * max(1, np.abs(scene.model).max())
