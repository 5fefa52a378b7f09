"""Estimators solve easy scenes, and unknown or missing ones are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bansac.lab.evaluation.hard import estimators
from bansac.lab.evaluation.hard.estimators import PEERS, Answer, Estimator, choose, run_scene
from bansac.lab.measurements.planes import make_plane_scene
from bansac.lab.scenes import Scene, errors, is_right, make_scene


@pytest.mark.parametrize("problem", ["H", "E", "F", "pose"])
@pytest.mark.parametrize("estimator", PEERS, ids=lambda estimator: estimator.name)
def test_every_library_solves_an_easy_scene(estimator: Estimator, problem: str) -> None:
    if not estimator.installed:
        pytest.skip(f"{estimator.package} is not installed")
    scene = make_scene(problem, 200, 0.8, 0.2, 1)
    answer, seconds = estimator.run(scene, 1)
    assert answer.success
    assert is_right(scene, answer.model, 2.0)
    assert seconds > 0


def test_poselib_solves_a_relative_pose() -> None:
    if not estimators.POSELIB.installed:
        pytest.skip("poselib is not installed")
    scene = make_plane_scene("row", 0.95, 0.6, 1)
    assert errors(scene, estimators.POSELIB.run(scene, 1)[0].model)["pose_error"] < 2


def test_missing_library_is_left_out_with_a_note_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ghost = Estimator("ghost", package="no_such_package")
    monkeypatch.setattr(estimators, "PEERS", (ghost,))
    chosen, notes = choose(None)
    assert ghost not in chosen
    assert notes == ["ghost is left out: no_such_package is not installed"]
    with pytest.raises(ModuleNotFoundError, match="ghost needs the package no_such_package"):
        choose(["ghost"])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown method 'magic'; the methods are default"):
        choose(["magic"])


def test_rows_say_what_the_estimators_answer() -> None:
    def call(scene: Scene, seed: int, settings: Mapping[str, Any]) -> Answer:
        return Answer(None, False, {"threshold": settings["threshold"]})

    scene = make_scene("H", 10, 1.0, 0.0, 0)
    chosen = [Estimator(name, {"threshold": value}, call) for name, value in (("a", 1.0), ("b", 2.0))]
    rows = run_scene(scene, chosen, "key", 0, lambda model: {"judged": model is None})
    assert [(row["method"], row["threshold"], row["found"], row["judged"]) for row in rows] == [
        ("a", 1.0, False, True),
        ("b", 2.0, False, True),
    ]
