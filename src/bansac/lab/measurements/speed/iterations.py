"""Times of a fixed number of iterations of RANSAC and BANSAC, beside other libraries, and of one iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS
from bansac.lab.measurements.speed.scenes import KINDS, make_task
from bansac.lab.measurements.speed.timing import Call, least_seconds
from bansac.lab.peers.library import Task
from bansac.lab.peers.methods import METHODS
from bansac.problems.estimators import Kind

ITERATIONS = 1000

# The largest confidence below 1, so that no method stops early.
_CONFIDENCE = math.nextafter(1.0, 0.0)

# "poselib-own" has PoseLib's default minimum of 1000 iterations.
_PEERS = {"opencv": "opencv", "poselib": "poselib-own"}

_FIXED: Mapping[str, Any] = {"stopping": None}
_UNVERIFIED: Mapping[str, Any] = {"stopping": None, "verification": None}


def fixed_iterations(seconds: float, peers: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measure 1000 iterations on 2000 matches with 40 % inliers, in ms by problem and method.

    ``uniform`` and ``bansac`` use ``preset="paper"``; ``-unverified`` is the same without the sequential test.
    ``opencv`` uses UsacParams with uniform sampling and no local optimisation. ``poselib`` has local optimisation.
    """
    times: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        task = _task(kind)
        calls: dict[str, Call] = {}
        for name, method in (("uniform", METHODS["uniform"]), ("bansac", METHODS["bansac"])):
            calls[name] = method.call(task, **_FIXED)
            calls[f"{name}-unverified"] = method.call(task, **_UNVERIFIED)
        for name in peers:
            calls[name] = METHODS[_PEERS[name]].call(task)
        times[kind] = {name: 1e3 * time for name, time in least_seconds(calls, seconds).items()}
    return times


def iteration_costs(seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the time of an iteration, by problem and sampler.

    ``ns`` is the time with the sequential test, ``unverified_ns`` without it. Both are differences between calls of
    1000 and of 3000 iterations, which exclude the constant time of a call. ``models`` is the mean number of models of
    a sample.
    """
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for kind in KINDS:
        costs[kind] = {}
        for sampler in ("uniform", "bansac"):
            result = METHODS[sampler].estimate(_task(kind), **_UNVERIFIED).result
            costs[kind][sampler] = {
                "models": result.models_tested / result.iterations,
                "ns": _increase(kind, sampler, _FIXED, seconds),
                "unverified_ns": _increase(kind, sampler, _UNVERIFIED, seconds),
            }
    return costs


def _increase(kind: Kind, sampler: str, settings: Mapping[str, Any], seconds: float) -> float:
    """Return the additional time of one more iteration in ns."""
    calls: dict[str, Call] = {
        str(iterations): METHODS[sampler].call(_task(kind, iterations), **settings)
        for iterations in (ITERATIONS, 3 * ITERATIONS)
    }
    short, long = least_seconds(calls, seconds).values()
    return 1e9 * (long - short) / (2 * ITERATIONS)


def _task(kind: Kind, iterations: int = ITERATIONS) -> Task:
    return make_task(kind, POINTS, INLIER_RATIO, max_iterations=iterations, confidence=_CONFIDENCE)
