"""Unit of work over image pairs: several configurations of methods on one pair, in shuffled order.

A method that uses much memory evicts the caches for its successor. A temporary slowdown of the machine should affect
all methods equally. Therefore each unit has its own random order. The seed is the unit's key, so that the order is the
same in every run.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.lab.peers.library import Estimate, Library, Task
from bansac.lab.peers.method import Method
from bansac.lab.sets import PairSet
from bansac.lab.task import Protocol, judge, make_task
from bansac.matches import Matches
from bansac.matches.hdf5 import Reader


@dataclass(frozen=True)
class Configuration:
    """Method with settings: one column of a table, or one point of a curve."""

    name: str  # name in the rows, unique within a list of configurations
    method: Method
    settings: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments that override the method's
    columns: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # added to every row
    prior: float | None = None  # P^0 of every match, even if the method has scores
    max_ratio: float | None = None  # matches with a lower SNN ratio are used; None for the protocol's ratio

    def estimate(self, task: Task, **settings: Any) -> Estimate:
        """Estimate the model of a task; ``settings`` override the configuration's."""
        priors = {} if self.prior is None else {"priors": np.full(len(task.x1), self.prior)}
        return self.method.estimate(task, **{**self.settings, **priors, **settings})


def pair_unit(group: str, pair_set: PairSet, key: str, repeat: int) -> Unit:
    """Return the unit for one repeat of one pair; the group is a model, or a name that stands for its settings."""
    payload = (group, str(pair_set.folder), key, repeat)
    return Unit(f"{group}/{pair_set.name}/{key}/{repeat}", payload, timed=repeat == 0)


def run_pair(configurations: Sequence[Configuration], protocol: Protocol, unit: Unit, *, seed: int = 0) -> list[Row]:
    """Run all configurations on a pair of :func:`pair_unit`; only the estimation is timed.

    Repeat r has the seed ``seed + r``. There is one row for each configuration, in the given order. If the pair has too
    few matches for one of them, the list is empty, so that all configurations see the same pairs. An OSError is raised
    if the pair cannot be read, or an image size for the error of a homography is unknown.
    """
    _, folder, key, repeat = unit.payload
    tasks = _tasks(configurations, protocol, unit, seed)
    if not _enough(tasks, protocol):
        return []
    pair_set = open_set(folder)
    check_size(pair_set, key)
    estimates = {}
    for which in random.Random(unit.key).sample(range(len(tasks)), len(tasks)):
        estimates[which] = configurations[which].estimate(tasks[which][1])
    rows: list[Row] = []  # compute the errors after all calls are timed, because they use much memory
    for which, (configuration, (pair, task)) in enumerate(zip(configurations, tasks, strict=True)):
        row: Row = {
            "model": protocol.kind,
            "set": pair_set.name,
            "pair": key,
            "repeat": repeat,
            "seed": task.seed,
            "configuration": configuration.name,
            "method": configuration.method.label,
            **configuration.columns,
            "matches": len(task.x1),
            **judge(estimates[which].model, task, pair),
            **_counts(estimates[which].result),
            "seconds": estimates[which].seconds,
        }
        rows.append(row)
    return rows


def _counts(result: Any) -> Row:
    """Return the counts of this package's result; an empty row for another library."""
    if result is None:
        return {}
    return {
        "iterations": int(result.iterations),
        "models_tested": int(result.models_tested),
        "stop_reason": result.stop_reason,
        "inliers": int(result.num_inliers),
        "success": bool(result.success),
        "threshold": float(result.threshold),
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
    """Load or compile the kernels of every configuration by calls with ``settings`` on the first readable pair."""
    for unit in units:
        try:
            tasks = _tasks(configurations, protocol, unit, seed)
        except (OSError, ValueError):  # the unit itself will report the error
            continue
        if _enough(tasks, protocol):
            for configuration, (_, task) in zip(configurations, tasks, strict=True):
                for either in (task, task.mismatched()):
                    configuration.estimate(either, **settings)
            return


UNIT_CODE = (run_pair, judge, Method.estimate, Library.estimate)
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


def mutual_matches(pair_set: PairSet, key: str, max_ratio: float) -> Matches:
    """Read a pair, only its mutual nearest neighbours below an SNN ratio; the set needs the file ``mutual.h5``."""
    with Reader(pair_set.folder / "mutual.h5") as file:
        mutual = file.array(key, (-1,)) == 1
    return pair_set.pair(key).select(mutual).filtered(max_ratio)
