"""Measure the time of whole calls on one thread, beside other libraries.

The matches have a noise of .3 px and slightly informative scores. "sizes" are calls with the default options over the
number of matches, 80 % of them inliers, and "outliers" over the inlier ratio, as means of three seeds. Use an idle
machine, and compare ratios within one run, not times of two runs.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.problems.estimators import Kind
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.measurements.folders import LABELS
from bansac_lab.peers.library import Method, Task, require
from bansac_lab.peers.methods import METHODS
from bansac_lab.scenes import make_scene
from bansac_lab.tables import Table, sectioned
from bansac_lab.task import DEFAULTS
from bansac_lab.task import make_task as task_of_pair
from bansac_lab.timing import Call, least_seconds, peak_in_process, peak_of_call

KINDS: tuple[Kind, ...] = ("H", "F", "E")
PEERS = ("opencv", "poselib")
POINTS, EASY = 2000, 0.8
SIZES = (30, 100, 500, 1_000, 10_000, 100_000, 1_000_000)
RATIOS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1)
_SEEDS = 3
_NOISE = 0.3  # pixels

# Maximum expected time in seconds. A method that would exceed it at a size is skipped from there on.
_LONGEST = 4.0

# With at least this number of matches, arrays of the size of the data dominate the memory, not fixed arrays and Python.
_MANY = 10_000

_DEFAULT = {"bansac": METHODS["default"]} | {name: METHODS[name] for name in ("opencv-magsac", "poselib-prosac")}


def make_task(kind: Kind, n: int, inlier_ratio: float, seed: int = 1) -> Task:
    """Return a task of ``n`` matches with the paper's settings.

    Scores are uniform in [.3, 1] for inliers and in [0, .7] for outliers.
    """
    scene = make_scene(kind, n, inlier_ratio, _NOISE, seed)
    scores = np.random.default_rng(seed).uniform(0.0, 0.7, n) + np.where(scene.inliers, 0.3, 0.0)
    return task_of_pair(dataclasses.replace(scene.truth, scores=scores), DEFAULTS[kind], seed)


def find_peers(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the libraries to compare, by default the installed ones; another one raises a ModuleNotFoundError."""
    if names is None:
        return tuple(name for name in PEERS if METHODS[name].installed)
    require(METHODS[name] for name in names)
    return tuple(dict.fromkeys(names))


def size_costs(setup: Setup, kind: Kind) -> dict[str, Any]:
    """Measure the cost of a call over the number of matches.

    ``ms`` are times by method and number of matches N, ``slope`` is that of log time over log N of ``bansac`` between
    its last two sizes of at least 10,000, ``bytes`` the memory of its call at the largest N, beyond its input, per
    match.
    """
    sizes = [n for n in SIZES if n <= setup.max_points]
    found = _over_sizes([make_task(kind, n, EASY) for n in sizes], _methods(setup), setup.seconds)
    return {"default": found | {"bytes": _bytes(kind, sizes[-1])}}


def outlier_costs(setup: Setup, kind: Kind) -> dict[str, dict[str, float]]:
    """Measure the mean time of a call in ms, by method and inlier ratio."""
    costs: dict[str, dict[str, float]] = {}
    for ratio in RATIOS:
        tasks = [make_task(kind, POINTS, ratio, seed=seed) for seed in range(_SEEDS)]
        calls = {name: _call(method, tasks) for name, method in _methods(setup).items()}
        for name, time in least_seconds(calls, setup.seconds).items():
            costs.setdefault(name, {})[f"{ratio:g}"] = 1e3 * time / _SEEDS
    return costs


def _methods(setup: Setup) -> dict[str, Method]:
    """Return the default, and the methods of the libraries to compare."""
    peers = find_peers(setup.peers)
    return {name: method for name, method in _DEFAULT.items() if method.ours or name.partition("-")[0] in peers}


def _call(method: Method, tasks: Sequence[Task]) -> Call:
    """Return a call that estimates all tasks, converted for the library in advance."""
    calls = [method.call(task) for task in tasks]

    def call() -> None:
        for one in calls:
            one()

    return call


