"""Executor of short items, such as pairs of images: in threads for the first second, then in processes.

Threads start at once and compile each kernel once, but only one of them at a time runs Python code. Processes use all
cores, but need about a second to start. They load the kernels that the threads have compiled.
"""

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from bansac.executors import Answers, Item, Value, Work, processes, threads

Answer = TypeVar("Answer")

alone = False

_SECONDS = 1.0
"""Time in threads after the first value."""


def run(work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
    """Yield the items in the order in which they finish; a single worker is the caller's thread."""
    remaining = iter(items)
    in_threads = functools.partial(threads.run, work, workers=workers)
    yield from in_threads(remaining) if workers == 1 else first_second(in_threads, remaining)
    yield from processes.run(work, remaining, workers)


def first_second(function: Callable[[Iterable[Item]], Iterable[Answer]], items: Iterator[Item]) -> Iterator[Answer]:
    """Yield ``function(items)``, which gets items until one second after its first value."""
    end = math.inf

    def first_items() -> Iterator[Item]:
        for item in items:
            yield item
            if time.monotonic() > end:
                return

    for answer in function(first_items()):
        end = min(end, time.monotonic() + _SECONDS)
        yield answer
