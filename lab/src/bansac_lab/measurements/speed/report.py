"""Measure the time of solvers, iterations and calls on one thread, beside other libraries, and compare it with targets.

This takes about three minutes. Use an idle machine, and compare ratios within one run, not times of two runs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bansac_lab.measurement import DATA, Document, Option, Report, Row, Setup, Unit, of_module
from bansac_lab.measurements.folders import LABELS, build_report
from bansac_lab.measurements.speed import calls
from bansac_lab.measurements.speed.kernels import INLIER_RATIO, POINTS, draw_costs, point_costs, solver_costs
from bansac_lab.pairs import BENCH_GROUPS, PairRuns
from bansac_lab.peers.library import require
from bansac_lab.peers.methods import METHODS, select_methods
from bansac_lab.runner import open_run
from bansac_lab.tables import Table, sectioned

_NAMES = {**LABELS, "poselib-prosac": "PoseLib, PROSAC"}


def target_table(document: Document) -> Table:
    """Return the table of the targets."""
    targets = document["targets"]
    rows = {of["what"]: (of["value"], f"<= {of['target']:g}", "yes" if of["met"] else "no") for of in targets}
    return sectioned("Targets", "what", ("measured", "target", "met"), {"": rows})


def solvers(document: Document) -> Table:
    """Return the table of speed and accuracy of the minimal solvers."""
    times = {"ns in a compiled loop": "loop_ns", "us from Python": "python_us", "PoseLib, us from Python": "poselib_us"}
    columns = {**times, "models of an exact sample": "mean_models", "truth found": "share_of_truth"}
    rows = {kind: map(row.get, columns.values()) for kind, row in document["solvers"].items()}
    return sectioned("Minimal solvers", "solver", columns, {"": rows})


def points(document: Document) -> Table:
    """Return the table of the times for one point in the parts of an iteration."""
    times = document["points"]
    parts = ("residual", "evaluate", "msac", "lm_step")
    rows = {kind: (*(times[kind][part] for part in parts), times["update"]) for kind in document["fixed"]}
    columns = "residual", "model evaluation, count", "MSAC", "step of Levenberg-Marquardt", "update of the network"
    return sectioned("One point, ns", "problem", columns, {"": rows})


def draws(document: Document) -> Table:
    """Return the table of the times to draw a minimal sample."""
    found = document["draws"]
    rows = {name: [of[name] for of in found.values()] for name in next(iter(found.values()))}
    return sectioned(f"Draw of a sample among {POINTS} points, ns", "sampler", found, {"": rows})


def fixed(document: Document) -> Table:
    """Return the table of the times of a fixed number of iterations, and their ratios."""
    others = ("opencv", "poselib", "uniform")
    sections: dict[str, dict[str, list[float | None]]] = {}
    for kind, times in document["fixed"].items():
        for name, time in times.items():
            label = _NAMES.get(name, name.replace("-unverified", ", without sequential test"))
            ratios = [time / times[other] if other in times else None for other in others]
            sections.setdefault(kind, {})[label] = [time, *ratios]
    title = f"{calls.ITERATIONS} iterations over {POINTS} matches, {100 * INLIER_RATIO:.0f} % of them inliers"
    return sectioned(title, "method", ("ms", "over OpenCV", "over PoseLib", "over uniform"), sections)


def iterations(document: Document) -> Table:
    """Return the table of the times of an iteration."""
    columns = {"models a sample": "models", "measured, ns": "unverified_ns", "with the sequential test, ns": "ns"}
    rows: dict[str, Iterable[float]] = {}
    for kind, samplers in document["iterations"].items():
        rows |= {f"{kind}, {name}": map(row.get, columns.values()) for name, row in samplers.items()}
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
    sections = {}
    for kind, methods in document["outliers"].items():
        sections[kind] = {_NAMES[name]: times.values() for name, times in methods.items()}
        ratios = list(methods["bansac"])
    return sectioned(f"Default options, {POINTS} matches", "ms at an inlier ratio of", ratios, sections)


def pairs(document: Document) -> Table:
    """Return the table of times and accuracy on real pairs."""
    names = {**_NAMES, **{name: f'{name}, preset="paper"' for name in ("bansac", "uniform")}}
    sections = {}
    for group, methods in document["pairs"].items():
        keys = ("ms_mean", "ms_median", "mAA@10" if group[0] == "H" else "AUC@10")
        sections[group] = {names.get(name, name): map(of.__getitem__, keys) for name, of in methods.items()}
    return sectioned("Real pairs", "method", ("ms, mean", "ms, median", "AUC@10 or mAA@10"), sections)


TABLES: dict[str, Callable[[Document], Table]] = {
    "targets": target_table,
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


PEERS = {"opencv": ("opencv", "opencv-magsac"), "poselib": ("poselib-prosac",)}
"""Name of each library for comparison -> its methods on real pairs."""


def find_peers(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the libraries to compare, by default the installed ones; another one raises a ModuleNotFoundError."""
    if names is None:
        return tuple(name for name in PEERS if METHODS[name].installed)
    require(METHODS[name] for name in names)
    return tuple(dict.fromkeys(names))


_OURS = ("default", "bansac", "uniform")
_GROUPS = dict(zip(("E", "F", "H", "H exact"), BENCH_GROUPS.values(), strict=True))


