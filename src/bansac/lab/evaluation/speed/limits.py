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
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.lab.evaluation.speed.scenes import PROBLEMS
from bansac.lab.evaluation.speed.timing import least_seconds
from bansac.numeric.arrays import Reals
from bansac.numeric.jit import fast_kernel
from bansac.problems.problem import Problem
from bansac.problems.table import Kind

__all__ = ["UPDATE", "PointWork", "count_evaluation", "iteration_limits", "measure_peaks", "point_limit"]


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


# The odds are read and written, the mask is read; the map a r + b is a fused pair.
UPDATE = PointWork(1, 0, 9, "float32")
"""Of the update of the network of first order, with the paper's table."""


class _Counted:
    """A number that counts what is done with it."""

    def __init__(self, additions: list[Any], products: list[Any], denominators: list[Any]) -> None:
        self._tally = additions, products, denominators

    def _next(self, kind: int, operand: Any) -> _Counted:
        self._tally[kind].append(operand)
        return _Counted(*self._tally)

    def __add__(self, other: Any) -> _Counted:
        return self._next(0, other)

    def __sub__(self, other: Any) -> _Counted:
        return self._next(0, other)

    def __mul__(self, other: Any) -> _Counted:
        return self._next(1, other)

    def __truediv__(self, other: Any) -> _Counted:
        return self._next(2, other)


def count_evaluation(problem: Problem) -> PointWork:
    """Return the work of the squared residual of a point and of its classification.

    The residual is computed once on numbers that count. Every addition may be fused with a multiplication; quotients of
    one denominator are one division and a multiplication each. The channels are read, a truth value is written.
    """
    additions, products, denominators = list[Any](), list[Any](), list[Any]()

    def numbers(*shape: int) -> NDArray[Any]:
        count = math.prod(shape)
        return np.array([_Counted(additions, products, denominators) for _ in range(count)], object).reshape(shape)

    problem.residuals(numbers(problem.channels, 1), numbers(problem.model_size), 0, 1, numbers(1))
    divisions = len({id(denominator) for denominator in denominators})
    shared = len(denominators) if len(denominators) > divisions else 0
    return PointWork(
        operations=max(len(additions), len(products) + shared),
        divisions=divisions,
        bytes=problem.channels * np.dtype(problem.precision).itemsize + 1,
        precision=problem.precision,
    )


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
        size = count * (count_evaluation(PROBLEMS["H"]).bytes + UPDATE.bytes)
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
    evaluation = max(point_limit(count_evaluation(PROBLEMS[kind]), peaks, points).values())
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
