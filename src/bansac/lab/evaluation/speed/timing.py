"""The least processor time of calls that take turns, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Call", "least_seconds"]

Call = Callable[[], Any]

# A short call is repeated for so many seconds before the clock is read again.
_BATCH = 0.002

# A call of so many seconds hardly depends on what the caches hold when it begins.
_LONG = 0.05


def least_seconds(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """Return the least time of each call, in seconds of processor time of this thread.

    Parameters
    ----------
    calls : mapping of str to callable
        Calls without arguments. Each is made once before, which loads or compiles what it needs, and at least once for
        its time.
    seconds : float
        For so long all of them run, batch by batch in turn; a batch that has begun is completed.

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
                call()  # not timed: else it would begin with the caches as the call before it left them
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
