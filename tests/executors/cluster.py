"""Work for the workers of a cluster."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    time.sleep(0.002)
    return number * number


def kill_at_five(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def refuse_odd(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number


class UnloadableError(Exception):
    """Can be pickled, but not loaded again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


def be_wrong(number: int) -> int:
    raise UnloadableError("one", "two")


def mark_and_sleep(mark: str) -> None:
    with Path(mark).open("a") as file:
        file.write("x")
    time.sleep(0.3)
