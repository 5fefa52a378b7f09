"""Run time without the time that compiles or loads kernels, and the number of these kernels."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

KERNELS: Counter[str] = Counter()
"""Number of kernels that this process has ``"compiled"`` and ``"loaded"`` so far, ``"packed"`` of these from a pack."""


class _Loading(threading.local):
    """Seconds that this thread has spent compiling and loading kernels."""

    seconds = 0.0
    depth = 0


_spent = _Loading()


@contextmanager
def loading() -> Iterator[None]:
    """Count the time inside the context as compiling or loading; nested contexts count once."""
    started = time.perf_counter()
    _spent.depth += 1
    try:
        yield
    finally:
        _spent.depth -= 1
        if _spent.depth == 0:
            _spent.seconds += time.perf_counter() - started


class Stopwatch:
    """Stopwatch that starts when it is created."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._loaded = _spent.seconds

    def read(self) -> tuple[float, float]:
        """Return the seconds of the run so far, and separately those of compiling and loading kernels."""
        loaded = _spent.seconds - self._loaded
        return time.perf_counter() - self._started - loaded, loaded
