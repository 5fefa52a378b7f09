from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bansac.batch.output_files import OutputFolder
from bansac.matches.storage import to_json, write_atomically


def test_json_is_strict() -> None:
    document = {"a": np.float64(np.inf), "b": np.array([[1.0, np.nan]]), "c": (np.int64(3), True, None), 4: "x"}
    assert json.loads(to_json(document)) == {"a": None, "b": [[1.0, None]], "c": [3, True, None], "4": "x"}


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    folder.write_json("a.json", {"x": 1})

    def fails(path: Path) -> None:
        path.write_text("half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(folder.path / "a.json", fails)
    assert json.loads((folder.path / "a.json").read_text()) == {"x": 1}
    assert [path.name for path in folder.path.iterdir()] == ["a.json"]


def test_folder_is_tried_out_and_tells_its_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="--out: cannot write into"):
        OutputFolder(tmp_path / "file" / "out")
    folder = OutputFolder(tmp_path / "deep" / "out")
    folder.write_text("a.txt", "ä")
    assert (tmp_path / "deep" / "out" / "a.txt").read_bytes() == "ä".encode()
    assert folder.files == [str(tmp_path / "deep" / "out" / "a.txt")]
