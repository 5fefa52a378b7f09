"""The unit of work over image pairs: several configurations of methods on one pair, in shuffled order.

What comes after a method that moves much memory finds the caches cold, and a machine that slows down should slow all
methods: so each unit has an order of its own, drawn from its key, the same in every run.
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
from bansac.problems.table import Kind


@dataclass(frozen=True)
class Configuration:
    """A method with settings: one column of a table, or one point of a curve."""

    name: str  # its name in the rows, different for every configuration of a list
    method: Method
    settings: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments that override the method's
    columns: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # name the settings in rows
    prior: float | None = None  # P^0 of every match, also if the method has scores
    max_ratio: float | None = None  # SNN ratio below which matches are used, if it is not that of the protocol

    def estimate(self, task: Task, **settings: Any) -> Any:
        """Estimate the model of a task; ``settings`` override the configuration's."""
        priors = {} if self.prior is None else {"priors": np.full(len(task.x1), self.prior)}
        return self.method.run(task, **{**self.settings, **priors, **settings})


def pair_unit(kind: Kind, pair_set: PairSet, key: str, repeat: int) -> Unit:
    """Return the unit of one repeat of one pair."""
    payload = (kind, str(pair_set.folder), key, repeat)
    return Unit(f"{kind}/{pair_set.name}/{key}/{repeat}", payload, timed=repeat == 0)


def run_pair(configurations: Sequence[Configuration], protocol: Protocol, unit: Unit, *, seed: int = 0) -> list[Row]:
    """Run all configurations on a pair; the estimates alone are timed.

    The unit is of :func:`pair_unit`; ``seed`` is that of repeat 0, repeat r has ``seed + r``. There is a row for each
    configuration, in their order; none if the pair has too few matches for any of them, so that all see the same pairs.
    A pair that cannot be read, or whose size is needed to judge it and is not known, is an OSError.
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
    rows: list[Row] = []  # judging moves much memory: it waits until all have been timed
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
    """Return the answer, and how many seconds it took."""
    arranged = configuration.method.arrange(task)
    started = time.perf_counter()
    answer = configuration.estimate(arranged)
    return answer, time.perf_counter() - started


def _counts(method: Method, answer: Any) -> Row:
    """Return what the answer says of the run; nothing if it is another library's."""
    if method.call is not None:
        return {}
    return {
        "iterations": int(answer.iterations),
        "models_tested": int(answer.models_tested),
        "stop_reason": answer.stop_reason,
        "inliers": int(answer.num_inliers),
        "success": bool(answer.success),
    }


def check_size(pair_set: PairSet, key: str) -> None:
    """Raise an OSError that says what was looked for if the size that a homography is judged by is not known."""
    if pair_set.kind == "H":
        pair_set.image_size(key)


def warm_up(
    configurations: Sequence[Configuration],
    protocol: Protocol,
    units: Sequence[Unit],
    seed: int = 0,
    **settings: Any,
) -> None:
    """Load or compile what every configuration needs, by calls with ``settings`` on the first undamaged pair.

    A second call has its points in another order: the kernels that judge a model of chance are needed there.
    """
    for unit in units:
        try:
            tasks = _tasks(configurations, protocol, unit, seed)
        except (OSError, ValueError):  # the unit will fail and say why
            continue
        if _enough(tasks, protocol):
            for configuration, (_, task) in zip(configurations, tasks, strict=True):
                configuration.method.prepare()
                for x2 in (task.x2, np.roll(task.x2, len(task.x2) // 2, axis=0)):
                    arranged = configuration.method.arrange(dataclasses.replace(task, x2=x2))
                    configuration.estimate(arranged, **settings)
            return


UNIT_CODE = (run_pair, judge, Method.run)
"""The functions whose modules the rows depend on, for :attr:`.Experiment.values`."""


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
    """Return the set of a folder, the same one each time."""
    return PairSet(folder)


@functools.lru_cache(maxsize=2)
def _read_pair(folder: str, key: str) -> Matches:
    return open_set(folder).pair(key)
