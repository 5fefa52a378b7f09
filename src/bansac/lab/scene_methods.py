"""Methods on a scene: this package's and those of other libraries, all without scores; and one unit of work.

The other libraries get the thresholds in ``THRESHOLDS``. PoseLib has its default limits (1000 to 100,000 samples,
success probability .9999), OpenCV up to 10,000 samples at a confidence of .999. SupeRANSAC has its default limits (1000
to 5000) with uniform sampling, since there are no scores.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bansac.batch.journal import Row
from bansac.lab.frames import DataFrame, import_pandas
from bansac.lab.peers.library import Estimate, Task
from bansac.lab.peers.method import Method
from bansac.lab.peers.opencv import OPENCV
from bansac.lab.peers.poselib import POSELIB
from bansac.lab.peers.superansac import SUPERANSAC
from bansac.lab.scenes import Scene

THRESHOLDS: Mapping[str, float] = {"H": 2.0, "E": 1.0, "F": 1.0, "relative pose": 1.0, "pose": 4.0}
"""Thresholds of other libraries in pixels."""

OURS = (
    Method("default", {"preset": None}),
    Method("fast", {"preset": "fast"}),
    Method("accurate", {"preset": "accurate"}),
    Method("uniform", {"preset": None, "sampler": "uniform"}),
)
PEERS = (
    Method("poselib", library=POSELIB),
    Method("opencv-magsac", {"flag": "USAC_MAGSAC", "confidence": 0.999, "max_iterations": 10_000}, OPENCV),
    Method("superansac", {"sampler": "Uniform"}, SUPERANSAC, sized=True),
)
PEER = PEERS[0]
"""The other library of all tables."""


def task_of(scene: Scene, seed: int) -> Task:
    """Return the task of a scene: its points and scores, and its camera matrices where the problem needs them."""
    count = 1 if scene.problem in ("circle", "line") else 2
    known = {} if count == 1 else {"size1": scene.truth.size1, "size2": scene.truth.size2}
    threshold = THRESHOLDS.get(scene.problem)
    points, cameras = scene.data[:count], scene.data[count:]
    return Task(scene.problem, points, cameras, scene.scores, threshold, seed=seed, **known)


def choose(names: Sequence[str] | None) -> tuple[list[Method], list[str]]:
    """Return the named methods, by default all that are installed, and notes on those that are not.

    A named one that is not installed raises a ModuleNotFoundError.
    """
    known = {method.name: method for method in (*OURS, *PEERS)}
    methods = [known[name] for name in (known if names is None else dict.fromkeys(names))]
    missing = [method for method in methods if not method.installed]
    if missing and names is not None:
        raise ModuleNotFoundError(
            f"method {missing[0].name} needs the package {missing[0].package}", name=missing[0].package
        )
    return [method for method in methods if method.installed], left_out(missing)


def left_out(methods: Iterable[Method]) -> list[str]:
    """Return notes on the methods that are not installed."""
    missing = (method for method in methods if not method.installed)
    return [f"{method.name} is left out: {method.package} is not installed" for method in missing]


def run_scene(scene: Scene, methods: Sequence[Method], key: str, seed: int, judge: Callable[[Any], Row]) -> list[Row]:
    """Run the methods on a scene, in an order that depends on the key; ``judge(model)`` returns columns of a row.

    A result with a second hypothesis has these columns for it, too, with the prefix "rival_".
    """
    task = task_of(scene, seed)
    estimates = {method.name: method.estimate(task) for method in random.Random(key).sample(methods, len(methods))}
    rows: list[Row] = []
    for method in methods:
        model, _, seconds, result = estimates[method.name]
        row: Row = {"method": method.name, "found": model is not None, "success": estimates[method.name].success}
        if result is not None:
            names = "configuration", "stop_reason", "iterations", "threshold"
            row |= {name: getattr(result, name) for name in names}
            if (rival := getattr(result, "rival", None)) is not None:
                row |= {f"rival_{name}": value for name, value in judge(rival.model).items()}
        rows.append({**row, **judge(model), "seconds": seconds})
    return rows


Calls = Mapping[str, Callable[[], Estimate]]
"""Call by the name of its method."""


def calls_of(methods: Iterable[Method], task: Task) -> Calls:
    """Return the calls of the methods that are installed."""
    return {method.name: functools.partial(method.estimate, task) for method in methods if method.installed}


def compare(cases: Iterable[tuple[Calls, Callable[[str, Estimate], Row]]], times: int = 1) -> DataFrame:
    """Run the calls of each case in turn several times; return one row for each case and method.

    The columns are ``method``, the shortest time ``ms``, and those of the second item of a case, a function of the
    method and its fastest estimate. The calls of the first case run once before, because they may compile.
    """
    rows: list[Row] = []
    for calls, judge in cases:
        runs = [[call() for call in calls.values()] for _ in range(times if rows else times + 1)]
        for name, estimates in zip(calls, zip(*runs[-times:], strict=True), strict=True):
            fastest = min(estimates, key=lambda estimate: estimate.seconds)
            rows.append({"method": name, **judge(name, fastest), "ms": 1e3 * fastest.seconds})
    return import_pandas().DataFrame(rows)


def by_method(frame: DataFrame) -> dict[str, DataFrame]:
    """Return the rows of every method, with the same index."""
    return {str(name): rows.reset_index(drop=True) for name, rows in frame.groupby("method", sort=False)}


def load_kernels(scenes: Iterable[Scene], methods: Iterable[Method]) -> None:
    """Load or compile all kernels of our methods by calls on every scene, with right and with wrong matches."""
    tasks = [task for scene in scenes for task in (task_of(scene, 0), task_of(scene, 0).mismatched())]
    for method in (method for method in methods if method.ours):
        for task in tasks:
            method.estimate(task)
