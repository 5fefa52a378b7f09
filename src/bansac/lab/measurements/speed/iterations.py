"""Times of a fixed number of iterations of RANSAC and BANSAC, compared with other libraries and a lower bound.

The lower bound of the time of one iteration on this core comes from measured peak rates and operation counts. The
solver contributes its time measured in a separate loop. The bound of the work for one point is the maximum of three
times, which assumes that they overlap perfectly:

- multiplications, additions and fused multiply-adds at the measured peak rate,
- divisions at the measured peak rate,
- one read and write of the data at the bandwidth measured for an array of the size of all data of the run.

The number of evaluated points depends on the inlier ratio w and the number of models M of a sample. A model can be
rejected only when its number of outliers reaches that of the best model, (1 - w) N. This takes at least (1 - w) N
points. Uniform sampling needs no complete evaluation: M (1 - w) N points for each iteration. BANSAC's network needs the
classification C^k of all N points in a share c of the iterations: c N + (M - c) (1 - w) N evaluated points and c N
updated points. The sequential test (SPRT) may reject a good model and evaluates fewer points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.compiled.jit import fast_kernel
from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS
from bansac.lab.measurements.speed.scenes import KINDS, PROBLEMS, make_task
from bansac.lab.measurements.speed.timing import Call, least_seconds
from bansac.lab.peers.library import Task
from bansac.lab.peers.methods import METHODS
from bansac.maths.arrays import Reals
from bansac.problems.estimators import Kind


@dataclass(frozen=True)
class PointWork:
    """Work for one point."""

    operations: int  # multiplications, additions and fused multiply-adds
    divisions: int
    bytes: int  # read and written
    precision: str  # "float32" or "float64"


# The odds (4 bytes) are read and written, the mask (1 byte) is read. The map a r + b is a fused multiply-add.
UPDATE = PointWork(1, 0, 9, "float32")
"""Work of the update of the first-order network with the paper's probability table."""


# Multiplications, additions and fused multiply-adds of the squared residual of a point, and divisions. Every addition
# may be fused with a multiplication. Quotients with a common denominator are one division and one multiplication each.
_ARITHMETIC: Mapping[Kind, tuple[int, int]] = {
    "H": (6 + 2 + 2, 1),  # numerators and denominator, quotients, squared distance
    "F": (10 + 2 + 4 + 1, 1),  # five linear forms, their product, four squares, square of the quotient
    "E": (10 + 2 + 4 + 3, 1),  # the same with two norms
}


def evaluation_work(kind: Kind) -> PointWork:
    """Return the work of the squared residual of a point and of its classification.

    The channels are read, and one byte is written for the classification.
    """
    problem = PROBLEMS[kind]
    read = problem.channels * np.dtype(problem.precision).itemsize
    return PointWork(*_ARITHMETIC[kind], read + 1, problem.precision)


_SIZE = 1024  # length of an array that stays in the L1 cache
_CHAIN = 32
_DIVISIONS = 4
_REPEATS = 100


