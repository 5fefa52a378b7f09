from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from bansac.evaluation.experiment import Row, Unit
from bansac.evaluation.journal import Journal, Rows

A, B, C = Unit("a"), Unit("b"), Unit("c", timed=False)


def rows_of(unit: Unit) -> list[Row]:
    return [{"unit": unit.key, "error": math.inf, "stop": None, "seconds": 0.25}, {"unit": unit.key, "error": 0.1}]


def fill(folder: Path, mark: str = "0123", *, timed: bool = True) -> Path:
    with Journal(folder, mark) as journal:
        for unit in (A, C):
            journal.add(unit, rows_of(unit), timed=timed)
        return journal.path


def test_rows_survive_the_disk_in_the_order_of_the_units(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path, "0123") as journal:
        assert len(journal) == 2
        assert A in journal
        assert B not in journal
        assert journal.rows(B) == []
        rows = Rows(journal, [C, B, A])
        assert [row["unit"] for row in rows] == ["c", "c", "a", "a"]
        assert next(iter(rows)) == rows_of(C)[0], "and can be gone through again"
        assert list(rows)[1] == {"unit": "c", "error": 0.1, "stop": None, "seconds": None}


def test_line_cut_off_is_dropped_and_written_anew(tmp_path: Path) -> None:
    path = fill(tmp_path)
    path.write_bytes(path.read_bytes()[:-7])
    with Journal(tmp_path, "0123") as journal:
        assert C not in journal
        journal.add(C, rows_of(C), timed=True)
        assert journal.rows(C)[0] == rows_of(C)[0]
    with Journal(tmp_path, "0123") as journal:
        assert len(journal) == 2


@pytest.mark.parametrize("damage", [b"\x00\x00\x00\n", b"[1, 2]\n", b"\xff\xfe\n"])
def test_damage_costs_what_comes_after_it(tmp_path: Path, damage: bytes) -> None:
    path = fill(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage, *lines[2:]]))
    with Journal(tmp_path, "0123") as journal:
        assert A in journal
        assert C not in journal


def test_other_settings_have_a_journal_of_their_own(tmp_path: Path) -> None:
    fill(tmp_path)
    with Journal(tmp_path, "4567") as journal:
        assert len(journal) == 0
    with Journal(tmp_path, "0123") as journal:
        assert len(journal) == 2


def test_header_of_another_run_is_not_believed(tmp_path: Path) -> None:
    path = fill(tmp_path, "0123" * 8)
    with Journal(tmp_path, "0123" * 3 + "9" * 20) as journal:
        assert journal.path == path
        assert len(journal) == 0


def test_seconds_of_busy_machines_do_not_count(tmp_path: Path) -> None:
    fill(tmp_path, timed=False)
    with Journal(tmp_path, "0123") as journal:
        assert [row["seconds"] for row in Rows(journal, [A, C])] == [None] * 4
        assert journal.lacks_times(A)
        assert not journal.lacks_times(C), "it takes no part in the pass for the times"
        assert not journal.lacks_times(B)
        journal.add_times(A, [{"seconds": 1.0}, {"seconds": 2.0}])
        assert not journal.lacks_times(A)
        assert [row["seconds"] for row in journal.rows(A)] == [1.0, 2.0]
        # B ran alone, but its repeats beyond 0 would weigh more than those of A.
        late = Unit("d", timed=False)
        journal.add(late, rows_of(late), timed=True)
        assert journal.rows(late)[0]["seconds"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_two_runs_do_not_share_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path, "0123"), pytest.raises(OSError, match="another run is writing"):
        Journal(tmp_path, "0123")
