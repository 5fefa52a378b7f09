"""The rows of a run: their seconds, their order and their CSV file."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bansac.batch.journal import Unit
from bansac.batch.output_files import OutputFolder
from bansac_lab.rows import Rows, TimedJournal, write_rows
from tests.batch.test_journal import A, B, C, fill, rows_of


def busy_journal(path: Path) -> TimedJournal:
    """Return a journal of two units that ran beside others."""
    journal = TimedJournal(path, "0123")
    for unit in (A, C):
        journal.add(unit, rows_of(unit), alone=False)
    return journal


def test_rows_are_in_the_order_of_the_units(tmp_path: Path) -> None:
    with TimedJournal(fill(tmp_path), "0123") as journal:
        rows = Rows(journal, [C, B, A])
        assert [row["unit"] for row in rows] == ["c", "c", "a", "a"]
        assert next(iter(rows)) == rows_of(C)[0], "and can be gone through again"
        assert list(rows)[1] == {"unit": "c", "error": 0.1, "stop": None, "seconds": None}


@pytest.mark.parametrize("column", ["columns", "cells", "seconds"])
def test_damaged_row_is_named(tmp_path: Path, column: str) -> None:
    path = tmp_path / "j.sqlite"
    with busy_journal(path) as journal:
        journal.add_times(A, rows_of(A))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE units SET {column} = '[[1, 2'")
    with (
        TimedJournal(path, "0123") as journal,
        pytest.raises(OSError, match=r"the journal '.*j\.sqlite' is damaged: "),
    ):
        journal.rows(A)


def test_seconds_of_busy_machines_do_not_count(tmp_path: Path) -> None:
    with busy_journal(tmp_path / "j.sqlite") as journal:
        assert [row["seconds"] for row in Rows(journal, [A, C])] == [None] * 4
        assert journal.lacks_times(A)
        assert not journal.lacks_times(C), "it takes no part in the pass for the times"
        assert not journal.lacks_times(B)
        journal.add_times(A, [{"seconds": 1.0}, {"seconds": 2.0}])
        assert not journal.lacks_times(A)
        assert [row["seconds"] for row in journal.rows(A)] == [1.0, 2.0]
        # B ran alone, but its repeats beyond 0 would weigh more than those of A.
        late = Unit("d", timed=False)
        journal.add(late, rows_of(late))
        assert journal.rows(late)[0]["seconds"] is None


def test_rows_of_different_columns(tmp_path: Path) -> None:
    rows: list[Any] = [{"a": 1, "b": None}, {"a": 0.1, "c": "x, y"}, {"b": True, "c": float("inf")}]
    write_rows(OutputFolder(tmp_path), "rows.csv", rows)
    assert (tmp_path / "rows.csv").read_bytes() == b'a,b,c\n1,,\n0.1,,"x, y"\n,True,inf\n'
