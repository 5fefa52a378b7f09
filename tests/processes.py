"""Processes that a test interrupts."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible(arguments: Sequence[Any], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process that SIGINT interrupts, also where this one ignores it, as a job in the background does.

    It is killed at the end if it is still there.
    """
    process = subprocess.Popen(arguments, text=True, preexec_fn=_default_interrupt, **settings)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
