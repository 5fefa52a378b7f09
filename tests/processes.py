"""Processes that a test interrupts."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bansac

_ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = (Path(bansac.__file__).resolve().parents[1], _ROOT / "lab" / "src", _ROOT)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, _FOLDERS))}
"""Environment in which a process imports what this one imports: the packages and these tests."""


def run_python(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT | environment, check=False)


@contextlib.contextmanager
def interruptible(arguments: Sequence[Any], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and kill it at the end if it is still there."""
    process = subprocess.Popen(arguments, text=True, **settings)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for_units(journal: Path, units: int, process: subprocess.Popen[Any]) -> None:
    """Wait until a journal has some units: five minutes at most, as a slow machine may have to compile first."""
    deadline = time.monotonic() + 300
    while count_units(journal) < units:
        assert process.poll() is None, "it has ended too early"
        assert time.monotonic() < deadline, "the journal does not grow"
        time.sleep(0.02)


def count_units(journal: Path) -> int:
    """Return how many units a journal has: a copy is looked at, the run locks the journal itself."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError, sqlite3.Error):
        for path in journal.parent.glob(f"{journal.name}*"):
            shutil.copy(path, folder)
        with contextlib.closing(sqlite3.connect(Path(folder) / journal.name)) as database:
            ((count,),) = database.execute("SELECT count(*) FROM units")
            return int(count)
    return 0


def run_module(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of a folder, which is written unless it is there, with a cache of kernels of its own."""
    module = folder / "module.py"
    if not module.exists():
        module.write_text(text)
    done = run_python(module, *arguments, NUMBA_CACHE_DIR=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    return done
