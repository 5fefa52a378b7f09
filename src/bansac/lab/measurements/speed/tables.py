"""Tables of the report of ``bansac bench speed``, for the command and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bansac.lab.measurement import Document
from bansac.lab.measurements.speed.iterations import ITERATIONS
from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS
from bansac.lab.render import to_markdown
from bansac.lab.tables import Table, sectioned

_NAMES = {
    "bansac": "bansac",
    "opencv": "OpenCV UsacParams, uniform, no LO",
    "opencv-magsac": "OpenCV USAC_MAGSAC",
    "poselib": "PoseLib",
    "poselib-prosac": "PoseLib, PROSAC",
}


def targets(document: Document) -> Table:
    """Return the table of the targets."""
    rows = {
        row["what"]: (row["value"], f"<= {row['target']:g}", "yes" if row["met"] else "no")
        for row in document["targets"]
    }
    return sectioned("Targets", "what", ("measured", "target", "met"), {"": rows})


def solvers(document: Document) -> Table:
    """Return the table of speed and accuracy of the minimal solvers."""
    columns = {
        "ns in a compiled loop": "loop_ns",
        "us from Python": "python_us",
        "PoseLib, us from Python": "poselib_us",
        "models of an exact sample": "mean_models",
        "truth found": "share_of_truth",
    }
    rows = {kind: map(row.get, columns.values()) for kind, row in document["solvers"].items()}
    return sectioned("Minimal solvers", "solver", columns, {"": rows})


def points(document: Document) -> Table:
    """Return the table of the times for one point in the parts of an iteration."""
    columns = {
        "residual": "residual",
        "model evaluation, count": "evaluate",
        "MSAC": "msac",
        "step of Levenberg-Marquardt": "lm_step",
    }
    update = document["points"]["update"]
    times = {kind: document["points"][kind] for kind in document["fixed"]}
    rows = {kind: (*map(of.__getitem__, columns.values()), update) for kind, of in times.items()}
    return sectioned("One point, ns", "problem", (*columns, "update of the network"), {"": rows})


def draws(document: Document) -> Table:
    """Return the table of the times to draw a minimal sample."""
    found = document["draws"]
    rows = {name: [of[name] for of in found.values()] for name in next(iter(found.values()))}
    return sectioned(f"Draw of a sample among {POINTS} points, ns", "sampler", found, {"": rows})


def fixed(document: Document) -> Table:
    """Return the table of the times of a fixed number of iterations, and their ratios."""

    def label(name: str) -> str:
        return _NAMES.get(name, name.replace("-unverified", ", without sequential test"))

    others = ("opencv", "poselib", "uniform")
    sections = {
        kind: {
            label(name): (time, *(time / times[other] if other in times else None for other in others))
            for name, time in times.items()
        }
        for kind, times in document["fixed"].items()
    }
    title = f"{ITERATIONS} iterations over {POINTS} matches, {100 * INLIER_RATIO:.0f} % of them inliers"
    return sectioned(title, "method", ("ms", "over OpenCV", "over PoseLib", "over uniform"), sections)


def iterations(document: Document) -> Table:
    """Return the table of the times of an iteration."""
    columns = {
        "models a sample": "models",
        "measured, ns": "unverified_ns",
        "with the sequential test, ns": "ns",
    }
    found = document["iterations"].items()
    rows = {
        f"{kind}, {name}": map(row.get, columns.values()) for kind, samplers in found for name, row in samplers.items()
    }
    return sectioned(f"One iteration over {POINTS} matches", "problem, sampler", columns, {"": rows})


def sizes(document: Document, settings: str, title: str) -> Table:
    """Return the table of the times of a call over the number of matches."""
    found = {kind: of_kind[settings] for kind, of_kind in document["sizes"].items()}
    columns = list(next(iter(found.values()))["ms"]["bansac"])

    def cells(of_kind: Mapping[str, Any], name: str) -> Iterator[float | None]:
        yield from map(of_kind["ms"][name].get, columns)
        yield from (of_kind["slope"], of_kind["bytes"].get(columns[-1])) if name == "bansac" else (None, None)

    sections = {kind: {_NAMES[name]: cells(of_kind, name) for name in of_kind["ms"]} for kind, of_kind in found.items()}
    headings = (*(f"{int(n):,}" for n in columns), "slope", "bytes a match")
    return sectioned(title, "ms at N matches", headings, sections)


def outliers(document: Document) -> Table:
    """Return the table of the times of a call over the inlier ratio."""
    found = document["outliers"]
    sections = {
        kind: {_NAMES[name]: times.values() for name, times in methods.items()} for kind, methods in found.items()
    }
    ratios = next(iter(next(iter(found.values())).values()))
    return sectioned(f"Default options, {POINTS} matches", "ms at an inlier ratio of", ratios, sections)


def pairs(document: Document) -> Table:
    """Return the table of times and accuracy on real pairs."""
    names = {**_NAMES, **{name: f'{name}, preset="paper"' for name in ("bansac", "uniform")}}
    sections = {
        group: {
            names.get(name, name): (of["ms_mean"], of["ms_median"], of["mAA@10" if group[0] == "H" else "AUC@10"])
            for name, of in methods.items()
        }
        for group, methods in document["pairs"].items()
    }
    return sectioned("Real pairs", "method", ("ms, mean", "ms, median", "AUC@10 or mAA@10"), sections)


TABLES: dict[str, Callable[[Document], Table]] = {
    "targets": targets,
    "fixed": fixed,
    "iterations": iterations,
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
    return to_markdown(TABLES[name](document)) + "\n"
