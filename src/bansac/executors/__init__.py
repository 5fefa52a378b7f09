"""Executors, which run independent items of work, in one module each.

Threads are for pairs only, because methods of a comparison may keep state in the process.

An item is the argument of the work function: a unit of an experiment, a pair of images, or a batch of pairs of a
database. It can be pickled, and ``str(item)`` is its name. :mod:`bansac.executors.progress_bar` counts the done items.
"""

import contextlib
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

CURRENT_ITEM: ContextVar[Any] = ContextVar("CURRENT_ITEM", default=None)
"""The item that this thread is doing, for messages about it."""

# Largest number of characters of an item's name in an error message.
_LENGTH = 200

Item = TypeVar("Item")
Value = TypeVar("Value")

Work = Callable[[Item], Value]
"""Function of one item. It can be pickled, and its functions can be imported."""

Progress = Callable[[str, int, int], AbstractContextManager[Callable[[], None]]]
"""``progress(what, total, done)`` is entered at the start of a pass and returns a function to call after each unit."""


@contextlib.contextmanager
def handling(number: int, handler: Any) -> Iterator[None]:
    """Set the handler of a signal in this context, if this is the main thread; only that can set it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, earlier)


@contextlib.contextmanager
def silent(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Show no progress."""
    yield lambda: None


@dataclass(frozen=True)
class ItemFailure:
    """Reason why an item has no value: its exception, or the exit status of its workers."""

    reason: str


Answers = Generator[tuple[Item, Value | ItemFailure], None, None]
"""Items with their values; closing the generator ends the work."""


class Executor(Protocol):
    """Executor of independent items: a module of this package, or an object for a place with an address."""

    def run(self, work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
        """Yield every item with its value, in any order.

        The iterable is consumed in the caller's thread, and only as far ahead as the workers need. If the generator is
        closed, items that have started are cancelled or awaited, or their values are dropped. Exceptions that
        :func:`attempt` raises in a worker are raised here.
        """


def attempt(work: Work[Item, Value], item: Item) -> Value | ItemFailure:
    """Do an item in this process.

    An OSError or a ValueError concerns the data of the item and becomes a failure. Other exceptions are program errors
    and are raised with a note that names the item.
    """
    token = CURRENT_ITEM.set(item)
    try:
        return work(item)
    except (OSError, ValueError) as error:
        reason = str(error) or repr(error)
        # A file name that is not UTF-8 has characters that no file or terminal takes.
        return ItemFailure(reason.encode("utf-8", "backslashreplace").decode())
    except Exception as error:
        error.add_note(f"in {str(item)[:_LENGTH]}")
        raise
    finally:
        CURRENT_ITEM.reset(token)


def attempt_in_worker(work: Work[Item, Value], item: Item) -> Value | ItemFailure:
    """Do an item in a worker as :func:`attempt` does; an exception that cannot be pickled is raised as its text."""
    try:
        return attempt(work, item)
    except Exception as error:
        if not can_be_pickled(error):
            raise RuntimeError(f"{str(item)[:_LENGTH]}: {error!r}") from None
        raise


def can_be_pickled(value: Any) -> bool:
    """Return whether a value can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True
