import json
from pathlib import Path
from typing import Any

import pytest

from bansac_lab.measurements import few_inliers, noise


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_inliers, "SIZES", (60,))
    monkeypatch.setattr(few_inliers, "RATIOS", (0.6,))
    monkeypatch.setattr(noise, "SIZES", (60,))
    monkeypatch.setattr(noise, "RATIOS", (0.6,))
    monkeypatch.setattr(noise, "NOISES", (0.5,))


@pytest.mark.slow
def test_hard_writes_a_report_with_figures(bansac: Any, tmp_path: Path) -> None:
    out = tmp_path / "reports" / "hard.json"
    document = bansac.json("bench", "hard", "--problems", "H", "--methods", "default", "--seeds", "2", "--out", out)
    assert json.loads(out.read_text()) == document
    assert document["experiment"] == "hard"
    assert {"date", "versions", "machine", "settings", "seconds"} <= set(document)
    related, unrelated = document["cells"]
    assert (related["inlier_ratio"], related["right"], related["success"]) == (0.6, 1.0, 1.0)
    assert (unrelated["inlier_ratio"], unrelated["success"]) == (0.0, 0.0)
    assert sorted(path.suffix for path in out.parent.iterdir()) == [".json", ".png", ".svg"]


@pytest.mark.slow
def test_failed_units_are_named_and_tried_again(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> Any:
        if arguments[-1] == 1:
            raise ValueError("no luck")
        return make_scene(*arguments)

    make_scene = few_inliers.make_scene
    monkeypatch.setattr(few_inliers, "make_scene", fails)
    options = ("bench", "hard", "--problems", "H", "--methods", "default", "--seeds", "2", "--out", tmp_path / "a.json")
    assert "unit H/0.6/60/1 failed: no luck" in bansac(*options, code=1).stdout
    monkeypatch.setattr(few_inliers, "make_scene", make_scene)
    done = bansac(*options, "--overwrite")
    assert "2 of 4 units are done" in done.stderr
    assert "2 scenes" in done.stdout
    assert not (tmp_path / "a.sqlite").exists()


@pytest.mark.slow
def test_noise_prints_a_table(bansac: Any) -> None:
    noise = bansac("bench", "noise", "--problems", "H", "--seeds", "1").stdout
    assert "over those of the best fixed threshold" in noise
