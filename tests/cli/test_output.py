"""Nothing is lost: inputs are never replaced, earlier results only if that is asked for, and then as a whole."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac.cli.output import ResultFolder
from bansac.matches import load_demo


@pytest.fixture
def data(tmp_path: Path, plane: Any) -> Path:
    scores = np.where(plane.inliers, 0.9, 0.1)
    np.savez(tmp_path / "data.npz", x1=plane.x1, x2=plane.x2, scores=scores, K=np.diag([500.0, 500, 1]))
    return tmp_path / "data.npz"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_an_input_is_never_replaced(bansac: Any, data: Path, more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = data.read_bytes()
    link = data.with_name("link.npz")
    link.symlink_to(data)
    monkeypatch.chdir(data.parent)
    for file in ("data.npz", data, "link.npz"):
        for out in (".", data.parent):
            message = bansac.refused("estimate", file, "--model", "H", "--out", out, *more)
            assert "is read, and the results would replace it" in message
    assert data.read_bytes() == before
    assert names(data.parent) == ["data.npz", "link.npz"]


def test_a_calibration_and_images_are_inputs_too(bansac: Any, data: Path, matches_csv: Path) -> None:
    calib = matches_csv.with_name("result.json")
    calib.write_text(json.dumps({"K": np.diag([500.0, 500, 1]).tolist()}))
    arguments = ("estimate", matches_csv, "--model", "E", "--calib", calib, "--out", data.parent, "--overwrite")
    assert "result.json is read" in bansac.refused(*arguments)
    pair = load_demo()
    image = data.with_name("matches.png")
    image.write_bytes(pair.image1.read_bytes())
    arguments = ("match", image, pair.image2, "--model", "H", "--out", data.parent, "--overwrite")
    assert "matches.png is read" in bansac.refused(*arguments)


def test_scores_and_cameras_are_kept_and_read_again(bansac: Any, scene: Any, tmp_path: Path) -> None:
    file, out = tmp_path / "scene.npz", tmp_path / "out"
    np.savez(file, x1=scene.x1, x2=scene.x2, scores=np.where(scene.inliers, 0.9, 0.1), K=scene.K)
    document = bansac.json("estimate", file, "--model", "E", "--threshold", "1", "--out", out)
    with np.load(out / "data.npz") as kept, np.load(file) as given:
        np.testing.assert_array_equal(kept["scores"], given["scores"])
        for name in ("K1", "K2"):
            np.testing.assert_array_equal(kept[name], given["K"])
    again = bansac.json("estimate", out / "data.npz", "--model", "E", "--threshold", "1")
    assert again["parameters"] == document["parameters"]


def test_an_earlier_result_is_refused_before_the_work(bansac: Any, matches_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bansac("estimate", matches_csv, "--model", "H", "--out", out)
    before = {name: (out / name).read_bytes() for name in names(out)}
    message = bansac.refused("estimate", matches_csv, "--model", "F", "--out", out)
    assert "out has result.json, data.npz already; name another place, or replace it with --overwrite" in message
    (out / "result.json").unlink()
    assert "out has data.npz already" in bansac.refused("estimate", matches_csv, "--model", "F", "--out", out)
    (out / "result.json").write_bytes(before["result.json"])
    assert {name: (out / name).read_bytes() for name in names(out)} == before
    replaced = bansac.json("estimate", matches_csv, "--model", "F", "--out", out, "--overwrite")
    assert json.loads((out / "result.json").read_text()) == replaced
    assert replaced["model"] == "F"


def test_a_folder_that_has_the_name_of_a_file_is_refused(bansac: Any, matches_csv: Path, tmp_path: Path) -> None:
    message = bansac.refused("estimate", matches_csv, "--model", "H", "--out", tmp_path / "x.csv")
    assert "x.csv': it gets result.json and data.npz; only many pairs have their results in one file" in message
    assert not (tmp_path / "x.csv").exists()


def test_figures_of_an_earlier_run_go_with_it(bansac: Any, matches_csv: Path, tmp_path: Path) -> None:
    pair, out = load_demo(), tmp_path / "out"
    document = bansac.json("match", pair.image1, pair.image2, "--model", "H", "--max-size", "320", "--out", out)
    assert sorted(document["files"]) == names(out)
    (out / "mine.txt").write_text("not a part of the result")
    document = bansac.json("estimate", matches_csv, "--model", "H", "--out", out, "--overwrite")
    assert sorted(document["files"]) == ["data.npz", "result.json"]
    assert names(out) == ["data.npz", "mine.txt", "result.json"]


def test_a_result_that_names_other_files_takes_nothing_else_away(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "precious").write_text("")
    for text in ('{"files": ["../precious", "/etc/passwd", 3]}', '{"files": ["../precious"]}', "[]", "not json"):
        (tmp_path / "out" / "result.json").write_text(text)
        folder = ResultFolder(tmp_path / "out", [], overwrite=True)
        with folder.replacing({}):
            pass
    assert names(tmp_path) == ["out", "precious"]


def test_a_failed_write_leaves_the_earlier_result(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path, ["a.txt"], overwrite=False)
    with folder.replacing({}):
        folder.write_text("a.txt", "old")
    assert folder.files == [str(tmp_path / "a.txt"), str(tmp_path / "result.json")]
    folder = ResultFolder(tmp_path, ["a.txt"], overwrite=True)

    def replace_by_half() -> None:
        with folder.replacing({}):
            folder.write_text("a.txt", "new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_by_half()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt", "result.json"]


@pytest.mark.parametrize(
    ("document", "other"),
    [({"experiment": "another"}, "experiment another"), ({"experiment": "curve-example", "seed": 1}, "seed 1")],
)
def test_experiments_are_not_mixed(bansac: Any, tmp_path: Path, document: Any, other: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps(document))
    message = bansac.refused("experiments", "run", "curve-example", "--out", tmp_path)
    assert f"has the results of another run ({other})" in message
