"""Executor of short items, such as pairs of images: in threads for the first second, then in processes.

Threads start at once and compile each kernel once, but only one of them at a time runs Python code. Processes use all
cores, but need about a second to start, and some 150 MB each. They load the kernels that the threads have compiled.
"""

import math
import multiprocessing
import time
from collections.abc import Iterable, Iterator

from bansac.executors import Answers, Item, Value, Work, processes, threads

_SECONDS = 1.0
"""Time in threads after the first value."""


def run(
    work: Work[Item, Value], items: Iterable[Item], workers: int, pending: int = threads.PENDING_PER_THREAD
) -> Answers[Item, Value]:
    """Yield the items as they finish, with at most ``pending`` for each worker; a single worker is this thread."""
    if workers == 1 or not _can_start_processes():
        yield from threads.run(work, items, workers, pending)
        return
    remaining, end = iter(items), math.inf

    def first_items() -> Iterator[Item]:
        for item in remaining:
            yield item
            if time.monotonic() > end:
                return

    for answer in threads.run(work, first_items(), workers, pending):
        end = min(end, time.monotonic() + _SECONDS)
        yield answer
    yield from processes.run(work, remaining, workers, chunk=pending)


def _can_start_processes() -> bool:
    """Return whether there are locks between processes; some sandboxes have none."""
    try:
        multiprocessing.get_context("spawn").Lock()
    except (ImportError, OSError):
        return False
    return True
