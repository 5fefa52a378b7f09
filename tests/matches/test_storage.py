"""Strict JSON, and files that are written at once or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest

from bansac.matches.storage import to_json, write_atomically


def test_json_is_strict() -> None:
    document = {"a": np.float64(np.inf), "b": np.array([[1.0, np.nan]]), "c": (np.int64(3), True, None), 4: "x"}
    assert json.loads(to_json(document)) == {"a": None, "b": [[1.0, None]], "c": [3, True, None], "4": "x"}


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.json", lambda path: path.write_text("whole"))

    def fails(path: Path) -> None:
        path.write_text("half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a.json", fails)
    assert (tmp_path / "a.json").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_missing_folder_is_named_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a\.json: there is no folder .*none$"):
        write_atomically(tmp_path / "none" / "a.json", Path.touch)
