from __future__ import annotations

from pathlib import Path
from typing import Any

from bansac.experiments import Setup
from bansac.experiments.output import _BLOCK, data_fingerprint, write_rows
from bansac.files import OutputFolder


def test_rows_of_different_columns(tmp_path: Path) -> None:
    rows: list[Any] = [{"a": 1, "b": None}, {"a": 0.1, "c": "x, y"}, {"b": True, "c": float("inf")}]
    write_rows(OutputFolder(tmp_path), "rows.csv", rows)
    assert (tmp_path / "rows.csv").read_bytes() == b'a,b,c\n1,,\n0.1,,"x, y"\n,True,inf\n'


class TestFingerprint:
    def write(self, root: Path, content: bytes = b"x", name: str = "matches.h5", of: str = "room") -> Path:
        path = root / of / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return root

    def digest(self, root: Path, **changes: Any) -> str:
        return str(data_fingerprint(Setup(data=root, **changes))["sha256"])

    def test_it_is_of_the_content_not_of_the_place(self, tmp_path: Path) -> None:
        here, there = self.write(tmp_path / "here"), self.write(tmp_path / "there")
        found = data_fingerprint(Setup(data=here))
        assert found["files"] == 1
        assert found["bytes"] == 1
        assert found["folder"] == str(here)
        assert self.digest(here) == self.digest(there)

    def test_content_names_and_sizes_count(self, tmp_path: Path) -> None:
        plain = self.write(tmp_path / "plain")
        assert (
            len(
                {
                    self.digest(plain),
                    self.digest(self.write(tmp_path / "content", b"y")),
                    self.digest(self.write(tmp_path / "file", name="R.h5")),
                    self.digest(self.write(tmp_path / "set", of="yard")),
                    self.digest(self.write(self.write(tmp_path / "more"), of="yard")),
                }
            )
            == 5
        )

    def test_sets_that_are_not_used_do_not_count(self, tmp_path: Path) -> None:
        both = self.write(self.write(tmp_path / "both"), of="yard")
        alone = self.digest(self.write(tmp_path / "alone"))
        assert self.digest(both, exclude=("yard",)) == alone == self.digest(both, sets=("room",))
        assert self.digest(both) != alone

    def test_large_files_are_sampled(self, tmp_path: Path) -> None:
        content = bytearray(4 * _BLOCK)
        plain = self.digest(self.write(tmp_path / "plain", bytes(content)))
        for k, place in enumerate((0, 2 * _BLOCK, 4 * _BLOCK - 1)):
            changed = content.copy()
            changed[place] = 1
            assert self.digest(self.write(tmp_path / str(k), bytes(changed))) != plain
        assert self.digest(self.write(tmp_path / "longer", bytes(content) + b"\0")) != plain

    def test_no_data(self) -> None:
        assert data_fingerprint(Setup()) == {}
