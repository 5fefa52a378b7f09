import json
from pathlib import Path
from typing import Any

import pytest

from bansac_lab.peers.methods import PRESET_METHODS
from lab.tests.pair_sets import remove_entry, write_homography_set, write_pose_set


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    write_pose_set(tmp_path / "sets" / "room", pairs=2)
    write_pose_set(tmp_path / "sets" / "yard", pairs=2)
    return tmp_path / "sets"


def test_report(bansac: Any, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports" / "E.json"
    document = bansac.json(
        "bench", sets, "--model", "E", "--methods", "p-bansac,uniform", "--repeats", "1", "--out", out
    )
    assert json.loads(out.read_text()) == document
    assert document["protocol"] == {
        "kind": "E",
        "threshold": 1e-3,
        "max_iterations": 1000,
        "confidence": 0.999,
        "max_ratio": 0.85,
        "min_matches": 26,
        "pairs": 43,
        "repeats": 1,
    }
    assert set(document["sets"]) == {"room", "yard"}
    assert set(document["mean"]["p-bansac"]) >= {"mAA_R@5", "mAA_t@10", "AUC@5", "AUC@10", "AUC@20", "ms_mean"}
    assert document["mean"]["p-bansac"]["AUC@10"] > 0.8


@pytest.mark.slow
def test_tables(bansac: Any, sets: Path) -> None:
    shown = bansac("bench", sets, "--model", "F", "--methods", "bansac", "--repeats", "1", "--exclude", "yard").stdout
    assert "room (2 pairs)" in shown
    assert "AUC 5/10/20" in shown
    assert "yard" not in shown


def test_homographies_and_settings(bansac: Any, tmp_path: Path) -> None:
    folder = write_homography_set(tmp_path / "wall")
    document = bansac.json("bench", folder, "--model", "H", "--pairs", "2", "--threshold", "2", "--max-ratio", "0.9")
    assert document["sets"]["wall"]["pairs"] == 2
    assert document["protocol"]["threshold"] == 2
    assert document["protocol"]["max_ratio"] == 0.9
    assert document["mean"]["p-bansac"]["mAA@10"] > 0.9


def test_a_folder_of_mixed_sets_runs_those_of_the_model(bansac: Any, sets: Path) -> None:
    write_homography_set(sets / "wall")
    arguments = ("bench", sets, "--methods", "bansac", "--repeats", "1")
    assert set(bansac.json(*arguments, "--model", "E")["sets"]) == {"room", "yard"}
    assert set(bansac.json(*arguments, "--model", "H")["sets"]) == {"wall"}
    assert "--model E needs sets with poses as truth, not wall" in bansac.refused(
        *arguments, "--model", "E", "--sets", "room,wall"
    )
    assert "needs sets with homographies as truth, not room, yard" in bansac.refused(
        *arguments, "--model", "H", "--exclude", "wall"
    )


def test_a_report_is_replaced_only_if_that_is_asked_for(bansac: Any, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "E.json"
    out.write_text("mine")
    arguments = ("bench", sets, "--model", "E", "--methods", "bansac", "--repeats", "1", "--out", out)
    assert "E.json is there already" in bansac.refused(*arguments)
    assert out.read_text() == "mine"
    assert bansac.json(*arguments, "--overwrite") == json.loads(out.read_text())


@pytest.mark.slow
def test_budgets_give_curves(bansac: Any, sets: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    out = tmp_path / "reports" / "F.json"
    arguments = ("bench", sets, "--model", "F", "--methods", "default", "--against", "uniform,prosac@2")
    arguments += ("--repeats", "1", "--budgets", "300,30,30")
    document = bansac.json(*arguments, "--out", out)
    assert json.loads(out.read_text()) == document
    assert document["budgets"] == [30, 300]
    assert list(document["mean"]) == ["default", "uniform", "prosac@2"]
    assert [point["max_iterations"] for point in document["mean"]["default"]] == [30, 300]
    assert document["settings"]["prosac@2"]["threshold"] == 2
    assert document["mean"]["default"][1]["AUC@10"] > 0.8
    assert sorted(path.name for path in out.parent.iterdir()) == ["F.json", "F.png", "F.svg"]
    shown = bansac(*arguments, "--sets", "room").stdout
    assert "Fundamental matrix: AUC@10 within a mean time of" in shown
    assert "Means over 1 set: room." in shown


def test_presets_are_compared_with_others(bansac: Any, sets: Path) -> None:
    document = bansac.json("bench", sets, "--model", "F", "--against", "uniform", "--repeats", "1", "--sets", "room")
    presets = [method.name for method in PRESET_METHODS]
    assert presets[0] == "default"
    assert list(document["mean"]) == [*presets, "uniform"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--budgets", "30,300")])
def test_interrupted_run_goes_on(
    bansac: Any, sets: Path, tmp_path: Path, interrupt: Any, more: tuple[str, ...]
) -> None:
    out = tmp_path / "F.json"
    arguments = ("bench", sets, "--model", "F", "--methods", "bansac", "--repeats", "1", "--out", out, *more)
    with interrupt(1):
        assert "interrupted" in bansac(*arguments, code=130).stderr
    assert not out.exists()
    assert "continuing an earlier run: 1 of 4 units are done" in bansac(*arguments).stderr
    assert out.exists()
    assert not out.with_suffix(".sqlite").exists()
    assert "continuing" not in bansac(*arguments, "--overwrite").stderr


def test_damaged_pair_is_an_error(bansac: Any, sets: Path) -> None:
    remove_entry(sets / "room" / "K1_K2.h5", "0a-0b")
    message = bansac.refused("bench", sets, "--model", "F", "--methods", "bansac", "--repeats", "1")
    assert "1 of 4 units have failed, the first is F/room/0a-0b/0" in message
    assert "K1_K2.h5 lacks '0a-0b'" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "E", "--methods", "nobody"], "unknown method 'nobody'"),
        (["--model", "E", "--against", "nobody"], "unknown method 'nobody'"),
        (["--model", "E", "--budgets", "100,many"], "must be whole numbers joined by commas, got 'many'"),
        (["--model", "E", "--budgets", "1.5"], "must be whole numbers joined by commas, got '1.5'"),
        (["--model", "E", "--budgets", "10", "--max-iterations", "10"], "--max-iterations: --budgets gives"),
        (["--model", "E", "--budgets", "10", "--out", "E.svg"], "--out: the report must not be a .svg file"),
        (["--model", "E", "--sets", "cellar"], "--sets: there is no set 'cellar'; there are room, yard"),
        (["--model", "E", "--exclude", "room,yard"], "--exclude leaves none"),
        (["--model", "E", "--max-ratio", "0.1"], "no pair with 26 matches"),
    ],
)
def test_bad_argument_is_named(bansac: Any, sets: Path, arguments: list[str], message: str) -> None:
    assert message in bansac.refused("bench", sets, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["speed", "--seconds", "0"], "seconds must be at least 0.001"),
        (["speed", "--max-points", "10"], "max_points must be at least 30"),
        (["speed", "--peers", "colmap"], "got 'colmap'"),
        (["hard", "--problems", "G"], "problems must be among"),
        (["hard", "--methods", "magic"], "got 'magic'"),
        (["hard", "--seeds", "0"], "repeats must be at least 1"),
        (["noise", "--problems", "rotation"], "got 'rotation'"),
        (["rivals", "--classes", "real-H"], "real pairs need --data"),
        (["rivals", "--overwrite"], "--overwrite needs --out"),
    ],
)
def test_bad_argument_of_a_measurement_is_named(bansac: Any, arguments: list[str], message: str) -> None:
    assert message in bansac.refused("bench", *arguments)


def test_bad_folder_is_named(bansac: Any, sets: Path, tmp_path: Path, blocked: Path) -> None:
    assert "no measurement or folder" in bansac.refused("bench", tmp_path / "nowhere")
    for command in ((sets, "--model", "E"), ("speed",)):
        assert "--out: cannot write" in bansac.refused("bench", *command, "--out", blocked)
        assert "is a folder" in bansac.refused("bench", *command, "--out", tmp_path)
    broken = sets / "room" / "matches.h5"
    broken.write_bytes(broken.read_bytes()[:1000])
    assert "matches.h5" in bansac.refused("bench", sets, "--model", "E")
