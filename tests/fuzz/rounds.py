"""Rounds of Hypothesis until a test's share of the seconds is over, with a count of the inputs.

``BANSAC_FUZZ_SECONDS`` is the time of all tests together, and ``BANSAC_FUZZ_REPORT`` a JSON file for the counts. Every
test has at least one round. The seed of the first one is ``BANSAC_FUZZ_SEED``, by default the time.
"""

import contextlib
import faulthandler
import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from bansac_lab.provenance import circumstances

SECONDS = float(os.environ.get("BANSAC_FUZZ_SECONDS", "120"))
HANG = 120  # seconds; an input may compile kernels
SEED = os.environ.get("BANSAC_FUZZ_SEED")
EXAMPLES = 50  # in a round


class Hang(BaseException):
    """An input has run for ``HANG`` seconds."""


@contextlib.contextmanager
def no_hang() -> Iterator[None]:
    """Raise an error after ``HANG`` seconds; if that is not noticed, print the stacks and end the process."""

    def stop(*_: object) -> None:
        raise Hang(f"no answer after {HANG} s")

    earlier = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG)
    faulthandler.dump_traceback_later(3 * HANG, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
        faulthandler.cancel_dump_traceback_later()


def fuzz(name: str, share: float, strategy: Any, check: Callable[[Any], str]) -> None:
    """Check random inputs for a share of the time; ``check`` returns the kind of the answer, such as "refused"."""
    counts: dict[str, int] = {}
    started, first = time.monotonic(), time.time_ns() % 2**32 if SEED is None else int(SEED)
    for seed in itertools.count(first):
        if seed > first and time.monotonic() > started + share * SECONDS:
            break

        @hypothesis.seed(seed)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        @given(strategy)
        def one_round(value: Any) -> None:
            with no_hang():
                answer = check(value)
            counts[answer] = counts.get(answer, 0) + 1

        one_round()
    _report(name, round(time.monotonic() - started, 1), counts)


def _report(name: str, seconds: float, counts: dict[str, int]) -> None:
    path = os.environ.get("BANSAC_FUZZ_REPORT")
    if path is None:
        return
    found = json.loads(Path(path).read_text(encoding="utf-8")) if Path(path).exists() else {"tests": {}}
    found |= circumstances(("h5py", "hypothesis", "opencv-python-headless", "pycolmap"))
    found["tests"][name] = {"seconds": seconds, **dict(sorted(counts.items()))}
    found["inputs"] = sum(n for test in found["tests"].values() for kind, n in test.items() if kind != "seconds")
    Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
