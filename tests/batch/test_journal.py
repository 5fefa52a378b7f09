import contextlib
import math
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bansac.batch.journal import Journal, Row, Unit

A, B, C = Unit("a"), Unit("b"), Unit("c")


def rows_of(unit: Unit) -> list[Row]:
    return [{"unit": unit.key, "error": math.inf, "stop": None, "seconds": 0.25}, {"unit": unit.key, "error": 0.1}]


def fill(folder: Path) -> Path:
    with Journal(folder / "j.sqlite", "0123") as journal:
        for unit in (A, C):
            journal.add(unit, rows_of(unit))
    return folder / "j.sqlite"


def test_rows_survive_the_disk(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path / "j.sqlite", "0123") as journal:
        assert len(journal) == 2
        assert A in journal
        assert B not in journal
        assert journal.rows(B) == []
        first, second = journal.rows(C)
        assert first == rows_of(C)[0]
        assert second == {"unit": "c", "error": 0.1, "stop": None, "seconds": None}


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from bansac.batch.journal import Journal
from tests.batch.test_journal import A, B, C, rows_of

journal = Journal(Path(sys.argv[1]), "0123")
journal.add(A, rows_of(A))
journal.add(C, rows_of(C))
database = journal._database
database.execute("INSERT INTO units VALUES ('0123', 'b', '[]', '[]')")  # not committed
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
        journal.add(B, rows_of(B))
        assert len(journal) == 3


@pytest.mark.parametrize("size", [50, 5000, 0])
def test_damaged_file_is_named(tmp_path: Path, size: int) -> None:
    path = fill(tmp_path)
    damaged = path.read_bytes().replace(b"sqlite_autoindex", b"\x80qlite_autoindex")  # the name of a table
    path.write_bytes(b"\x00\xff" * (size // 2) + damaged[size:])
    with pytest.raises(OSError, match=r"the journal '.*j\.sqlite' cannot be used: "):
        Journal(path, "0123")


@pytest.mark.parametrize("column", ["columns", "cells"])
def test_damaged_row_is_named(tmp_path: Path, column: str) -> None:
    path = fill(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE units SET {column} = '[[1, 2'")
    with (
        Journal(path, "0123") as journal,
        pytest.raises(OSError, match=r"the journal '.*j\.sqlite' is damaged: "),
    ):
        journal.rows(A)


def test_without_a_file_it_is_in_memory() -> None:
    with Journal(None, "0123") as journal:
        journal.add(A, rows_of(A))
        assert journal.rows(A)[0] == rows_of(A)[0]


def test_other_settings_have_a_journal_of_their_own(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path / "j.sqlite", "4567") as journal:
        assert len(journal) == 0
    with Journal(tmp_path / "j.sqlite", "0123") as journal:
        assert len(journal) == 2


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
