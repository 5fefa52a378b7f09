"""Executor that does items one after the other in this process."""

from collections.abc import Iterable

from bansac.executors import Answers, Item, Value, Work, attempt

alone = True


def run(work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
    """Yield the items in their order; ``workers`` is ignored."""
    for item in items:
        yield item, attempt(work, item)
