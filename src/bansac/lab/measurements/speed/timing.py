"""Minimum processor time of alternating calls, so that other load on the machine affects all calls equally."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Call", "least_seconds"]

Call = Callable[[], Any]

# Duration in seconds of a batch of short calls between two readings of the clock.
_BATCH = 0.002

# A call of at least this duration, in seconds, hardly depends on the state of the caches at its start.
_LONG = 0.05


def least_seconds(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """Measure the minimum processor time of each call, in seconds of this thread.

    Parameters
    ----------
    calls : mapping of str to callable
        Functions without parameters. Each is called once to load or compile its code, and timed at least once.
    seconds : float
        Total duration in seconds. The calls alternate in batches, and a round that has begun is completed.

    Examples
    --------
    >>> times = least_seconds({"short": lambda: sum(range(10)), "long": lambda: sum(range(100_000))}, 0.01)
    >>> list(times)
    ['short', 'long']
    """
    least = {name: _time_first(call) for name, call in calls.items()}
    counts = {name: max(1, round(_BATCH / max(once, 1e-7))) for name, once in least.items()}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            if counts[name] == 1 and least[name] < _LONG:
                call()  # untimed: restore the caches after the other calls
            least[name] = min(least[name], _time(call, counts[name]))
    return least


def _time_first(call: Call) -> float:
    call()
    return _time(call, 1)


def _time(call: Call, count: int) -> float:
    started = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - started) / count
