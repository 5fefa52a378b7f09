"""What happens before kernels are compiled: one line says so, and why, and a command compiles them in processes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

__all__ = ["announce_compilation", "before_compilation", "is_quiet", "redirect_announcement"]

_LOGGER = logging.getLogger("bansac")


def announce_compilation(reason: str, *, kept: bool) -> bool:
    """Say once in a process that kernels are compiled, unless ``BANSAC_QUIET=1``; then call what is to happen before.

    The line appears on standard error in a terminal and in a notebook. Otherwise it is a message of the logger
    ``bansac`` at level INFO.

    ``reason`` says why the kernels of a binary wheel are not used; it is empty if there are none. ``kept`` is whether
    later processes load the compiled kernels from a folder. Return whether other processes have compiled kernels now
    (see ``before_compilation``).
    """
    if not _State.said:
        _State.said = True
        often = "once" if kept else "in every process, because no cache folder is writable (set NUMBA_CACHE_DIR)"
        why = f"; the kernels of the wheel {reason}" if reason else ""
        if not is_quiet():
            _State.write(f"bansac: compiling kernels for this machine, about 20 s, {often}{why}")
    prepare, _State.prepare = _State.prepare, None
    if prepare is None or not kept:
        return False
    prepare()
    return True


def is_quiet() -> bool:
    """Return whether the environment variable ``BANSAC_QUIET`` is set."""
    return os.environ.get("BANSAC_QUIET", "0") not in ("", "0")


@contextmanager
def before_compilation(prepare: Callable[[], None]) -> Iterator[None]:
    """Call ``prepare`` before the first kernel is compiled; it lets other processes compile into the cache."""
    _State.prepare = prepare
    try:
        yield
    finally:
        _State.prepare = None


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
    """Whether the line was written, how, and what comes next; the class itself is the state of the process."""

    said = False
    prepare: ClassVar[Callable[[], None] | None] = None
    write: ClassVar[Callable[[str], None]] = _write
