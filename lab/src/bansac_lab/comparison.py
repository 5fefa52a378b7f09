"""Comparison of methods on one unit of work: only the calls are timed, and each method has a row.

A method that uses much memory evicts the caches for its successor. A temporary slowdown of the machine should affect
all methods equally. Therefore each unit has its own random order. The seed is the unit's key, so that the order is the
same in every run.
"""

import functools
import random
from collections.abc import Callable, Iterable, Mapping

from bansac.batch.journal import Row
from bansac_lab.peers.library import Estimate, Method, Task

Calls = Mapping[str, Callable[[], Estimate]]
"""Call by the name of its method."""

Judge = Callable[[str, Estimate], Row]
"""Columns of the row of a method, from its name and its estimate."""


def compare(calls: Calls, judge: Judge, key: str, times: int = 1) -> list[Row]:
    """Run all calls, several times; return a row for each, of its fastest estimate: ``method``, columns, ``seconds``.

    The estimates are judged after all calls are timed, because errors may use much memory.
    """
    order = random.Random(key).sample([*calls], len(calls))
    runs = [{name: calls[name]() for name in order} for _ in range(times)]
    fastest = {name: min((run[name] for run in runs), key=lambda estimate: estimate.seconds) for name in calls}
    return [{"method": name, **judge(name, found), "seconds": found.seconds} for name, found in fastest.items()]


def calls_of(methods: Iterable[Method], task: Task) -> Calls:
    """Return the calls of the methods that are installed."""
    return {method.name: functools.partial(method.estimate, task) for method in methods if method.installed}
