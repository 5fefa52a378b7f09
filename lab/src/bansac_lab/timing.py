"""Cost of a call: minimum processor time and peak memory.

Calls alternate, so that other load on the machine affects all of them equally. Memory is the resident set size. It
includes the memory that kernels allocate, which tracemalloc does not count.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

Call = Callable[[], Any]

# Duration in seconds of a batch of short calls between two readings of the clock.
_BATCH = 0.002

# A call of at least this duration, in seconds, hardly depends on the state of the caches at its start.
_LONG = 0.05

_PROCESS = Path("/proc/self")

# The C library returns freed blocks of at least this size (bytes) to the system at once. Otherwise a call could reuse
# freed memory without an increase of the resident set.
_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def least_seconds(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """Return the least processor time of each call in seconds of this thread, after a call that may compile.

    The calls alternate in batches for the given number of seconds; a round that has begun is completed.
    """
    least = {}
    for name, call in calls.items():
        call()
        least[name] = _time(call, 1)
    counts = {name: max(1, round(_BATCH / max(once, 1e-7))) for name, once in least.items()}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            if counts[name] == 1 and least[name] < _LONG:
                call()  # untimed: restore the caches after the other calls
            least[name] = min(least[name], _time(call, counts[name]))
    return least


def _time(call: Call, count: int) -> float:
    started = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - started) / count


def peak_of_call(call: Call) -> int | None:
    """Return the maximum growth of the resident set during a call in bytes; None if the system does not report it."""
    try:
        before, _ = status_bytes("VmRSS"), status_bytes("VmHWM")
        (_PROCESS / "clear_refs").write_text("5")  # reset the peak (VmHWM)
    except OSError:
        return None
    call()
    return status_bytes("VmHWM") - before


def peak_in_process(measure: Callable[..., int | None], *arguments: Any) -> int | None:
    """Return the memory that a function measures in a new process."""
    own = dict(os.environ)
    os.environ.update(_ENVIRONMENT)  # a new process inherits it
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(measure, *arguments).result()
    finally:
        os.environ.clear()
        os.environ.update(own)


def status_bytes(name: str) -> int:
    """Return a memory size of this process by its name in ``/proc/self/status``; an OSError if there is none."""
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{_PROCESS / 'status'} has no {name}")
