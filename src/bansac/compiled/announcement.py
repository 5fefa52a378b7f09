"""What is said while kernels are compiled: how many a call lacks, and how long they take on this machine.

``costs.json`` has the seconds that each kernel took on one machine, and the calls that need it (written by
``tools/kernel_costs.py``). A call waits for those of its kernels that are not cached; the first of them show how fast
this machine is.
"""

import json
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

COSTS_FILE = Path(__file__).with_name("costs.json")

# Seconds of compilation before the first line, and between two lines.
_FIRST, _INTERVAL = 1.0, 10.0

_LOGGER = logging.getLogger("bansac")


class Compilation:
    """The compilation of the kernels that a call lacks: the first line says how long it takes, others how far it is.

    The lines appear on standard error in a terminal and in a notebook. Otherwise they are messages of the logger
    ``bansac`` at level INFO. ``BANSAC_QUIET=1`` silences them.
    """

    def __init__(self) -> None:
        self.write: Callable[[str], None] = _write
        self.prepare: Callable[[], None] | None = None
        self.total = 0
        self.left: dict[str, float] = {}
        self._call: str | None = None
        self._compiled: set[str] = set()
        self._start: tuple[float, float] | None = None  # the time, and the costs that were left
        self._seen = self._said = 0.0
        self._often = self._reason = ""

    def begin(self, kernel: str, reason: str, cached: Callable[[], set[str]], *, kept: bool) -> bool:
        """Note that a kernel is compiled now; return whether other processes have compiled kernels before.

        ``reason`` says why the kernels of a binary wheel are not used; it is empty if there are none. ``cached``
        returns the kernels that are in the cache. ``kept`` is whether later processes find the compiled kernels.
        """
        costs, calls = _read_costs()
        call = _find_caller(calls)
        if call != self._call or not self.left or time.monotonic() - self._seen > _INTERVAL:
            self._call, self._start, self._said = call, None, 0.0
            done = cached() | self._compiled
            needs = [calls[call]] if call else [needed for needed in calls.values() if kernel in needed]
            missing = ({name: costs[name] for name in needed if name not in done} for needed in needs)
            self.left = min(missing, key=lambda left: sum(left.values()), default={})
            self.total = len(self.left)
        if kernel not in self.left:
            self.left[kernel] = costs.get(kernel, statistics.mean(costs.values()))
            self.total += 1
        if reason != self._reason:
            self._say(f"the kernels of the wheel {reason}")
        self._reason, self._seen = reason, time.monotonic()
        self._often = "once" if kept else "in every process, because no cache folder is writable (set NUMBA_CACHE_DIR)"
        prepare, self.prepare = self.prepare, None
        if prepare is None or not kept:
            return False
        prepare()
        return True

    def end(self, kernels: Iterable[str]) -> None:
        """Note that kernels are compiled, and say how long the others take if it is time."""
        for kernel in kernels:
            self.left.pop(kernel, None)
            self._compiled.add(kernel)
        now, left = time.monotonic(), sum(self.left.values())
        self._seen = now
        self._start = self._start or (now, left)
        elapsed, done = now - self._start[0], self._start[1] - left
        if elapsed < _FIRST or not done or now - self._said < _INTERVAL:
            return
        seconds = elapsed * left / done
        if self._said:
            done = self.total - len(self.left)
            self._say(f"compiling kernels: {done} of {self.total} done, about {seconds:.0f} s left")
        elif seconds >= 1:
            self._say(f"compiling {self.total} kernels for this machine, about {seconds:.0f} s, {self._often}")
        else:
            return
        self._said = now

    def _say(self, text: str) -> None:
        if not is_quiet():
            self.write(f"bansac: {text}")


@cache
def _read_costs() -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return the cost of each kernel, and the kernels of each public function."""
    document = json.loads(COSTS_FILE.read_text(encoding="utf-8"))
    kernels: dict[str, tuple[float, list[int]]] = document["kernels"]
    calls = {
        call: [name for name, (_, users) in kernels.items() if index in users]
        for index, call in enumerate(document["calls"])
    }
    return {name: cost for name, (cost, _) in kernels.items()}, calls


def _find_caller(calls: Iterable[str]) -> str:
    """Return the name of the public function that is running; empty if it is none of ``calls``."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in calls:
            return str(frame.f_code.co_name)
        frame = frame.f_back
    return ""


def is_quiet() -> bool:
    """Return whether the environment variable ``BANSAC_QUIET`` is set."""
    return os.environ.get("BANSAC_QUIET", "0") not in ("", "0")


def _write(line: str) -> None:
    """Write the line to standard error if a person reads it, otherwise to the log."""
    process = sys.modules.get("multiprocessing.process")
    is_worker = process is not None and process.parent_process() is not None
    if not is_worker and ("ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())):
        print(line, file=sys.stderr, flush=True)
    else:
        _LOGGER.info(line)


COMPILATION = Compilation()
"""The compilation in this process."""


@contextmanager
def before_compilation(prepare: Callable[[], None]) -> Iterator[None]:
    """Call ``prepare`` before the first kernel is compiled; it lets other processes compile into the cache."""
    COMPILATION.prepare = prepare
    try:
        yield
    finally:
        COMPILATION.prepare = None


@contextmanager
def redirect_announcement(write: Callable[[str], None]) -> Iterator[None]:
    """Let ``write`` show the lines."""
    before, COMPILATION.write = COMPILATION.write, write
    try:
        yield
    finally:
        COMPILATION.write = before
