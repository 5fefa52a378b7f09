"""Unit of work over image pairs: several configurations of methods on one pair, in shuffled order.

A method that uses much memory evicts the caches for its successor. A temporary slowdown of the machine should affect
all methods equally. Therefore each unit has its own random order. The seed is the unit's key, so that the order is the
same in every run.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.task import Protocol, Task, judge, make_task
from bansac.lab.sets import PairSet
from bansac.matches import Matches
from bansac.problems.estimators import Kind


@dataclass(frozen=True)
class Configuration:
    """Method with settings: one column of a table, or one point of a curve."""

    name: str  # name in the rows, unique within a list of configurations
    method: Method
    settings: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments that override the method's
    columns: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # added to every row
    prior: float | None = None  # P^0 of every match, even if the method has scores
    max_ratio: float | None = None  # matches with a lower SNN ratio are used; None for the protocol's ratio

    def estimate(self, task: Task, **settings: Any) -> Any:
        """Estimate the model of a task; ``settings`` override the configuration's."""
        priors = {} if self.prior is None else {"priors": np.full(len(task.x1), self.prior)}
        return self.method.run(task, **{**self.settings, **priors, **settings})


def pair_unit(kind: Kind, pair_set: PairSet, key: str, repeat: int) -> Unit:
    """Return the unit for one repeat of one pair."""
    payload = (kind, str(pair_set.folder), key, repeat)
    return Unit(f"{kind}/{pair_set.name}/{key}/{repeat}", payload, timed=repeat == 0)


def run_pair(configurations: Sequence[Configuration], protocol: Protocol, unit: Unit, *, seed: int = 0) -> list[Row]:
    """Run all configurations on a pair; only the estimation is timed.

    Parameters
    ----------
    configurations : sequence of Configuration
        Configurations to run.
    protocol : Protocol
        Settings that they share.
    unit : Unit
        Unit from :func:`pair_unit`.
    seed : int, optional
        Seed of repeat 0; repeat r has ``seed + r``.

    Returns
    -------
    list of Row
        One row for each configuration, in the given order. If the pair has too few matches for one of them, the list is
        empty, so that all configurations see the same pairs.

    Raises
    ------
    OSError
        If the pair cannot be read, or an image size for the error of a homography is unknown.
    """
    kind, folder, key, repeat = unit.payload
    tasks = _tasks(configurations, protocol, unit, seed)
    if not _enough(tasks, protocol):
        return []
    pair_set = open_set(folder)
    check_size(pair_set, key)
    for configuration in configurations:
        configuration.method.prepare()
    answers = {}
    for which in random.Random(unit.key).sample(range(len(tasks)), len(tasks)):
        answers[which] = _run(configurations[which], tasks[which][1])
    rows: list[Row] = []  # compute the errors after all calls are timed, because they use much memory
    for which, (configuration, (pair, task)) in enumerate(zip(configurations, tasks, strict=True)):
        answer, seconds = answers[which]
        row: Row = {
            "model": kind,
            "set": pair_set.name,
            "pair": key,
            "repeat": repeat,
            "seed": task.seed,
            "configuration": configuration.name,
            "method": configuration.method.label,
            **configuration.columns,
            "matches": len(task.x1),
            **judge(configuration.method.model(answer), task, pair),
            **_counts(configuration.method, answer),
            "seconds": seconds,
        }
        rows.append(row)
    return rows


def _run(configuration: Configuration, task: Task) -> tuple[Any, float]:
    """Return the return value of the method and its time in seconds."""
    arranged = configuration.method.arrange(task)
    started = time.perf_counter()
    answer = configuration.estimate(arranged)
    return answer, time.perf_counter() - started


def _counts(method: Method, answer: Any) -> Row:
    """Return the counts of this package's result; an empty row for another library."""
    if method.call is not None:
        return {}
    return {
        "iterations": int(answer.iterations),
        "models_tested": int(answer.models_tested),
        "stop_reason": answer.stop_reason,
        "inliers": int(answer.num_inliers),
        "success": bool(answer.success),
        "threshold": float(answer.threshold),
    }


def check_size(pair_set: PairSet, key: str) -> None:
    """Raise an OSError if the set is of homographies and the size of image 1, needed for the errors, is unknown."""
    if pair_set.kind == "H":
        pair_set.image_size(key)


def warm_up(
    configurations: Sequence[Configuration],
    protocol: Protocol,
    units: Sequence[Unit],
    seed: int = 0,
    **settings: Any,
) -> None:
    """Load or compile the kernels of every configuration by calls with ``settings`` on the first readable pair.

    A second call has wrong matches, because the test of a model that fits by chance needs further kernels.
    """
    for unit in units:
        try:
            tasks = _tasks(configurations, protocol, unit, seed)
        except (OSError, ValueError):  # the unit itself will report the error
            continue
        if _enough(tasks, protocol):
            for configuration, (_, task) in zip(configurations, tasks, strict=True):
                configuration.method.prepare()
                for x2 in (task.x2, np.roll(task.x2, len(task.x2) // 2, axis=0)):
                    arranged = configuration.method.arrange(dataclasses.replace(task, x2=x2))
                    configuration.estimate(arranged, **settings)
            return


UNIT_CODE = (run_pair, judge, Method.run)
"""Functions whose modules the rows depend on, for :attr:`.Measurement.values`."""


def _tasks(
    configurations: Sequence[Configuration], protocol: Protocol, unit: Unit, seed: int
) -> list[tuple[Matches, Task]]:
    """Return the filtered pair and the task of every configuration."""
    _, folder, key, repeat = unit.payload
    by_ratio: dict[float, tuple[Matches, Task]] = {}
    tasks = []
    for configuration in configurations:
        ratio = configuration.max_ratio or protocol.max_ratio
        if ratio not in by_ratio:
            pair = _read_pair(folder, key).filtered(ratio)
            by_ratio[ratio] = pair, make_task(pair, protocol, seed=seed + repeat)
        tasks.append(by_ratio[ratio])
    return tasks


def _enough(tasks: Sequence[tuple[Matches, Task]], protocol: Protocol) -> bool:
    return min(len(task.x1) for _, task in tasks) >= protocol.min_matches


@functools.lru_cache(maxsize=64)
def open_set(folder: str) -> PairSet:
    """Open the set of a folder; the object is cached."""
    return PairSet(folder)


@functools.lru_cache(maxsize=2)
def _read_pair(folder: str, key: str) -> Matches:
    return open_set(folder).pair(key)
