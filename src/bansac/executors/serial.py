"""Executor that does items one after the other in this process."""

from collections.abc import Generator, Iterable

from bansac.executors import Item, ItemFailure, Value, Work, attempt


class SerialExecutor:
    """Executor in this process; ignores the number of workers."""

    alone = True

    def run(
        self, work: Work[Item, Value], items: Iterable[Item], workers: int
    ) -> Generator[tuple[Item, Value | ItemFailure], None, None]:
        """Yield the items in their order."""
        for item in items:
            yield item, attempt(work, item)


EXECUTOR = SerialExecutor()
