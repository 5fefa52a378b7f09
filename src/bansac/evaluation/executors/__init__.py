"""Where units of work run, one module each with an ``EXECUTOR``.

A new executor, say of a cluster, is a module here and a row in ``EXECUTORS``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from bansac.evaluation.experiment import Row, Unit

EXECUTORS = {
    "serial": "bansac.evaluation.executors.serial",
    "processes": "bansac.evaluation.executors.processes",
}
"""Module of every executor, by its name."""

Work = Callable[[Unit], list[Row]]
"""Runs one unit; it can be pickled, and its functions can be imported."""


@dataclass(frozen=True)
class Failure:
    """Why there are no rows of a unit: the error that it raised, or how its workers ended."""

    reason: str


Answer = list[Row] | Failure


class Executor(Protocol):
    """Runs units."""

    alone: bool  # whether a unit has the machine to itself, so that its seconds count

    def run(self, work: Work, units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Answer], None, None]:
        """Yield every unit with its answer, in any order.

        Closing the generator ends the units that have started, or waits for them. What :func:`attempt` raises in a
        worker is raised here.
        """


def find_executor(name: str) -> Executor:
    """Return an executor by its name, a key of ``EXECUTORS``; any other name is a ValueError."""
    if name not in EXECUTORS:
        raise ValueError(f"executor must be one of {', '.join(EXECUTORS)}; got {name!r}")
    executor: Executor = importlib.import_module(EXECUTORS[name]).EXECUTOR
    return executor


def attempt(work: Work, unit: Unit) -> Answer:
    """Run a unit in this process.

    An OSError or a ValueError, which are about its data, is a failure. Other exceptions are errors of the program and
    are raised, with a note that names the unit.
    """
    try:
        return work(unit)
    except (OSError, ValueError) as error:
        return Failure(str(error) or repr(error))
    except Exception as error:
        error.add_note(f"in unit {unit.key}")
        raise