def find_pairs(setup: Setup, peers: Sequence[str]) -> PairRuns:
    """Return the runs on the groups that have sets below the data: one repeat of at most ``pairs`` pairs of a set."""
    names = [*_OURS, *(name for peer in peers for name in PEERS[peer])]
    changed = {name: group.changed(pairs=setup.pairs, repeats=1) for name, group in _GROUPS.items()}
    groups = {name: group for name, group in changed.items() if group.find(setup)}
    return PairRuns(lambda name, _: select_methods(names, groups[name].protocol.kind), groups, "groups")


def pair_times(setup: Setup, peers: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the means over the sets of :func:`.folders.build_report`, by group and method."""
    runs = find_pairs(setup, peers)
    with open_run(runs.measurement(name="pairs", title="Real pairs"), Setup(data=setup.data), None) as run:
        rows = runs.by_group(run.execute()[0])
    return {name: build_report(of, runs.groups[name].protocol)["mean"] for name, of in rows.items()}


_PARTS: Mapping[str, Callable[[Setup, Sequence[str]], Any]] = {
    "solvers": lambda setup, peers: solver_costs(setup.seconds, peers),
    "points": lambda setup, peers: point_costs(setup.seconds),
    "draws": lambda setup, peers: draw_costs(setup.seconds),
    "fixed": lambda setup, peers: calls.fixed_iterations(3 * setup.seconds, peers),
    "iterations": lambda setup, peers: calls.iteration_costs(setup.seconds),
    "sizes": lambda setup, peers: calls.size_costs(setup.seconds, peers, setup.max_points),
    "outliers": lambda setup, peers: calls.outlier_costs(setup.seconds, peers),
    "pairs": pair_times,
}


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each part of the report; peers and data are checked."""
    peers = find_peers(setup.peers)
    runs = None if setup.data is None else find_pairs(setup, peers)
    has_pairs = runs is not None and runs.groups and runs.units(Setup(data=setup.data))
    return [Unit(part, (part, peers)) for part in _PARTS if part != "pairs" or has_pairs]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Measure a part; each row has the value of one entry of the report."""
    part, peers = unit.payload
    return [{"part": part, "value": _PARTS[part](setup, peers)}]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the measured parts, the targets and the tables."""
    peers = find_peers(setup.peers)
    records = {str(row["part"]): row["value"] for row in rows}
    records["targets"] = list(targets(records))
    pairs = None if setup.data is None else setup.pairs
    settings = {"peers": list(peers), "seconds": setup.seconds, "max_points": setup.max_points, "pairs": pairs}
    return Report(tables=tables_of(records), records={"settings": settings, **records})


# Targets of time ratios on real pairs: this package's method, another library's, and the maximum ratio by group.
_PAIR_RATIOS = (
    ("bansac", "opencv", {"E": 0.3, "F": 0.5, "H": 0.9, "H exact": 0.9}),
    ("default", "poselib-prosac", {"F": 0.12, "E": 0.35}),
    ("default", "opencv-magsac", {"H": 0.6, "H exact": 0.6}),
)


def targets(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the targets with their measured values; those without a measurement are omitted."""
    for kind, target in {"H": 0.8, "F": 0.7, "E": 0.3}.items():
        times = found["fixed"][kind]
        if "opencv" in times:
            yield _target(f"{kind}, 1000 iterations, uniform over OpenCV", times["uniform"] / times["opencv"], target)
        yield _target(f"{kind}, 1000 iterations, BANSAC over uniform", times["bansac"] / times["uniform"], 1.4)
    for kind, sizes in found["sizes"].items():
        ten, default = sizes["ten"]["ms"]["bansac"], sizes["default"]
        yield _target(f"{kind}, ms of ten iterations on 30 points", ten["30"], 0.05)
        if default["bytes"]:
            largest = max(default["bytes"], key=int)
            yield _target(f"{kind}, bytes a point at {int(largest):,} points", default["bytes"][largest], 60)
    for ours, other, limits in _PAIR_RATIOS:
        for group, target in limits.items():
            methods = found.get("pairs", {}).get(group, {})
            for figure in ("mean", "median") if other in methods else ():
                ratio = methods[ours][f"ms_{figure}"] / methods[other][f"ms_{figure}"]
                yield _target(f"{group}, real pairs, {figure}, {ours} over {other}", ratio, target)


def _target(what: str, value: float, target: float) -> dict[str, Any]:
    return {"what": what, "value": value, "target": target, "met": value <= target}


_ON_THE_PAGE = ("sizes", "outliers")

_PEERS_HELP = f"Libraries beside ours, joined by commas, of: {', '.join(PEERS)}. Default: the installed."

MEASUREMENT = of_module(
    __name__,
    name="speed",
    title="Times of solvers, iterations and calls on one thread",
    options=(
        Option("peers", tuple[str, ...], None, _PEERS_HELP, tuple(PEERS)),
        Option("seconds", float, 0.7, "How long the calls of each comparison take turns.", least=1e-3),
        Option("max_points", int, 1_000_000, "Largest number of matches of a call.", least=calls.SIZES[0]),
        dataclasses.replace(DATA, help="Measure on real pairs, too: a folder with the tutorial's sets in EF and in H."),
        Option("pairs", int, 20, "Maximum number of pairs of a set of --data.", least=1),
    ),
    tables={f"speed-{name}": TABLES[name] for name in _ON_THE_PAGE},
    packages=tuple(METHODS[name].package for name in PEERS),
)
