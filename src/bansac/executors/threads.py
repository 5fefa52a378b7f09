"""Executor in threads, and a function of many items; values come in the order of the items, with bounded memory.

Items go to the threads one by one. At most ``most_pending`` items are pending between the iterable and the caller, so
that memory does not grow with their number. A slow item delays the values after it, but not the work on them.
"""

import contextlib
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from bansac.executors import Answers, Item, Value, Work, attempt
from bansac.maths.validate import as_integer

Answer = TypeVar("Answer")
_Job = tuple[Future[Any], int, Any]  # the future of the value, and the arguments of the function

PENDING_PER_THREAD = 16
"""Pending items: while one thread works on a slow item, the others continue with the items after it."""


def in_order(
    function: Callable[[int, Any], Answer], items: Iterable[Any], workers: int, most_pending: int
) -> Generator[Answer, None, None]:
    """Yield ``function(index, item)`` for all items, in their order.

    The iterable is consumed in the caller's thread. An exception of the iterable or of the function is raised in its
    place in the order, after the values before it. With one worker, only the caller's thread is used.

    The threads are daemons, and nothing waits for them when the generator is closed. Therefore a slow item or a
    function that hangs blocks neither the caller nor the exit of the process.
    """
    if workers == 1:
        for index, item in enumerate(items):
            yield function(index, item)
        return
    jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
    pending: deque[Future[Answer]] = deque()
    errors: list[Exception] = []
    try:
        for index, item in enumerate(until_broken(items, errors)):
            if index < workers:
                threading.Thread(target=_work, args=(jobs, function), name=f"bansac-{index}", daemon=True).start()
            pending.append(Future())
            jobs.put((pending[-1], index, item))
            if len(pending) >= most_pending and not pending[0].done():
                # A caller that wakes up for each of many small items competes with the workers for the GIL.
                wait([pending[len(pending) // 2]], 0.05)
            while pending and (len(pending) >= most_pending or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if errors:
            raise errors[0]
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.get_nowait()
        for _ in range(workers):
            jobs.put(None)


def until_broken(items: Iterable[Any], errors: list[Exception]) -> Iterator[Any]:
    """Yield the items; append an exception of the iterable to ``errors`` instead of raising it."""
    try:
        yield from items
    except Exception as error:
        errors.append(error)


def _work(jobs: queue.SimpleQueue[_Job | None], function: Callable[[int, Any], Any]) -> None:
    """Do jobs until None arrives."""
    while (job := jobs.get()) is not None:
        future, index, item = job
        try:
            future.set_result(function(index, item))
        except BaseException as error:
            future.set_exception(error)
        del job, future, item  # frees the value while this thread waits


def count_workers(workers: Any) -> int:
    """Check a number of workers; None means the number of cores that this process may use."""
    if workers is not None:
        return as_integer("workers", workers, 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    work: Work[Item, Value], items: Iterable[Item], workers: int, pending: int = PENDING_PER_THREAD
) -> Answers[Item, Value]:
    """Yield the items in their order; closing the generator drops the values of items that have started."""
    return in_order(lambda _, item: (item, attempt(work, item)), items, workers, pending * workers)