def _over_sizes(tasks: Sequence[Task], methods: Mapping[str, Method], seconds: float) -> dict[str, Any]:
    times: dict[str, dict[int, float]] = {name: {} for name in methods}
    for task in tasks:
        n, last = len(task.x1), {name: max(found.items(), default=(1, 0.0)) for name, found in times.items()}
        expected = {name: time * n / size for name, (size, time) in last.items()}  # in proportion to the size
        calls = {name: _call(methods[name], [task]) for name in methods if expected[name] < _LONGEST}
        for name, time in least_seconds(calls, seconds).items():
            times[name][n] = time
    milliseconds = {name: {str(n): 1e3 * time for n, time in found.items()} for name, found in times.items()}
    ours, slope = times["bansac"], None
    if len(large := [n for n in ours if n >= _MANY][-2:]) == 2:
        slope = math.log(ours[large[1]] / ours[large[0]]) / math.log(large[1] / large[0])
    return {"ms": milliseconds, "slope": slope}


def _bytes(kind: Kind, n: int) -> dict[str, float]:
    """Return the bytes of a call per match; empty for few matches or if the system does not report memory."""
    found = peak_in_process(_peak, kind, n) if n >= _MANY else None
    return {} if found is None else {str(n): found / n}


def _peak(kind: Kind, n: int) -> int | None:
    """Return the peak memory of a call in bytes, after a call on few matches that loads the kernels."""
    few, many = (_DEFAULT["bansac"].call(make_task(kind, count, EASY)) for count in (SIZES[1], n))
    few()
    return peak_of_call(many)


PARTS: Mapping[str, Callable[[Setup, Kind], Any]] = {
    "sizes": size_costs,
    "outliers": outlier_costs,
}
_NAMES = {**LABELS, "poselib-prosac": "PoseLib, PROSAC"}


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each part of the report and each problem; the peers are checked."""
    find_peers(setup.peers)
    return each(PARTS, KINDS)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Measure a part; the row has the value of one entry of the report."""
    part, kind = unit.payload
    return [{"part": part, "kind": kind, "value": PARTS[part](setup, kind)}]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the measured parts and the tables."""
    records: dict[str, Any] = {}
    for row in rows:
        records.setdefault(row["part"], {})[row["kind"]] = row["value"]
    settings = {"peers": list(find_peers(setup.peers)), "seconds": setup.seconds, "max_points": setup.max_points}
    tables = {name: table(records) for name, table in TABLES.items()}
    return Report(tables=tables, records={"settings": settings, **records})


def sizes(document: Document) -> Table:
    """Return the table of the times of a call over the number of matches."""
    found = {kind: of_kind["default"] for kind, of_kind in document["sizes"].items()}
    columns = list(next(iter(found.values()))["ms"]["bansac"])

    def cells(of_kind: Mapping[str, Any], name: str) -> Iterator[float | None]:
        yield from map(of_kind["ms"][name].get, columns)
        yield from (of_kind["slope"], of_kind["bytes"].get(columns[-1])) if name == "bansac" else (None, None)

    sections = {kind: {_NAMES[name]: cells(of_kind, name) for name in of_kind["ms"]} for kind, of_kind in found.items()}
    headings = (*(f"{int(n):,}" for n in columns), "slope", "bytes a match")
    return sectioned("Default options", "ms at N matches", headings, sections)


def outliers(document: Document) -> Table:
    """Return the table of the times of a call over the inlier ratio."""
    sections = {}
    for kind, methods in document["outliers"].items():
        sections[kind] = {_NAMES[name]: times.values() for name, times in methods.items()}
        ratios = list(methods["bansac"])
    return sectioned(f"Default options, {POINTS} matches", "ms at an inlier ratio of", ratios, sections)


TABLES: Mapping[str, Callable[[Document], Table]] = {"sizes": sizes, "outliers": outliers}

MEASUREMENT = of_module(
    __name__,
    title="Times of calls on one thread",
    options=(
        Option("peers", tuple[str, ...], None, f"Joined by commas, of: {', '.join(PEERS)}. Default: all.", PEERS),
        Option("seconds", float, 0.7, "How long the calls of each comparison take turns.", least=1e-3),
        Option("max_points", int, 1_000_000, "Largest number of matches of a call.", least=SIZES[0]),
    ),
    tables={"speed-sizes": sizes, "speed-outliers": outliers},
    packages=("cv2", "poselib"),
)
