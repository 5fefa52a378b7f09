from pathlib import Path

import pytest

from bansac.batch.output_files import OutputFolder


def test_folder_is_tried_out_and_tells_its_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="--out: cannot write into"):
        OutputFolder(tmp_path / "file" / "out")
    folder = OutputFolder(tmp_path / "deep" / "out")
    folder.write_text("a.txt", "ä")
    assert (tmp_path / "deep" / "out" / "a.txt").read_bytes() == "ä".encode()
    folder.write_json("b.json", {"x": 1})
    assert (tmp_path / "deep" / "out" / "b.json").read_text() == '{\n  "x": 1\n}\n'
    assert folder.files == [str(tmp_path / "deep" / "out" / name) for name in ("a.txt", "b.json")]
