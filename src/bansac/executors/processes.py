"""Executor in worker processes: a process that dies affects only its own item.

Each worker is a pool of one process. In a larger pool, a dead process makes all pending items fail, and the item at
fault is unknown. Workers start by spawn, because a fork would copy the locks of the libraries' threads. Their warnings
are raised in the caller's process.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from bansac.executors import CURRENT_ITEM, Answers, Item, ItemFailure, Value, Work, attempt_in_worker, handling

ATTEMPTS = 3
"""Number of times that an item is tried if its worker dies."""

alone = False


def run(work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
    """Yield the items in the order in which they finish; a worker that cannot start is an OSError."""
    remaining = ((item, 1) for item in items)
    again: deque[tuple[Item, int]] = deque()
    idle: list[_Worker] = []
    busy: dict[Future[Any], tuple[_Worker, Item, int]] = {}
    try:
        while True:
            while len(busy) < workers and (job := again.popleft() if again else next(remaining, None)):
                worker = idle.pop() if idle else _Worker(work)
                try:
                    future = worker.pool.submit(_work, job[0])
                except BrokenProcessPool:  # the worker died without an item
                    worker.stop_dead()
                    again.append(job)
                else:
                    busy[future] = worker, *job
            if not busy:
                return
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, item, attempts = busy.pop(future)
                try:
                    answer, caught = future.result()
                    _warn(item, caught)
                except BrokenProcessPool:
                    ending = worker.stop_dead()
                    if attempts < ATTEMPTS:
                        again.append((item, attempts + 1))
                        continue
                    answer = ItemFailure(f"its worker died {attempts} times, the last time {ending}")
                else:
                    idle.append(worker)
                yield item, answer
    finally:
        for worker in [*idle, *(worker for worker, _, _ in busy.values())]:
            worker.stop()


class _Worker:
    def __init__(self, work: Work[Any, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, mp_context=context, initializer=_initialise, initargs=(work,))
        others = set(multiprocessing.active_children())
        with handling(signal.SIGINT, signal.SIG_IGN):  # processes ignore Ctrl-C from the start; this one stops them
            self._ready = self.pool.submit(os.getpid)
        # None if the process has already ended
        self._process = next(iter(set(multiprocessing.active_children()) - others), None)

    def stop_dead(self) -> str:
        """Return how the process ended; it is an OSError if it could not start."""
        ending = self.stop()
        if self._ready.exception() is not None:
            raise OSError(f"a worker process could not start, it {ending}")
        return ending

    def stop(self) -> str:
        """End the process, even if it is busy; return how it ended."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()
        self.pool.shutdown()
        code = 0 if self._process is None else self._process.exitcode or 0
        if code >= 0:
            return f"left with exit code {code}"
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"


_work_of_this_process: Work[Any, Any]


def _initialise(work: Work[Any, Any]) -> None:
    """Prepare a worker process: it ignores Ctrl-C, and exits if its parent is killed."""
    global _work_of_this_process
    _work_of_this_process = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(item: Any) -> tuple[Any, list[Warning | str]]:
    """Do an item in a worker; return its value and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        answer = attempt_in_worker(_work_of_this_process, item)
    return answer, [one.message for one in caught]


def _warn(item: Any, messages: list[Warning | str]) -> None:
    """Raise the warnings of an item in this process."""
    token = CURRENT_ITEM.set(item)
    try:
        for message in messages:
            warnings.warn(message, stacklevel=2)
    finally:
        CURRENT_ITEM.reset(token)
