"""Processes that a test interrupts."""

from __future__ import annotations

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


def kill_in_progress(arguments: Sequence[Any], journal: Path, units: int = 1) -> None:
    """Start a process, and kill it as soon as its journal has some units."""
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for_units(journal, units, process)
        process.kill()


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
    module, root = folder / "module.py", Path(__file__).resolve().parents[1]
    if not module.exists():
        module.write_text(text)
    path = os.pathsep.join([str(root / "src"), str(root)])
    environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, module, *arguments], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done
