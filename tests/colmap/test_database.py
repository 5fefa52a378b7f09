"""Damaged databases, and what the access to a database does to the process."""

import contextlib
import shutil
import sqlite3
import struct
import sys

import pytest

from bansac.colmap import verify_database
from tests.processes import run_python

PROGRAM = """
import os, signal
from bansac.colmap.database import import_pycolmap
signal.signal(signal.SIGTERM, lambda *_: print("handled"))
import_pycolmap()
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_pycolmap_leaves_the_handlers_of_signals():
    done = run_python("-c", PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled\n", "")


@pytest.fixture
def damaged(tmp_path, synthetic):
    """Return a function that copies a database and changes it."""

    def change(statement, *values):
        path = shutil.copy(synthetic[0], tmp_path / "damaged.db")
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)
        return path

    return change


@pytest.mark.parametrize("change", ["model = 77", "params = NULL"])
def test_an_error_of_all_pairs_names_the_file(damaged, change):
    path = damaged(f"UPDATE cameras SET {change}")
    with pytest.raises(OSError, match=r"damaged\.db: cannot be read or written: "):
        verify_database(path, workers=1)


def test_keypoints_that_need_all_memory_fail_their_pairs(damaged):
    summary = verify_database(damaged("UPDATE keypoints SET rows = -1 WHERE image_id = 1"), workers=1)
    [(reason, names)] = summary.failures.items()
    assert "keypoints or matches are damaged" in reason
    assert (len(names), summary.new) == (5, 10)


def test_a_name_that_is_not_utf8_is_a_number(damaged):
    path = damaged("UPDATE images SET name = ?, camera_id = 9 WHERE image_id = 1", b"\xff")
    [names] = verify_database(path, workers=1).failures.values()
    assert names[0].startswith("image 1 - ")


@pytest.mark.parametrize("focal", [0.0, -500.0, float("nan")])
def test_a_focal_length_that_is_none_names_the_camera(damaged, focal):
    path = damaged("UPDATE cameras SET params = ? || substr(params, 9)", struct.pack("<d", focal))
    [reason] = verify_database(path, workers=1).failures
    assert reason == f"camera 1 has a focal length of {focal:g}; it must be > 0"
