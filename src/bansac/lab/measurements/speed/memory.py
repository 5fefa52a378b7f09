"""Peak memory of a call, measured as resident set size.

The resident set includes the memory that kernels allocate, which tracemalloc does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bansac.lab.measurements.speed.timing import Call

__all__ = ["peak_in_process", "peak_of_call", "status_bytes"]

_PROCESS = Path("/proc/self")

# The C library returns freed blocks of at least this size (bytes) to the system at once. Otherwise a call could reuse
# freed memory without an increase of the resident set.
_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def peak_of_call(call: Call) -> int | None:
    """Return the maximum growth of the resident set during a call in bytes; None if the system does not report it."""
    try:
        before, _ = status_bytes("VmRSS"), status_bytes("VmHWM")
        (_PROCESS / "clear_refs").write_text("5")  # reset the peak (VmHWM)
    except OSError:
        return None
    call()
    return status_bytes("VmHWM") - before


def peak_in_process(module: str, *arguments: str) -> int | None:
    """Run a module as a program in a new process and return the bytes that it prints; None if it prints nothing."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=os.environ | _ENVIRONMENT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return int(done.stdout) if done.stdout.strip() else None


def status_bytes(name: str) -> int:
    """Return a memory size of this process in bytes by its name in ``/proc/self/status``.

    If the system does not report it, an OSError is raised.
    """
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{_PROCESS / 'status'} has no {name}")
