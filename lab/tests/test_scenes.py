"""Scenes have the truth that they are judged by; missing methods are named, and rows have what the methods answer."""

from typing import Any

import numpy as np
import pytest

from bansac.geometry import apply_transform, rotation_matrix
from bansac_lab import scenes
from bansac_lab.peers.library import Method
from bansac_lab.scenes import PROBLEMS, Scene, choose, errors, is_right, make_scene, run_scene
from lab.tests.peers.toy import Toy

SMALL = (100, 0.4, 0.5, 3)  # n, inlier ratio, noise, seed


def true_model(scene: Scene) -> Any:
    if scene.problem in ("circle", "line"):
        return scene.truth
    return (scene.truth.R, scene.truth.t) if scene.problem == "pose" else getattr(scene.truth, scene.problem)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_true_model_has_no_error_and_none_a_large_one(problem: str) -> None:
    scene = make_scene(problem, *SMALL)
    assert int(scene.inliers.sum()) == 40
    assert all(value < 1e-4 for value in errors(scene, true_model(scene)).values())
    assert all(value >= 180 for value in errors(scene, None).values())


@pytest.mark.parametrize("problem", ["H", "E", "F", "pose"])
def test_true_model_is_right_and_one_that_leaves_the_inliers_is_not(problem: str) -> None:
    scene = make_scene(problem, *SMALL)
    assert is_right(scene, true_model(scene), 2.0)
    assert not is_right(scene, true_model(scene), 0.1)


def test_model_near_the_inliers_is_wrong_if_an_error_is_large() -> None:
    scene = make_scene("pose", *SMALL)
    R, t = true_model(scene)
    near = rotation_matrix([0, 0, np.radians(1.5)]) @ R
    centre_kept = near @ R.T @ t
    found = errors(scene, (near, centre_kept))
    assert found["rotation_error"] == pytest.approx(1.5)
    assert found["centre_error"] == pytest.approx(0, abs=1e-9)
    assert not is_right(scene, (near, centre_kept), 1e6)


def test_points_of_a_pose_are_seen_where_the_camera_sees_them() -> None:
    scene = make_scene("pose", 100, 0.4, 0.0, 3)
    X, x, K = scene.data
    R, t = true_model(scene)
    assert np.isfinite(X).all()
    assert (X[:, 2] >= 4 - 1e-9).all()
    distances = np.hypot(*(apply_transform(K, X @ R.T + t) - x).T)
    assert distances[scene.inliers].max() < 1e-8
    assert np.median(distances[~scene.inliers]) > 50


def test_errors_of_curves_are_in_pixels() -> None:
    line, circle = make_scene("line", *SMALL), make_scene("circle", *SMALL)
    assert errors(line, line.truth + np.array([0, 0, 3.0]))["distance"] == pytest.approx(3)
    assert errors(circle, circle.truth + np.array([0, 0, 3.0]))["distance"] == pytest.approx(3)


def test_missing_library_is_left_out_with_a_note_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ghost = Method("ghost", library=Toy(package="no_such_package"))
    monkeypatch.setattr(scenes, "PEERS", (ghost,))
    methods, notes = choose(None)
    assert ghost not in methods
    assert notes == ["ghost is left out: no_such_package is not installed"]
    with pytest.raises(ModuleNotFoundError, match="ghost needs the package no_such_package"):
        choose(["ghost"])


def test_rows_say_what_the_methods_answer() -> None:
    thresholds: list[Any] = []
    toy = Toy(answer=lambda task, settings: thresholds.append(settings["threshold"]))
    methods = [Method("a", library=toy), Method("b", {"threshold": 3.0}, toy), scenes.OURS[0]]
    scene = make_scene("H", 10, 1.0, 0.0, 0)
    rows = run_scene(scene, methods, "key", 0, lambda scene, model: {"judged": model is None})
    assert sorted(thresholds) == [2.0, 3.0]
    assert [(row["method"], row["found"], row["success"], row["judged"]) for row in rows] == [
        ("a", False, False, True),
        ("b", False, False, True),
        ("default", True, True, False),
    ]
    assert [row.get("stop_reason") for row in rows[:2]] == [None, None]
    assert rows[2]["iterations"] > 0
