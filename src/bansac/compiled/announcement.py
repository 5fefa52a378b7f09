"""The lines that are said once in a process when kernels are compiled: how long it takes, and why a wheel has none.

The lines are messages of the logger ``bansac`` at level WARNING, of worker processes at level INFO. Python writes
warnings to standard error unless the program has handlers of its own. What makes every process slower is a
``RuntimeWarning``. ``BANSAC_QUIET=1`` silences all.
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("bansac")


class Announcement:
    """The lines of a process."""

    def __init__(self) -> None:
        self.write: Callable[[str], None] = _write
        self._said: set[str] = set()

    def begin(self, reason: str, *, kept: bool) -> None:
        """Say that kernels are compiled.

        ``reason`` says why the kernels of a binary wheel are not used; it is empty if there are none. ``kept`` is
        whether later processes find the compiled kernels.
        """
        if reason:
            self._say_once(f"the kernels of the wheel {reason}")
        what = "compiling kernels for this machine, which takes up to about a minute"
        if kept:
            self._say_once(f"{what}, once")
        else:
            where = "install with BANSAC_KERNELS=1, or set NUMBA_CACHE_DIR to a folder that is"
            self.warn(f"{what}, in every process, because no cache folder is writable ({where})")

    def warn(self, line: str) -> None:
        """Raise a warning once in a program: its worker processes raise none."""
        if not _is_worker():
            self._say_once(line, lambda text: warnings.warn(text, RuntimeWarning, stacklevel=4))

    def _say_once(self, line: str, say: Callable[[str], None] | None = None) -> None:
        if line not in self._said and not is_quiet():
            self._said.add(line)
            (say or self.write)(f"bansac: {line}")


def is_quiet() -> bool:
    """Return whether the environment variable ``BANSAC_QUIET`` is set."""
    return os.environ.get("BANSAC_QUIET", "0") not in ("", "0")


def _write(line: str) -> None:
    _LOGGER.log(logging.INFO if _is_worker() else logging.WARNING, line)


def _is_worker() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


ANNOUNCEMENT = Announcement()
"""The announcement of this process."""


@contextmanager
def redirect_announcement(write: Callable[[str], None]) -> Iterator[None]:
    """Let ``write`` show the lines."""
    before, ANNOUNCEMENT.write = ANNOUNCEMENT.write, write
    try:
        yield
    finally:
        ANNOUNCEMENT.write = before
