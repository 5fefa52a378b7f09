import contextlib
import math
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bansac.batch.journal import Journal, Row, Rows, Unit

A, B, C = Unit("a"), Unit("b"), Unit("c", timed=False)


def rows_of(unit: Unit) -> list[Row]:
    return [{"unit": unit.key, "error": math.inf, "stop": None, "seconds": 0.25}, {"unit": unit.key, "error": 0.1}]


def fill(folder: Path, mark: str = "0123", *, alone: bool = True) -> Path:
    with Journal(folder / "j.sqlite", mark) as journal:
        for unit in (A, C):
            journal.add(unit, rows_of(unit), alone=alone)
    return folder / "j.sqlite"


def test_rows_survive_the_disk_in_the_order_of_the_units(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path / "j.sqlite", "0123") as journal:
        assert len(journal) == 2
        assert A in journal
        assert B not in journal
        assert journal.rows(B) == []
        rows = Rows(journal, [C, B, A])
        assert [row["unit"] for row in rows] == ["c", "c", "a", "a"]
        assert next(iter(rows)) == rows_of(C)[0], "and can be gone through again"
        assert list(rows)[1] == {"unit": "c", "error": 0.1, "stop": None, "seconds": None}


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from bansac.batch.journal import Journal
from tests.batch.test_journal import A, B, C, rows_of

journal = Journal(Path(sys.argv[1]), "0123")
journal.add(A, rows_of(A), alone=True)
journal.add(C, rows_of(C), alone=True)
database = journal._database
database.execute("INSERT INTO units VALUES ('0123', 'b', 1, '[]', '[]', NULL)")  # not committed
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_finished_units_survive_a_killed_process_and_the_last_one_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    assert subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, path]).returncode == -signal.SIGKILL
    with Journal(path, "0123") as journal:
        assert len(journal) == 2
        assert journal.rows(C)[0] == rows_of(C)[0]
        assert B not in journal
        journal.add(B, rows_of(B), alone=True)
        assert len(journal) == 3


@pytest.mark.parametrize("size", [50, 5000, 0])
def test_damaged_file_is_named(tmp_path: Path, size: int) -> None:
    path = fill(tmp_path)
    damaged = path.read_bytes().replace(b"sqlite_autoindex", b"\x80qlite_autoindex")  # the name of a table
    path.write_bytes(b"\x00\xff" * (size // 2) + damaged[size:])
    with pytest.raises(OSError, match=r"the journal '.*j\.sqlite' cannot be used: "):
        Journal(path, "0123")


@pytest.mark.parametrize("column", ["columns", "cells", "seconds"])
def test_damaged_row_is_named(tmp_path: Path, column: str) -> None:
    path = fill(tmp_path, alone=False)
    with Journal(path, "0123") as journal:
        journal.add_times(A, rows_of(A))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE units SET {column} = '[[1, 2'")
    with (
        Journal(path, "0123") as journal,
        pytest.raises(OSError, match=r"the journal '.*j\.sqlite' is damaged: "),
    ):
        journal.rows(A)


def test_without_a_file_it_is_in_memory() -> None:
    with Journal(None, "0123") as journal:
        journal.add(A, rows_of(A), alone=True)
        assert journal.rows(A)[0] == rows_of(A)[0]


def test_other_settings_have_a_journal_of_their_own(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path / "j.sqlite", "4567") as journal:
        assert len(journal) == 0
    with Journal(tmp_path / "j.sqlite", "0123") as journal:
        assert len(journal) == 2


def test_seconds_of_busy_machines_do_not_count(tmp_path: Path) -> None:
    fill(tmp_path, alone=False)
    with Journal(tmp_path / "j.sqlite", "0123") as journal:
        assert [row["seconds"] for row in Rows(journal, [A, C])] == [None] * 4
        assert journal.lacks_times(A)
        assert not journal.lacks_times(C), "it takes no part in the pass for the times"
        assert not journal.lacks_times(B)
        journal.add_times(A, [{"seconds": 1.0}, {"seconds": 2.0}])
        assert not journal.lacks_times(A)
        assert [row["seconds"] for row in journal.rows(A)] == [1.0, 2.0]
        # B ran alone, but its repeats beyond 0 would weigh more than those of A.
        late = Unit("d", timed=False)
        journal.add(late, rows_of(late), alone=True)
        assert journal.rows(late)[0]["seconds"] is None


def test_two_runs_do_not_share_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite", "0123"), pytest.raises(OSError, match="another run is writing"):
        Journal(tmp_path / "j.sqlite", "0123")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(OSError, match=r"mine\.sqlite' exists and is not a journal: it has the table 'mine'"):
        Journal(path, "0123")
    assert path.read_bytes() == before
