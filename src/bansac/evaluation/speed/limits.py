"""What one iteration must cost at least on this core, from measured peaks and counted arithmetic.

The solver counts as measured in a loop of its own. For what is done for every point the least is the longest of three
times, as if they overlapped perfectly: that of its multiplications, additions and fused pairs of them at the measured
peak, that of its divisions, and that of reading and writing its data once at the measured bandwidth for an array as
large as all data of the run.

Points that must be looked at, with an inlier ratio w and M models a sample: a model can be abandoned only after as many
outliers as the best one has, (1 - w) N. Uniform sampling needs no model in full, M (1 - w) N points an iteration. A
network needs the classification C^k, N points in the share c of iterations that have one: c N + (M - c) (1 - w) N, and
the update of c N points. The sequential test (SPRT), which may reject a good model, looks at fewer.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.evaluation.speed.timing import least_seconds
from bansac.evaluation.task import Kind
from bansac.numeric.arrays import Reals
from bansac.numeric.jit import fast_kernel

__all__ = ["EVALUATION", "UPDATE", "PointWork", "iteration_limits", "measure_peaks", "point_limit"]


@dataclass(frozen=True)
class PointWork:
    """What is done for one point.

    Parameters
    ----------
    operations : int
        Multiplications, additions and fused pairs of them.
    divisions : int
        Divisions.
    bytes : int
        Bytes that are read and written.
    precision : {"float32", "float64"}
        Number type.
    """

    operations: int
    divisions: int
    bytes: int
    precision: str


# Counted in the residuals of bansac.problems, H: three linear forms (6), two differences from x2 (2), the sum of their
# squares (2). Sampson: five linear forms (10), x2^T F x1 (2) and its square (1), the denominator (4). Symmetric: the
# same forms (12), two norms (4), square, sum and two products (4). Four coordinates are read, a mask is written.
EVALUATION: dict[Kind, PointWork] = {
    "H": PointWork(10, 1, 17, "float32"),
    "F": PointWork(17, 1, 17, "float32"),
    "E": PointWork(20, 1, 17, "float32"),
}
"""Of the squared residual of a point and its classification, with the errors of ``preset="paper"``."""

# The odds are read and written, the mask is read; the map (a r + b) / (c r + d) has two fused pairs.
UPDATE = PointWork(2, 1, 17, "float64")
"""Of the update of the network of first order."""

_SIZE = 1024  # numbers of the arrays that stay in the first cache
_CHAIN = 32
_DIVISIONS = 4
_REPEATS = 100


def measure_peaks(seconds: float, points: int) -> dict[str, Any]:
    """Return what one core does in a nanosecond.

    ``operations`` and ``divisions`` by number type, and ``bytes`` read by the number of points of a run whose data are
    read: ``points`` and a million.
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
        size = count * (EVALUATION["H"].bytes + UPDATE.bytes)
        x, repeats = np.ones(size // 4, np.float32), max(1, 10_000_000 // size)
        time = least_seconds({"read": functools.partial(_read, x, repeats)}, seconds)["read"]
        rates["bytes"][str(count)] = 1e-9 * repeats * size / time
    return rates


def point_limit(work: PointWork, peaks: Mapping[str, Any], points: int) -> dict[str, float]:
    """Return the least times of one point in ns, ``operations``, ``divisions`` and ``bytes``; the longest counts."""
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
    """Return the least cost of an iteration in ns, ``uniform`` and ``bansac``.

    ``solver`` is the cost of a sample, ``models`` are those of a sample, ``classified`` is the share of iterations with
    a classification.
    """
    evaluation = max(point_limit(EVALUATION[kind], peaks, points).values())
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
