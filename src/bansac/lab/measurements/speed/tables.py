"""Tables of the report of ``bansac bench speed``, for the command and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bansac.lab.measurements.speed.iterations import ITERATIONS
from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS
from bansac.lab.render import to_markdown
from bansac.lab.reports import lines
from bansac.lab.tables import Section, Table, TableRow

__all__ = ["TABLES", "machines", "page_table", "tables_of"]

Document = Mapping[str, Any]

_NAMES = {
    "bansac": "bansac",
    "opencv": "OpenCV UsacParams, uniform, no LO",
    "opencv-magsac": "OpenCV USAC_MAGSAC",
    "poselib": "PoseLib",
    "poselib-prosac": "PoseLib, PROSAC",
}


def targets(document: Document) -> Table:
    """Return the table of the targets."""
    rows = tuple(
        TableRow((row["what"],), (row["value"], f"<= {row['target']:g}", "yes" if row["met"] else "no"))
        for row in document["targets"]
    )
    return Table("Targets", ("what",), ("measured", "target", "met"), rows)


def solvers(document: Document) -> Table:
    """Return the table of speed and accuracy of the minimal solvers."""
    columns = {
        "ns in a compiled loop": "loop_ns",
        "us from Python": "python_us",
        "PoseLib, us from Python": "poselib_us",
        "models of an exact sample": "mean_models",
        "truth found": "share_of_truth",
    }
    rows = tuple(
        TableRow((kind,), tuple(row.get(key) for key in columns.values())) for kind, row in document["solvers"].items()
    )
    return Table("Minimal solvers", ("solver",), tuple(columns), rows)


def points(document: Document) -> Table:
    """Return the table of the times for one point in the parts of an iteration."""
    found = document["points"]
    columns = {
        "residual": "residual",
        "model evaluation, count": "evaluate",
        "MSAC": "msac",
        "step of Levenberg-Marquardt": "lm_step",
    }
    rows = [
        TableRow((kind,), (*(found[kind][key] for key in columns.values()), found["update"]))
        for kind in document["fixed"]
    ]
    return Table("One point, ns", ("problem",), (*columns, "update of the network"), tuple(rows))


def draws(document: Document) -> Table:
    """Return the table of the times to draw a minimal sample."""
    found = document["draws"]
    samplers = next(iter(found.values()))
    rows = tuple(TableRow((name,), tuple(found[kind][name] for kind in found)) for name in samplers)
    return Table(f"Draw of a sample among {POINTS} points, ns", ("sampler",), tuple(found), rows)


def fixed(document: Document) -> Table:
    """Return the table of the times of a fixed number of iterations, and their ratios."""
    rows: list[TableRow | Section] = []
    for kind, times in document["fixed"].items():
        rows.append(Section(kind))
        for name, time in times.items():
            ratios = (_ratio(time, times.get(other)) for other in ("opencv", "poselib", "uniform"))
            label = name.replace("-unverified", ", without sequential test")
            rows.append(TableRow((_NAMES.get(name, label),), (time, *ratios)))
    title = f"{ITERATIONS} iterations over {POINTS} matches, {100 * INLIER_RATIO:.0f} % of them inliers"
    return Table(title, ("method",), ("ms", "over OpenCV", "over PoseLib", "over uniform"), tuple(rows))


def limits(document: Document) -> Table:
    """Return the table of the times of an iteration and their lower bounds."""
    rows: list[TableRow | Section] = []
    for kind, samplers in document["iterations"].items():
        for name, row in samplers.items():
            over = _ratio(row["unverified_ns"], row["limit_ns"])
            cells = (row["models"], row["limit_ns"], row["unverified_ns"], over, row["ns"])
            rows.append(TableRow((f"{kind}, {name}",), cells))
    columns = ("models a sample", "at least, ns", "measured, ns", "measured over least", "with the sequential test, ns")
    return Table(f"One iteration over {POINTS} matches", ("problem, sampler",), columns, tuple(rows))


def peaks(document: Document) -> Table:
    """Return the table of the measured peak rates of the core."""
    found = document["peaks"]
    rows = [
        TableRow((f"{name}, {precision}",), (rate,))
        for name in ("operations", "divisions")
        for precision, rate in found[name].items()
    ]
    rows += [TableRow((f"bytes read, {int(n):,} points",), (rate,)) for n, rate in found["bytes"].items()]
    return Table("Peaks of one core, in a nanosecond", ("what",), ("rate",), tuple(rows))


def sizes(document: Document, settings: str, title: str) -> Table:
    """Return the table of the times of a call over the number of matches."""
    found = document["sizes"]
    columns = tuple(next(iter(found.values()))[settings]["ms"]["bansac"])
    rows: list[TableRow | Section] = []
    for kind, of_kind in found.items():
        row = of_kind[settings]
        rows.append(Section(kind))
        for name, times in row["ms"].items():
            slope = row["slope"] if name == "bansac" else None
            held = row["bytes"].get(columns[-1]) if name == "bansac" else None
            rows.append(TableRow((_NAMES[name],), (*map(times.get, columns), slope, held)))
    headings = (*(f"{int(n):,}" for n in columns), "slope", "bytes a match")
    return Table(title, ("ms at N matches",), headings, tuple(rows))


def outliers(document: Document) -> Table:
    """Return the table of the times of a call over the inlier ratio."""
    rows: list[TableRow | Section] = []
    ratios: tuple[str, ...] = ()
    for kind, methods in document["outliers"].items():
        rows.append(Section(kind))
        for name, times in methods.items():
            ratios = tuple(times)
            rows.append(TableRow((_NAMES[name],), tuple(times.values())))
    return Table(f"Default options, {POINTS} matches", ("ms at an inlier ratio of",), ratios, tuple(rows))


def pairs(document: Document) -> Table:
    """Return the table of times and accuracy on real pairs."""
    rows: list[TableRow | Section] = []
    for group, methods in document["pairs"].items():
        rows.append(Section(group))
        for name, figures in methods.items():
            accuracy = figures["mAA@10" if group.startswith("H") else "AUC@10"]
            label = {"bansac": 'bansac, preset="paper"', "uniform": 'uniform, preset="paper"'}.get(name)
            rows.append(
                TableRow((label or _NAMES.get(name, name),), (figures["ms_mean"], figures["ms_median"], accuracy))
            )
    return Table("Real pairs", ("method",), ("ms, mean", "ms, median", "AUC@10 or mAA@10"), tuple(rows))


TABLES: dict[str, Callable[[Document], Table]] = {
    "targets": targets,
    "fixed": fixed,
    "limits": limits,
    "peaks": peaks,
    "solvers": solvers,
    "points": points,
    "draws": draws,
    "calls": lambda document: sizes(document, "ten", 'Ten samples, preset="paper", uniform sampling'),
    "sizes": lambda document: sizes(document, "default", "Default options"),
    "outliers": outliers,
    "pairs": pairs,
}
"""Name of each table -> its function."""


def tables_of(document: Document) -> dict[str, Table]:
    """Return all tables of a report; the table of real pairs is optional."""
    return {name: table(document) for name, table in TABLES.items() if name != "pairs" or "pairs" in document}


def page_table(document: Document, name: str) -> str:
    """Return a table of a stored document in Markdown."""
    if name == "pairs" and name not in document:
        return "Not measured yet.\n"
    return to_markdown(TABLES[name](document)) + "\n"


def machines(*documents: Document) -> str:
    """Return when and with what the reports were measured."""
    rows = []
    for document in documents:
        versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
        minutes = f"{document['seconds'] / 60:.1f}"
        rows.append([document["date"][:10], document["machine"]["processor"], versions, minutes])
    return lines(["date", "processor", "versions", "minutes"], rows)


def _ratio(time: float, other: float | None) -> float | None:
    return None if other is None else time / other
