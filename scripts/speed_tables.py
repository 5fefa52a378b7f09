"""Tables of ``docs/performance.md`` from the reports of ``bansac bench speed`` and of ``benchmarks/many.py``."""

from __future__ import annotations

from bansac.lab.reports import bench, lines, report_path


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


TABLES = {"many-pairs": many}
