"""The rows of a run: their order and their CSV file."""

from pathlib import Path
from typing import Any

from bansac.batch.journal import Journal
from bansac.batch.output_files import OutputFolder
from bansac_lab.rows import Rows, write_rows
from tests.batch.test_journal import A, B, C, fill, rows_of


def test_rows_are_in_the_order_of_the_units(tmp_path: Path) -> None:
    with Journal(fill(tmp_path), "0123") as journal:
        rows = Rows(journal, [C, B, A])
        assert [row["unit"] for row in rows] == ["c", "c", "a", "a"]
        assert next(iter(rows)) == rows_of(C)[0], "and can be gone through again"
        assert list(rows)[1] == {"unit": "c", "error": 0.1, "stop": None, "seconds": None}


def test_rows_of_different_columns(tmp_path: Path) -> None:
    rows: list[Any] = [{"a": 1, "b": None}, {"a": 0.1, "c": "x, y"}, {"b": True, "c": float("inf")}]
    write_rows(OutputFolder(tmp_path), "rows.csv", rows)
    assert (tmp_path / "rows.csv").read_bytes() == b'a,b,c\n1,,\n0.1,,"x, y"\n,True,inf\n'
