"""Times of calls with a fixed number of iterations, and of whole calls over matches and inlier ratios, beside peers."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bansac.problems.estimators import Kind
from bansac_lab.measurements.speed.kernels import INLIER_RATIO, KINDS, POINTS, make_task
from bansac_lab.measurements.speed.timing import Call, least_seconds, peak_in_process, peak_of_call
from bansac_lab.peers.library import Method, Task
from bansac_lab.peers.methods import METHODS

ITERATIONS = 1000

# The largest confidence below 1, so that no method stops early.
_CONFIDENCE = math.nextafter(1.0, 0.0)

_PEERS = {"opencv": METHODS["opencv"], "poselib": METHODS["poselib"].changed("poselib", min_iterations=ITERATIONS)}

_FIXED: Mapping[str, Any] = {"stopping": None}
_UNVERIFIED: Mapping[str, Any] = {"stopping": None, "verification": None}


def fixed_iterations(seconds: float, peers: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measure 1000 iterations on 2000 matches with 40 % inliers, in ms by problem and method.

    ``-unverified`` is without the sequential test; only PoseLib has a local optimisation.
    """
    times: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        task = _fixed_task(kind)
        calls: dict[str, Call] = {}
        for name in ("uniform", "bansac"):
            calls[name] = METHODS[name].call(task, **_FIXED)
            calls[f"{name}-unverified"] = METHODS[name].call(task, **_UNVERIFIED)
        calls |= {name: _PEERS[name].call(task) for name in peers}
        times[kind] = {name: 1e3 * time for name, time in least_seconds(calls, seconds).items()}
    return times


def iteration_costs(seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the time of an iteration with (``ns``) and without the sequential test, by problem and sampler.

    Both are differences between calls of 1000 and of 3000 iterations, which exclude the constant time of a call.
    """
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for kind, sampler in itertools.product(KINDS, ("uniform", "bansac")):
        result = METHODS[sampler].estimate(_fixed_task(kind), **_UNVERIFIED).result
        costs.setdefault(kind, {})[sampler] = {
            "models": result.models_tested / result.iterations,
            "ns": _increase(kind, sampler, _FIXED, seconds),
            "unverified_ns": _increase(kind, sampler, _UNVERIFIED, seconds),
        }
    return costs


def _increase(kind: Kind, sampler: str, settings: Mapping[str, Any], seconds: float) -> float:
    """Return the additional time of one more iteration in ns."""
    calls: dict[str, Call] = {
        str(iterations): METHODS[sampler].call(_fixed_task(kind, iterations), **settings)
        for iterations in (ITERATIONS, 3 * ITERATIONS)
    }
    short, long = least_seconds(calls, seconds).values()
    return 1e9 * (long - short) / (2 * ITERATIONS)


def _fixed_task(kind: Kind, iterations: int = ITERATIONS) -> Task:
    return make_task(kind, POINTS, INLIER_RATIO, max_iterations=iterations, confidence=_CONFIDENCE)


SIZES = (30, 100, 500, 1_000, 10_000, 100_000, 1_000_000)

# Inlier ratios, and number of seeds of each mean.
_RATIOS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1)
_SEEDS = 3

# Maximum expected time in seconds. A method that would exceed it at a size is skipped from there on.
_LONGEST = 4.0

# With at least this number of matches, arrays of the size of the data dominate the memory, not fixed arrays and Python.
_MANY = 10_000

_EASY = 0.8
_METHODS = {
    "ten": {
        "bansac": METHODS["uniform"].changed("ten", stopping=None, max_iterations=10),
        "opencv": METHODS["opencv"].changed("opencv", max_iterations=10),
    },
    "default": {"bansac": METHODS["default"]} | {name: METHODS[name] for name in ("opencv-magsac", "poselib-prosac")},
}


def size_costs(seconds: float, peers: Sequence[str], max_points: int) -> dict[str, Any]:
    """Measure the cost of a call over the number of matches with 80 % inliers, by problem and key of ``_METHODS``.

    ``ms`` are times by method and number of matches N, ``slope`` is that of log time over log N of ``bansac`` between
    its last two sizes of at least 10,000, ``bytes`` the memory of its call at the largest N, beyond its input, per
    match.
    """
    costs: dict[str, Any] = {}
    sizes = [n for n in SIZES if n <= max_points]
    for kind, name in itertools.product(KINDS, _METHODS):
        found = _over_sizes([make_task(kind, n, _EASY) for n in sizes], _methods(name, peers), seconds)
        costs.setdefault(kind, {})[name] = found | {"bytes": _bytes(kind, sizes[-1], name)}
    return costs


def outlier_costs(seconds: float, peers: Sequence[str]) -> dict[str, Any]:
    """Measure the mean time of a call on 2000 matches in ms, over three seeds, by problem, method and inlier ratio."""
    costs: dict[str, Any] = {}
    for kind, ratio in itertools.product(KINDS, _RATIOS):
        tasks = [make_task(kind, POINTS, ratio, seed=seed) for seed in range(_SEEDS)]
        calls = {name: _call(method, tasks) for name, method in _methods("default", peers).items()}
        for name, time in least_seconds(calls, seconds).items():
            costs.setdefault(kind, {}).setdefault(name, {})[f"{ratio:g}"] = 1e3 * time / _SEEDS
    return costs


def _methods(name: str, peers: Sequence[str]) -> dict[str, Method]:
    """Return this package's method of a key of ``_METHODS``, and those of the given libraries."""
    return {key: method for key, method in _METHODS[name].items() if method.ours or key.partition("-")[0] in peers}


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


def _bytes(kind: Kind, n: int, name: str) -> dict[str, float]:
    """Return the bytes of a call per match; empty for few matches or if the system does not report memory."""
    found = peak_in_process(_peak, kind, n, name) if n >= _MANY else None
    return {} if found is None else {str(n): found / n}


def _peak(kind: Kind, n: int, name: str) -> int | None:
    """Return the peak memory of a call in bytes, after a call on few matches that loads the kernels."""
    method = _METHODS[name]["bansac"]
    few, many = (method.call(make_task(kind, count, _EASY)) for count in (SIZES[1], n))
    few()
    return peak_of_call(many)
