"""Unknown or missing methods are named; rows have what the methods answer."""

from __future__ import annotations

from typing import Any

import pytest

from bansac.lab import scenes
from bansac.lab.peers.library import Method
from bansac.lab.scenes import choose, make_scene, run_scene
from tests.lab.peers.toy import Toy


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
