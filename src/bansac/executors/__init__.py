"""Where work runs: items that do not depend on each other, one module for each place.

=============  =========================================================================================
``serial``     in this process
``threads``    in threads of this process, for pairs: methods of a comparison may keep state in the process
``processes``  in processes of this machine
``cluster``    on the workers of a scheduler of ``dask.distributed``, by its address
=============  =========================================================================================

An item is whatever the work takes: a unit of an experiment, a pair of images, a batch of pairs of a database. It can be
pickled, and ``str(item)`` names it. This room imports the threads of :mod:`bansac.estimate`, and nothing else.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

EXECUTORS = {
    "serial": "bansac.executors.serial",
    "processes": "bansac.executors.processes",
}
"""Module of every executor that a comparison of methods can use and that needs no address, by its name."""

# Characters of an item's name in an error.
_LENGTH = 200

Item = TypeVar("Item")
Value = TypeVar("Value")

Work = Callable[[Item], Value]
"""Does one item; it can be pickled, and its functions can be imported."""


Progress = Callable[[str, int, int], AbstractContextManager[Callable[[], None]]]
"""``progress(what, total, done)`` is entered at the start of a pass and gives a function to be called at each unit."""


@contextlib.contextmanager
def silent(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Show nothing."""
    yield lambda: None


@dataclass(frozen=True)
class Failure:
    """Why an item has no value: the error that it raised, or how its workers ended."""

    reason: str


class Executor(Protocol):
    """Does items."""

    alone: bool  # whether an item has the machine to itself, so that its seconds count

    def run(
        self, work: Work[Item, Value], items: Iterable[Item], workers: int
    ) -> Generator[tuple[Item, Value | Failure], None, None]:
        """Yield every item with its value, in any order.

        The iterable is gone through in the thread of the caller, only as far ahead as the workers need. Closing the
        generator ends the items that have started, or waits for them, or drops their values. What :func:`attempt`
        raises in a worker is raised here.
        """


def find_executor(name: str) -> Executor:
    """Return an executor by its name, a key of ``EXECUTORS``; any other name is a ValueError."""
    if name not in EXECUTORS:
        raise ValueError(f"executor must be one of {', '.join(EXECUTORS)}; got {name!r}")
    executor: Executor = importlib.import_module(EXECUTORS[name]).EXECUTOR
    return executor


def attempt(work: Work[Item, Value], item: Item) -> Value | Failure:
    """Do an item in this process.

    An OSError or a ValueError, which are about its data, is a failure. Other exceptions are errors of the program and
    are raised, with a note that names the item.
    """
    try:
        return work(item)
    except (OSError, ValueError) as error:
        return Failure(str(error) or repr(error))
    except Exception as error:
        error.add_note(f"in {str(item)[:_LENGTH]}")
        raise


def attempt_in_worker(work: Work[Item, Value], item: Item) -> Value | Failure:
    """Do an item in a worker, see :func:`attempt`; an exception that cannot be sent is raised as its text."""
    try:
        return attempt(work, item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError(f"{str(item)[:_LENGTH]}: {error!r}") from None
        raise
