"""The memory of a call: its resident set, what kernels allocate included, which Python's own count does not see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bansac.lab.evaluation.speed.timing import Call

__all__ = ["peak_in_process", "peak_of_call", "status_bytes"]

_PROCESS = Path("/proc/self")

# The C library gives freed memory of at least so many bytes back at once, so that a call cannot use it again unseen.
_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def peak_of_call(call: Call) -> int | None:
    """Return by how many bytes the resident set grows at most during a call, None where the system does not tell."""
    try:
        before, _ = status_bytes("VmRSS"), status_bytes("VmHWM")
        (_PROCESS / "clear_refs").write_text("5")  # the peak starts anew
    except OSError:
        return None
    call()
    return status_bytes("VmHWM") - before


def peak_in_process(module: str, *arguments: str) -> int | None:
    """Return what a module prints, run as a program in a process of its own: bytes, or nothing if it does not know."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=os.environ | _ENVIRONMENT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return int(done.stdout) if done.stdout.strip() else None


def status_bytes(name: str) -> int:
    """Return a size of this process in bytes, by its name in /proc; an OSError where the system does not tell."""
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"{_PROCESS / 'status'} has no {name}")
