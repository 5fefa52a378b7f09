"""A function of many items in threads: answers in the order of the items, and few of them under way.

Items go to the threads one by one. At most ``most_pending`` of them are under way between the iterable and the caller,
so that memory does not grow with their number; a slow item holds back the answers behind it, not the work on them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = ["as_count", "count_workers", "in_order"]

Answer = TypeVar("Answer")


def in_order(
    function: Callable[[int, Any], Answer], items: Iterable[Any], workers: int, most_pending: int
) -> Generator[Answer, None, None]:
    """Yield ``function(index, item)`` of all items, in their order.

    The iterable is gone through in the thread of the caller. An error that it raises, or the function, is raised in its
    turn, after the answers before it. With one worker there is no thread but the caller's.

    The threads are daemons, and nothing waits for them when the generator is closed: an item that takes long, or a
    function that hangs, keeps neither the caller nor a process that ends.
    """
    if workers == 1:
        for index, item in enumerate(items):
            yield function(index, item)
        return
    jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
    pending: deque[Future[Answer]] = deque()
    try:
        for index, item in enumerate(_until_broken(items)):
            if index < workers:
                threading.Thread(target=_work, args=(jobs, function), name=f"bansac-{index}", daemon=True).start()
            answer: Future[Answer] = Future()
            jobs.put(_Job(index, item, answer))
            pending.append(answer)
            while pending and (len(pending) >= most_pending or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.get_nowait()
        for _ in range(workers):
            jobs.put(None)


class _Job(NamedTuple):
    """An item, and where its answer goes."""

    number: int
    item: Any
    answer: Future[Any]


class _Broken(NamedTuple):
    """Stands behind the last item of an iterable that has raised an error."""

    error: Exception


def _until_broken(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, then the error of the iterable."""
    try:
        yield from items
    except Exception as error:
        yield _Broken(error)


def _work(jobs: queue.SimpleQueue[_Job | None], function: Callable[[int, Any], Any]) -> None:
    """Do one job after the other until there is None."""
    while (job := jobs.get()) is not None:
        try:
            if isinstance(job.item, _Broken):
                raise job.item.error
            job.answer.set_result(function(job.number, job.item))
        except BaseException as error:
            job.answer.set_exception(error)
        del job  # its data are not kept while this thread waits


def count_workers(workers: int | None) -> int:
    """Return a number of workers that is allowed, for None that of the cores which this process may use."""
    if workers is not None:
        return as_count("workers", workers)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_count(name: str, value: Any) -> int:
    """Return an integer; a ValueError that names the argument if it is none or less than 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer >= 1, got {value!r}")
    return int(value)
