"""What the access to a database does to the process."""

import sys

import pytest

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
