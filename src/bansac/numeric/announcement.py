"""One line that says that kernels are compiled, and why; otherwise the first call would be silent for seconds."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

__all__ = ["announce_compilation", "redirect_announcement"]

_LOGGER = logging.getLogger("bansac")


def announce_compilation(reason: str, *, kept: bool) -> None:
    """Say once in a process that kernels are compiled; the environment variable ``BANSAC_QUIET=1`` prevents it.

    The line appears on standard error in a terminal and in a notebook. Otherwise it is a message of the logger
    ``bansac`` at level INFO.

    Parameters
    ----------
    reason : str
        Why the kernels of a binary wheel are not used; empty if there are none.
    kept : bool
        Whether later processes load the compiled kernels from a folder.
    """
    if _State.said:
        return
    _State.said = True
    often = "once" if kept else "in every process, because no cache folder is writable (set NUMBA_CACHE_DIR)"
    why = f"; the kernels of the wheel {reason}" if reason else ""
    if os.environ.get("BANSAC_QUIET", "0") in ("", "0"):
        _State.write(f"bansac: compiling kernels for this machine, about 20 s, {often}{why}")


@contextmanager
def redirect_announcement(write: Callable[[str], None]) -> Iterator[None]:
    """Let ``write`` show the line."""
    before, _State.write = _State.write, write
    try:
        yield
    finally:
        _State.write = before


def _write(line: str) -> None:
    """Write the line to standard error if a person reads it, otherwise to the log."""
    process = sys.modules.get("multiprocessing.process")
    is_worker = process is not None and process.parent_process() is not None
    if not is_worker and ("ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())):
        print(line, file=sys.stderr, flush=True)
    else:
        _LOGGER.info(line)


class _State:
    """Whether the line was written, and how it is written; the class itself is the state of the process."""

    said = False
    write: ClassVar[Callable[[str], None]] = _write
