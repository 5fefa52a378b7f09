"""Tables of ``docs/performance.md`` from the reports of ``bansac bench speed`` and of ``benchmarks/many.py``."""

from __future__ import annotations

import functools

from bansac.lab.measurements.speed.tables import TABLES as SPEED
from bansac.lab.render import to_markdown
from bansac.lab.reports import bench, lines, report_path


def speed(name: str, report: str = "speed") -> str:
    """Return a table of a report of ``bansac bench speed``."""
    document = bench(report)
    if name == "pairs" and name not in document:
        return "Not measured yet.\n"
    return to_markdown(SPEED[name](document)) + "\n"


def machines() -> str:
    """Return when and with what the reports were measured."""
    rows = []
    for document in (bench("speed"), bench("speed_xeon")):
        versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
        minutes = f"{document['seconds'] / 60:.1f}"
        rows.append([document["date"][:10], document["machine"]["processor"], versions, minutes])
    return lines(["date", "processor", "versions", "minutes"], rows)


def many() -> str:
    """Return the pairs a second with one and several workers, and the peak memory."""
    if not report_path("many").exists():
        return "Not measured yet.\n"
    document = bench("many")
    rows = []
    for kind, methods in document["models"].items():
        ours = methods["bansac"]["pairs_per_second"]
        for name, figures in methods.items():
            rates = figures["pairs_per_second"]
            ratio = ours[max(rates, key=int)] / rates[max(rates, key=int)]
            rows.append([f"{kind}, {name}", *(f"{rate:.0f}" for rate in rates.values())])
            rows[-1] += [f"{figures['speedup']:.2f}", "-" if name == "compiled loop" else f"{ratio:.2f}"]
    workers = next(iter(next(iter(document["models"].values())).values()))["pairs_per_second"]
    head = ["pairs a second", *(f"{n} threads" if n != "1" else "1 thread" for n in workers), "speedup", "ours over it"]
    peaks = ", ".join(f"{int(n):,} pairs {peak:.0f} MB" for n, peak in document["peak_memory_mb"].items())
    settings = f"{document['machine']['processor']}, {document['pairs']} pairs, {document['times']} times."
    return lines(head, rows) + f"\n{settings} Peak memory of a process: {peaks}.\n"


TABLES = {
    **{f"speed-{name}": functools.partial(speed, name) for name in SPEED},
    "speed-targets-xeon": functools.partial(speed, "targets", "speed_xeon"),
    "speed-settings": machines,
    "many-pairs": many,
}
