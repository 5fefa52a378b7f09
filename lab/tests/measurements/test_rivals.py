"""Scenes have two structures; a report counts what is claimed and what is called ambiguous."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bansac.geometry import apply_transform
from bansac.synthetic import homography_matches
from bansac_lab.measurement import Setup
from bansac_lab.measurements import rivals
from bansac_lab.measurements.rival_scenes import CLASSES, OVERLAYS, add_overlay
from bansac_lab.measurements.rivals import MEASUREMENT
from bansac_lab.peers.library import Method
from bansac_lab.scenes import errors, run_scene
from lab.tests.pair_sets import write_homography_set, write_pose_set
from lab.tests.peers.toy import Toy


@pytest.mark.parametrize("name", CLASSES)
def test_truth_is_right_and_scenes_differ_by_seed(name: str) -> None:
    scene, again, other = (CLASSES[name][1](seed) for seed in (3, 3, 4))
    truth = scene.truth
    true = getattr(truth, scene.problem, truth) if name == "parallel" or len(scene.problem) == 1 else (truth.R, truth.t)
    assert next(iter(errors(scene, true).values())) < 0.1
    last = min(1, len(scene.data) - 1)
    np.testing.assert_array_equal(scene.data[last], again.data[last])
    assert scene.data[last].shape != other.data[last].shape or (scene.data[last] != other.data[last]).any()


def test_far_and_narrow_scenes_have_their_depths() -> None:
    depths = CLASSES["far-90"][1](0).truth.points[:, 2]
    near = depths[np.isfinite(depths)] < 100
    assert 0.05 < near.mean() < 0.15
    truth = CLASSES["narrow"][1](0).truth
    assert truth.K1[0, 0] > 8 * 640
    assert np.ptp(truth.points[truth.inliers, 2]) < 0.3 * np.median(truth.points[truth.inliers, 2])


@pytest.mark.parametrize("name", ["half-turn", "period"])
def test_a_symmetric_target_has_a_twin_with_more_support(name: str) -> None:
    scene = CLASSES[name][1](0)
    x1, moved = scene.truth.x1, apply_transform(np.linalg.inv(scene.truth.H), scene.truth.x2)
    middle, shift = (x1 + moved) / 2, moved - x1  # a half-turn has one centre, a shift one length
    twins = middle if name == "half-turn" else shift
    support = max(np.count_nonzero(np.linalg.norm(twins - of, axis=1) < 10) for of in twins[~scene.inliers])
    assert support > np.count_nonzero(scene.inliers)


def test_a_merged_plane_is_wrong() -> None:
    scene = CLASSES["parallel"][1](0)
    points, plane = scene.data[0], scene.truth
    along = points @ plane[:3] + plane[3]
    merged = plane - [0, 0, 0, np.mean(along[(along > -12) & (along < 72)])]
    assert not rivals._judge(scene, merged)["right"]
    assert rivals._judge(scene, plane)["right"]
    assert not rivals._judge(scene, None)["right"]


def test_the_wrong_focal_length_is_given_and_the_true_one_judges() -> None:
    scene = CLASSES["focal"][1](0)
    factor = scene.data[2][0, 0] / scene.truth.K1[0, 0]
    assert 1.2 <= max(factor, 1 / factor) <= 1.4
    np.testing.assert_array_equal(scene.data[2][:2, 2], scene.truth.K1[:2, 2])


@pytest.mark.parametrize("kind", OVERLAYS)
def test_overlay_is_static_and_in_its_fields(kind: str) -> None:
    matches = homography_matches(500, 0.5, 1.0, 0)
    found, mask = add_overlay(matches, 0.2, np.random.default_rng(0), kind)
    assert int(mask.sum()) == 100
    assert not (mask & matches.inliers).any()
    np.testing.assert_array_equal(found.x1[~mask], matches.x1[~mask])
    assert np.abs(found.x1 - found.x2)[mask].max() < 1
    place, fields = found.x1[mask, None] / [640, 480], np.array(OVERLAYS[kind])
    assert ((place >= fields[:, :2]) & (place <= fields[:, 2:])).all(axis=2).any(axis=1).all()


def row(method: str, right: bool, success: bool, configuration: str | None, **more: Any) -> dict[str, Any]:
    verdict = {"right": right, "success": success, "configuration": configuration}
    return {"class": "a", "method": method, "undecided": False, "seconds": 0.002, **verdict, **more}


def test_claims_and_ambiguous_answers_are_counted() -> None:
    rows = [
        row("default", False, True, "pure_rotation", rival_right=True),
        row("default", False, True, "ambiguous", rival_right=False),
        row("default", False, False, "general"),
        row("default", True, True, "ambiguous", rival_right=False),
        row("default", True, True, "ambiguous", undecided=True),
        row("default", True, False, None),
        row("poselib", False, True, None),
    ]
    (table,) = MEASUREMENT.report(Setup(), rows).tables.values()
    found = {line.labels[0]: dict(zip(table.columns, line.values, strict=True)) for line in table.rows}
    counts = {"wrong": 3, "claimed": 1, "rival": 1, "right": 3, "ambiguous": 1, "undecided": 1, "refused": 1}
    assert found["default"] == pytest.approx({"runs": 6, **counts, "mean [ms]": 2.0, "median [ms]": 2.0})
    assert (found["poselib"]["wrong"], found["poselib"]["claimed"]) == (1, 1)


def test_second_hypothesis_is_judged() -> None:
    class WithRival(Toy):
        def _read(self, task: Any, answer: Any) -> Any:
            return answer.model, None

    scene = CLASSES["H"][1](0)
    answer = SimpleNamespace(model=np.eye(3), rival=SimpleNamespace(model=scene.truth.H), success=True)
    answer.configuration = answer.stop_reason = answer.iterations = answer.threshold = None
    library = WithRival(package="bansac", answer=lambda task, settings: answer)
    (found,) = run_scene(scene, [Method("toy", library=library)], "", 0, rivals._judge)
    assert (found["right"], found["rival_right"]) == (False, True)


def test_short_run_on_synthetic_and_on_real_pairs(tmp_path: Path) -> None:
    write_pose_set(tmp_path / "EF" / "room", pairs=1)
    write_homography_set(tmp_path / "H" / "wall", pairs=1)
    classes = ("start", "target", "real-H", "real-F", "real-pose")
    setup = MEASUREMENT.resolve(Setup(data=tmp_path, repeats=1, classes=classes))
    units = list(MEASUREMENT.units(setup))
    rows = [row for unit in units for row in MEASUREMENT.run_unit(setup, unit)]
    assert tuple(unit.payload[0] for unit in units) == classes
    document = MEASUREMENT.report(setup, rows)
    cells = {(cell["class"], cell["method"]): cell for cell in document.records["cells"]}
    assert cells["H, initial model = identity", "no start"]["right"] == 1
    assert cells["real pairs, H", "default"]["right"] == cells["real pairs, relative pose", "default"]["right"] == 1
