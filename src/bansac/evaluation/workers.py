"""Units that may fail: a pair that cannot be read, or a worker process that dies, costs its unit and nothing else.

Each worker has a pipe of its own, so that it is known which unit a dead one was at; a pool of the standard library
would lose all that are under way. Workers start by spawn: a fork would copy the threads' locks of the libraries.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from bansac.evaluation.experiment import Experiment, Row, Setup, Unit

__all__ = ["ATTEMPTS", "Failure", "run_here", "run_in_workers"]

ATTEMPTS = 3
"""How often a unit is tried whose worker dies."""

_READY = "ready"


@dataclass(frozen=True)
class Failure:
    """Why there are no rows of a unit.

    Parameters
    ----------
    reason : str
        The error that it raised, or how its workers ended.
    """

    reason: str


def run_here(experiment: Experiment, setup: Setup, unit: Unit) -> list[Row] | Failure:
    """Run a unit in this process.

    Parameters
    ----------
    experiment : Experiment
        What the unit belongs to.
    setup : Setup
        The settings.
    unit : Unit
        The unit.

    Returns
    -------
    list of Row or Failure
        Its rows; a failure where it raises an OSError or a ValueError, which are about its data. Other exceptions are
        errors of the program and come through.
    """
    try:
        return experiment.run_unit(setup, unit)
    except (OSError, ValueError) as error:
        return Failure(str(error) or repr(error))


def run_in_workers(
    experiment: Experiment, setup: Setup, units: Sequence[Unit], workers: int
) -> Generator[tuple[Unit, list[Row] | Failure], None, None]:
    """Run units in worker processes.

    Parameters
    ----------
    experiment : Experiment
        What the units belong to; its functions have to be importable.
    setup : Setup
        The settings.
    units : sequence of Unit
        The units.
    workers : int
        Number of processes.

    Yields
    ------
    unit : Unit
        A unit, in the order in which they are finished.
    rows : list of Row or Failure
        Its rows.

    Raises
    ------
    OSError
        If a worker cannot be started.
    Exception
        Whatever a unit raises that :func:`run_here` lets through; units that are under way are dropped.
    """
    waiting = deque((unit, 1) for unit in units)
    crew: dict[Connection, _Worker] = {}
    try:
        while waiting or crew:
            while waiting and len(crew) < min(workers, len(units)):
                worker = _Worker(experiment, setup)
                crew[worker.connection] = worker
            for connection in wait(list(crew)):
                assert isinstance(connection, Connection)
                worker = crew[connection]
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    del crew[connection]
                    unit, attempt = worker.bury()
                    if attempt < ATTEMPTS:
                        waiting.appendleft((unit, attempt + 1))
                    else:
                        yield unit, Failure(f"its worker died {attempt} times, the last time {worker.ending()}")
                    continue
                if isinstance(answer, Exception):
                    raise answer
                finished = worker.finish()
                if not worker.start(waiting):
                    del crew[connection]
                    worker.dismiss()
                if finished is not None:
                    yield finished, answer
    finally:
        for worker in crew.values():
            worker.stop()


class _Worker:
    """One process, and the unit that it is at."""

    def __init__(self, experiment: Experiment, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._task: tuple[Unit, int] | None = None
        self._process = context.Process(target=_work, args=(experiment, setup, theirs), daemon=True)
        with _interrupts_ignored():
            self._process.start()
        theirs.close()  # or the end of the process would not close the pipe

    def start(self, waiting: deque[tuple[Unit, int]]) -> bool:
        """Give the worker the next unit; False if there is none."""
        if not waiting:
            return False
        self._task = waiting.popleft()
        # One that has died meanwhile is noticed when its answer is awaited.
        with contextlib.suppress(OSError):
            self.connection.send(self._task[0])
        return True

    def finish(self) -> Unit | None:
        """Return the unit that the worker was at; None for one that has just started."""
        unit = self._task[0] if self._task is not None else None
        self._task = None
        return unit

    def bury(self) -> tuple[Unit, int]:
        """Return the unit that a dead worker was at, and at which attempt."""
        self._process.join()
        self.connection.close()
        if self._task is None:
            raise OSError(f"a worker process could not start, it {self.ending()}")
        return self._task

    def ending(self) -> str:
        code = self._process.exitcode or 0
        if code >= 0:
            return f"left with exit code {code}"
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"

    def dismiss(self) -> None:
        """Let an idle worker end: it leaves when its pipe closes."""
        self.connection.close()
        self._process.join()

    def stop(self) -> None:
        """End a worker, whatever it is doing."""
        self._process.terminate()
        self.dismiss()


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let a process that is started here ignore Ctrl-C from its first moment: the parent ends it."""
    if threading.current_thread() is not threading.main_thread():  # the handler is the main thread's
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _work(experiment: Experiment, setup: Setup, connection: Connection) -> None:
    """Run units until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        connection.send(_READY)
        while True:
            connection.send(_answer(experiment, setup, connection.recv()))
    except (EOFError, OSError):  # the parent has closed the pipe, or has died
        return


def _answer(experiment: Experiment, setup: Setup, unit: Unit) -> Any:
    try:
        return run_here(experiment, setup, unit)
    except Exception as error:
        error.add_note(f"in unit {unit.key} of {experiment.name}, in a worker process:\n{traceback.format_exc()}")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError(f"unit {unit.key}: {error!r}")
        return error
