"""Executor that does items one after the other in this process."""

from collections.abc import Iterable

from bansac.executors import Answers, Item, Value, Work, attempt


class SerialExecutor:
    """Executor in this process; ignores the number of workers."""

    alone = True

    def run(self, work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
        """Yield the items in their order."""
        for item in items:
            yield item, attempt(work, item)


EXECUTOR = SerialExecutor()