def measure_peaks(seconds: float, points: int) -> dict[str, Any]:
    """Measure the peak rates of one core, per nanosecond.

    ``operations`` and ``divisions`` are given by number type. ``bytes`` read are given by the number of points of a
    run: ``points`` and one million. The bandwidth depends on the size of the data.
    """
    rates: dict[str, Any] = {"operations": {}, "divisions": {}, "bytes": {}}
    for name, real in (("float32", np.float32), ("float64", np.float64)):
        x: Reals = np.full(_SIZE, 0.5, real)
        a, b = x.dtype.type(0.5), x.dtype.type(0.25)
        times = least_seconds(
            {
                "operations": functools.partial(_multiply_and_add, x, a, b, _REPEATS),
                "divisions": functools.partial(_divide, x, a, b, _REPEATS),
            },
            seconds,
        )
        rates["operations"][name] = 1e-9 * _REPEATS * _SIZE * _CHAIN / times["operations"]
        rates["divisions"][name] = 1e-9 * _REPEATS * _SIZE * _DIVISIONS / times["divisions"]
    for count in (points, 1_000_000):
        size = count * (evaluation_work("H").bytes + UPDATE.bytes)
        x, repeats = np.ones(size // 4, np.float32), max(1, 10_000_000 // size)
        time = least_seconds({"read": functools.partial(_read, x, repeats)}, seconds)["read"]
        rates["bytes"][str(count)] = 1e-9 * repeats * size / time
    return rates


def point_limit(work: PointWork, peaks: Mapping[str, Any], points: int) -> dict[str, float]:
    """Return the times of ``operations``, ``divisions`` and ``bytes`` for a point in ns; the bound is their maximum."""
    return {
        "operations": work.operations / peaks["operations"][work.precision],
        "divisions": work.divisions / peaks["divisions"][work.precision],
        "bytes": work.bytes / peaks["bytes"][str(points)],
    }


def iteration_limits(
    kind: Kind,
    peaks: Mapping[str, Any],
    *,
    points: int,
    inlier_ratio: float,
    solver: float,
    models: float,
    classified: float,
) -> dict[str, float]:
    """Return the lower bound of the time of an iteration in ns, for ``uniform`` and ``bansac``.

    ``solver`` is the time to solve a sample in ns, and ``models`` the mean number of models of a sample. ``classified``
    is the share of iterations with a classification.
    """
    evaluation = max(point_limit(evaluation_work(kind), peaks, points).values())
    update = max(point_limit(UPDATE, peaks, points).values())
    abandoned = (1.0 - inlier_ratio) * points
    return {
        "uniform": solver + models * abandoned * evaluation,
        "bansac": solver
        + (classified * points + (models - classified) * abandoned) * evaluation
        + classified * points * update,
    }


@fast_kernel
def _multiply_and_add(x: Reals, a: Any, b: Any, repeats: int) -> None:
    for _ in range(repeats):
        for i in range(x.size):
            y = x[i]
            for _ in range(_CHAIN):
                y = y * a + b
            x[i] = y


@fast_kernel
def _divide(x: Reals, a: Any, b: Any, repeats: int) -> None:
    for _ in range(repeats):
        for i in range(x.size):
            y = x[i]
            for _ in range(_DIVISIONS):
                y = b / (y + a)
            x[i] = y


@fast_kernel
def _read(x: Reals, repeats: int) -> Any:
    total = x[0]
    for _ in range(repeats):
        for i in range(x.size):
            total += x[i]
    return total


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


def iteration_costs(
    seconds: float, solvers: Mapping[str, Mapping[str, float]], peaks: Mapping[str, Any]
) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the time of an iteration and compute its lower bound, by problem and sampler.

    ``ns`` is the time with the sequential test, ``unverified_ns`` without it. Both are differences between calls of
    1000 and of 3000 iterations, which exclude the constant time of a call. ``models`` is the mean number of models of
    a sample. ``classified`` is the share of iterations with a classification. ``limit_ns`` is the lower bound for
    these numbers (:func:`iteration_limits`).
    """
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for kind in KINDS:
        costs[kind] = {}
        for sampler in ("uniform", "bansac"):
            result = METHODS[sampler].estimate(_task(kind), trace=True, **_UNVERIFIED).result
            counts = {
                "models": result.models_tested / result.iterations,
                "classified": float(np.mean(np.isfinite(result.trace.inlier_ratio))),
            }
            limit = iteration_limits(
                kind, peaks, points=POINTS, inlier_ratio=INLIER_RATIO, solver=solvers[kind]["loop_ns"], **counts
            )
            costs[kind][sampler] = counts | {
                "ns": _increase(kind, sampler, _FIXED, seconds),
                "unverified_ns": _increase(kind, sampler, _UNVERIFIED, seconds),
                "limit_ns": limit[sampler],
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
