"""Processes that a test interrupts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
