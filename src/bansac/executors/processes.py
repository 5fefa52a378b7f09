"""Executor in worker processes: a process that dies affects only its own item.

Each worker is a pool of one process. In a larger pool, a dead process makes all pending items fail, and the item at
fault is unknown. Workers start by spawn, because a fork would copy the locks of the libraries' threads. Their warnings
are raised in the caller's process.
"""

import itertools
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


def run(work: Work[Item, Value], items: Iterable[Item], workers: int, chunk: int = 1) -> Answers[Item, Value]:
    """Yield the items as they finish; a worker that cannot start is an OSError.

    A worker gets ``chunk`` items at a time. If it dies, each of them is tried again by itself.
    """
    remaining = iter(items)
    again: deque[tuple[list[Item], int]] = deque()
    idle: list[_Worker] = []
    busy: dict[Future[Any], tuple[_Worker, list[Item], int]] = {}
    try:
        while True:
            while len(busy) < workers:
                some, attempts = again.popleft() if again else (list(itertools.islice(remaining, chunk)), 1)
                if not some:
                    break
                worker = idle.pop() if idle else _Worker(work)
                try:
                    future = worker.pool.submit(_work, some)
                except BrokenProcessPool:  # the worker died without an item
                    worker.stop_dead()
                    again.append((some, attempts))
                else:
                    busy[future] = worker, some, attempts
            if not busy:
                return
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, some, attempts = busy.pop(future)
                try:
                    answers = future.result()
                except BrokenProcessPool:
                    ending = worker.stop_dead()
                    if len(some) > 1 or attempts < ATTEMPTS:
                        again.extend(([item], attempts + (len(some) == 1)) for item in some)
                        continue
                    answers = [(ItemFailure(f"its worker died {attempts} times, the last time {ending}"), [])]
                else:
                    idle.append(worker)
                for item, (answer, caught) in zip(some, answers, strict=True):
                    _warn(item, caught)
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


def _work(items: list[Any]) -> list[tuple[Any, list[Warning | str]]]:
    """Do items in a worker; return the value and the warnings of each."""
    answers = []
    for item in items:
        with warnings.catch_warnings(record=True) as caught:
            answers.append((attempt_in_worker(_work_of_this_process, item), [one.message for one in caught]))
    return answers


def _warn(item: Any, messages: list[Warning | str]) -> None:
    """Raise the warnings of an item in this process."""
    token = CURRENT_ITEM.set(item)
    try:
        for message in messages:
            warnings.warn(message, stacklevel=2)
    finally:
        CURRENT_ITEM.reset(token)
