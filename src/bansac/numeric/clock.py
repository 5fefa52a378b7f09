"""The time of a run, apart from the time in which its kernels are compiled or loaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopwatch", "loading"]


class _Loading(threading.local):
    """What this thread has spent on kernels so far."""

    seconds = 0.0
    depth = 0


_spent = _Loading()


@contextmanager
def loading() -> Iterator[None]:
    """Count the time inside as that of compiling or loading; kernels load others, each moment counts once."""
    started = time.perf_counter()
    _spent.depth += 1
    try:
        yield
    finally:
        _spent.depth -= 1
        if _spent.depth == 0:
            _spent.seconds += time.perf_counter() - started


class Stopwatch:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._loaded = _spent.seconds

    def read(self) -> tuple[float, float]:
        """Return the seconds of the run so far, and those of compiling and loading kernels, which are apart."""
        loaded = _spent.seconds - self._loaded
        return time.perf_counter() - self._started - loaded, loaded
