"""``bansac bench posebench`` on files of posebench's format."""

import json
from pathlib import Path
from typing import Any

from lab.tests.posebench_files import write_folder


def test_report_of_every_problem(bansac: Any, tmp_path: Path) -> None:
    folder, out = write_folder(tmp_path / "data", 3), tmp_path / "posebench.json"
    document = bansac.json("bench", "posebench", folder, "--subsample", "2", "--out", out)
    assert json.loads(out.read_text()) == document
    assert set(document["tables"]) == {"relative", "absolute", "homography"}
    found = {(row["set"], row["method"]): row for row in document["metrics"]}
    for method in ("E (bansac)", "F (bansac)", "E (bansac, its own settings)"):
        assert found["synthetic_relative", method]["instances"] == 2
        assert found["synthetic_relative", method]["AUC 20"] > 0.8
    assert found["synthetic_absolute", "PnP (bansac)"]["AUC 5"] > 0.9
    assert found["synthetic_homography", "H (bansac)"]["AUC 20"] > 0.8
    table = bansac("bench", "posebench", folder, "--sets", "synthetic_homography", "--subsample", "3").stdout
    assert "posebench: homographies" in table
    assert "H (bansac)" in table


def test_bad_input_is_named(bansac: Any, tmp_path: Path) -> None:
    assert "no file of posebench in" in bansac.refused("bench", "posebench", tmp_path)
    folder = write_folder(tmp_path / "data", 1)
    assert "there is no set 'museum'" in bansac.refused("bench", "posebench", folder, "--sets", "museum")
    assert "subsample must be at least 1" in bansac.refused("bench", "posebench", folder, "--subsample", "0")
