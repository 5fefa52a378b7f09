"""Processes that a test interrupts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def interruptible(arguments: Sequence[Any], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and kill it at the end if it is still there."""
    process = subprocess.Popen(arguments, text=True, **settings)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def kill_in_progress(arguments: Sequence[Any], journal: Path) -> None:
    """Start a process, and kill it as soon as it has begun its journal."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 0):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.wait()
