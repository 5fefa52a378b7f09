"""A small experiment whose units can be told to take long, fail, or kill their process."""

import contextlib
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bansac_lab.measurement import Measurement, Option, Report, Row, Setup, Unit
from bansac_lab.tables import Table, TableRow


def units(setup: Setup) -> list[Unit]:
    return [Unit(f"unit {i}", (i,)) for i in range(setup.get("units", 6))]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    number = unit.payload[0]
    calls = setup.get("calls")
    if calls is not None:  # a line for every call, in whichever process
        with open(calls, "a", encoding="utf-8") as file:
            file.write(f"{number}\n")
    deaths = setup.get("deaths", {}).get(str(number), 0)
    mark = Path(setup.get("marks", "."), f"deaths-{number}")
    died = len(mark.read_text()) if mark.exists() else 0
    if died < deaths:
        mark.write_text("x" * (died + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    if number in setup.get("refuses", ()):
        raise setup.get("error", ValueError)(f"unit {number} is not for me")
    if Path(setup.get("marks", "."), f"raises-{number}").exists():
        raise RuntimeError(f"unit {number} is a mistake")
    started = time.perf_counter()
    error = ((setup.seed + 1) * (number + 1) * 7919) % 101 / 101
    return [
        {"number": number, "which": which, "error": error + k, "seconds": time.perf_counter() - started}
        for k, which in enumerate(("a", "b"))
    ]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    means = tuple(statistics.fmean(float(row["error"] or 0) for row in rows if row["which"] == which) for which in "ab")
    table = Table("Toy", ("Metrics",), ("a", "b"), (TableRow(("error",), means, better="lower"),))
    return Report(tables={"toy": table}, records={"numbers": [{"mean": means[0]}]}, notes=["a note"])


def make_toy(**changes: Any) -> Measurement:
    fields: dict[str, Any] = {
        "name": "toy",
        "title": "Nothing",
        "reference": "nowhere",
        "defaults": "six units",
        "units": units,
        "run_unit": run_unit,
        "report": report,
        "options": tuple(Option(name, Any) for name in ("units", "calls", "deaths", "marks", "refuses", "error")),
    }
    return Measurement(**fields | changes)


def stop_after(number: int) -> Callable[..., Any]:
    """Return a progress that interrupts the run after so many units."""

    @contextlib.contextmanager
    def progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
        left = number

        def advance() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        yield advance

    return progress
