"""Whole calls from Python, from 30 to a million matches, and over the share of outliers, beside other libraries."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.methods import METHODS
from bansac.lab.evaluation.speed.memory import peak_in_process, peak_of_call
from bansac.lab.evaluation.speed.scenes import KINDS, make_task
from bansac.lab.evaluation.speed.timing import Call, least_seconds
from bansac.lab.evaluation.task import Task
from bansac.problems.table import Kind

__all__ = ["SIZES", "outlier_costs", "size_costs"]

SIZES = (30, 100, 500, 1_000, 10_000, 100_000, 1_000_000)

# Inlier ratios, and the matches and seeds of a mean.
_RATIOS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1)
_MATCHES = 2000
_SEEDS = 3

# A method that is expected to take longer at the next size is left out from there on.
_LONGEST = 4.0

# Memory beyond the input is that of the data, and not of fixed arrays and of Python, from so many matches on.
_MANY = 10_000

_EASY = 0.8
_TEN = 10
_TEN_PEERS = {"opencv": "opencv"}
_DEFAULT_PEERS = {"opencv": "opencv-magsac", "poselib": "poselib-prosac"}


def size_costs(seconds: float, peers: Sequence[str], max_points: int) -> dict[str, Any]:
    """Return the cost of a call over the number of matches, 80 % of them inliers, by problem.

    ``ten``: ten samples of uniform sampling with ``preset="paper"`` (``bansac``), and of OpenCV; what a call costs
    around the search. ``default``: the default options with scores, beside USAC_MAGSAC and PoseLib with PROSAC. Each
    has ``ms``, a mapping of numbers of matches by method, ``slope``, that of log time over log N between the last two
    numbers of ``bansac``, from 10,000 on, and ``bytes`` of memory that a call of ``bansac`` takes for each match beyond
    its input, at the largest number.
    """
    costs: dict[str, Any] = {}
    for kind in KINDS:
        sizes = [n for n in SIZES if n <= max_points]
        costs[kind] = {
            name: _over_sizes([_task(kind, n, name) for n in sizes], methods(peers), seconds)
            | {"bytes": _bytes(kind, sizes[-1], name)}
            for name, methods in _METHODS.items()
        }
    return costs


def outlier_costs(seconds: float, peers: Sequence[str]) -> dict[str, Any]:
    """Return the mean ms of a call over the inlier ratio among 2000 matches, of three seeds, by problem and method."""
    costs: dict[str, Any] = {}
    methods = _default_methods(peers)
    for kind in KINDS:
        costs[kind] = {name: {} for name in methods}
        for ratio in _RATIOS:
            tasks = [make_task(kind, _MATCHES, ratio, seed=seed) for seed in range(_SEEDS)]
            calls = {name: _call(method, tasks) for name, method in methods.items()}
            for name, time in least_seconds(calls, seconds).items():
                costs[kind][name][f"{ratio:g}"] = 1e3 * time / _SEEDS
    return costs


def _ten_methods(peers: Sequence[str]) -> dict[str, Method]:
    return {"bansac": METHODS["uniform"].changed("ten", stopping=None)} | _chosen(_TEN_PEERS, peers)


def _default_methods(peers: Sequence[str]) -> dict[str, Method]:
    return {"bansac": METHODS["default"]} | _chosen(_DEFAULT_PEERS, peers)


_METHODS = {"ten": _ten_methods, "default": _default_methods}


def _task(kind: Kind, n: int, name: str) -> Task:
    """Return the task of a number of matches for one of ``_METHODS``."""
    task = make_task(kind, n, _EASY)
    return replace(task, max_iterations=_TEN) if name == "ten" else task


def _chosen(methods: Mapping[str, str], peers: Sequence[str]) -> dict[str, Method]:
    return {method: METHODS[method] for peer, method in methods.items() if peer in peers}


def _call(method: Method, tasks: Sequence[Task]) -> Call:
    """Return a call that estimates the tasks, arranged as the method wants them."""
    method.prepare()
    arranged = [method.arrange(task) for task in tasks]

    def call() -> None:
        for task in arranged:
            method.run(task)

    return call


def _over_sizes(tasks: Sequence[Task], methods: Mapping[str, Method], seconds: float) -> dict[str, Any]:
    times: dict[str, dict[int, float]] = {name: {} for name in methods}
    for task in tasks:
        n = len(task.x1)
        short = (name for name in methods if _expected(times[name], n) < _LONGEST)
        calls = {name: _call(methods[name], [task]) for name in short}
        for name, time in least_seconds(calls, seconds).items():
            times[name][n] = time
    milliseconds = {name: {str(n): 1e3 * time for n, time in found.items()} for name, found in times.items()}
    return {"ms": milliseconds, "slope": _slope(times["bansac"])}


def _expected(times: Mapping[int, float], n: int) -> float:
    """Return the time at ``n`` matches if it grew in proportion from the last size; 0 at the first."""
    if not times:
        return 0.0
    last = max(times)
    return times[last] * n / last


def _slope(times: Mapping[int, float]) -> float | None:
    """Return the slope of log time over log N between the last two sizes; None with fewer large ones."""
    sizes = [n for n in times if n >= _MANY][-2:]
    if len(sizes) < 2:
        return None
    return math.log(times[sizes[1]] / times[sizes[0]]) / math.log(sizes[1] / sizes[0])


def _bytes(kind: Kind, n: int, name: str) -> dict[str, float]:
    """Return the bytes of a call for each of ``n`` matches, nothing where they are few or the system does not tell."""
    found = peak_in_process(__name__, kind, str(n), name) if n >= _MANY else None
    return {} if found is None else {str(n): found / n}


def main(kind: Kind, n: int, name: str) -> None:
    """Print the bytes of a call, after one on few matches that loads the kernels."""
    method = _METHODS[name](())["bansac"]
    few, many = (functools.partial(method.run, _task(kind, count, name)) for count in (SIZES[1], n))
    few()
    found = peak_of_call(many)
    print("" if found is None else found)


if __name__ == "__main__":
    main(cast(Kind, sys.argv[1]), int(sys.argv[2]), sys.argv[3])
