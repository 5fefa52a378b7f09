"""Units in worker processes: one that dies costs its unit and nothing else.

Each worker is a pool of one process: in a larger pool all units that are under way would fail with the dead process,
and it would not be known which of them was at fault. Workers start by spawn: a fork would copy the locks of the
libraries' threads.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from bansac.evaluation.executors import Answer, Failure, Work, attempt
from bansac.evaluation.experiment import Unit

ATTEMPTS = 3
"""How often a unit is tried whose worker dies."""


class ProcessExecutor:
    """Runs units in processes of this machine."""

    alone = False

    def run(self, work: Work, units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Answer], None, None]:
        """Yield the units in the order in which they are finished; a worker that cannot start is an OSError."""
        waiting = deque((unit, 1) for unit in units)
        idle: list[_Worker] = []
        busy: dict[Future[Answer], tuple[_Worker, Unit, int]] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < workers:
                    worker = idle.pop() if idle else _Worker(work)
                    try:
                        future = worker.submit(waiting[0][0])
                    except BrokenProcessPool:  # it has died without a unit
                        worker.stop()
                    else:
                        busy[future] = worker, *waiting.popleft()
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    worker, unit, attempts = busy.pop(future)
                    try:
                        answer = future.result()
                    except BrokenProcessPool:
                        ending = worker.stop()
                        if attempts < ATTEMPTS:
                            waiting.appendleft((unit, attempts + 1))
                            continue
                        answer = Failure(f"its worker died {attempts} times, the last time {ending}")
                    else:
                        idle.append(worker)
                    yield unit, answer
        finally:
            for worker in [*idle, *(worker for worker, _, _ in busy.values())]:
                worker.stop()


EXECUTOR = ProcessExecutor()


class _Worker:
    """A pool of one process."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_initialise, initargs=(work,))
        others = set(multiprocessing.active_children())
        with _interrupts_ignored():
            ready = self._pool.submit(os.getpid)
        # None if it has ended already
        self._process = next(iter(set(multiprocessing.active_children()) - others), None)
        try:
            ready.result()
        except BrokenProcessPool:
            raise OSError(f"a worker process could not start, it {self.stop()}") from None
        except BaseException:
            self.stop()
            raise

    def submit(self, unit: Unit) -> Future[Answer]:
        return self._pool.submit(_work, unit)

    def stop(self) -> str:
        """End the process, whatever it is doing; return how it ended."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()
        self._pool.shutdown()
        code = 0 if self._process is None else self._process.exitcode or 0
        if code >= 0:
            return f"left with exit code {code}"
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let a process that is started here ignore Ctrl-C from its first moment: this process ends it."""
    if threading.current_thread() is not threading.main_thread():  # the handler is the main thread's
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


_work_of_this_process: Work


def _initialise(work: Work) -> None:
    """Prepare a worker process: it ignores Ctrl-C, and leaves if its parent is killed."""
    global _work_of_this_process
    _work_of_this_process = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(unit: Unit) -> Answer:
    try:
        return attempt(_work_of_this_process, unit)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError(f"unit {unit.key}: {error!r}") from None
        raise
