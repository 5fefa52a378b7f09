"""Items in threads of this process: for work whose functions release Python's lock and keep no state in the process."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from bansac.estimate.threads import in_order
from bansac.executors import Failure, Item, Value, Work, attempt

# Items under way for each thread: while one is at a hard item, the others go on with those behind it.
_PENDING_PER_THREAD = 16


class ThreadExecutor:
    """Does items in threads."""

    alone = False

    def run(
        self, work: Work[Item, Value], items: Iterable[Item], workers: int
    ) -> Generator[tuple[Item, Value | Failure], None, None]:
        """Yield the items in their order; closing the generator drops the values of those that have started."""
        return in_order(lambda _, item: (item, attempt(work, item)), items, workers, _PENDING_PER_THREAD * workers)


EXECUTOR = ThreadExecutor()
