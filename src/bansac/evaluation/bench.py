"""The protocol: the same pairs, matches, settings and seeds for every method, the calls alone timed.

The methods take turns pair by pair, so that a machine that slows down slows all of them, and ratios of times within
one run hold. A journal keeps every finished turn: an interrupted run goes on where it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bansac.datasets import Matches, PairSet
from bansac.datasets.labelled import LabelledSet
from bansac.evaluation.methods import Kind, Method, Task
from bansac.geometry import normalize_points, recover_pose
from bansac.metrics import corner_error, rotation_error, translation_error
from bansac.numeric.cache import PACKAGE

__all__ = [
    "DEFAULTS",
    "Journal",
    "Protocol",
    "Record",
    "check_kind",
    "choose_sets",
    "count_turns",
    "fingerprint",
    "judge",
    "make_task",
    "run",
    "source_digest",
]

Array = NDArray[np.float64]
Set = TypeVar("Set", PairSet, LabelledSet)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Settings of a comparison; the defaults of each kind, in ``DEFAULTS``, are the paper's.

    Parameters
    ----------
    kind : {"H", "F", "E"}
        The model.
    threshold : float
        Largest residual of an inlier: pixels for H and F, normalised units for E.
    max_iterations : int
        Most minimal samples.
    confidence : float
        Wished probability of having seen the best model.
    max_ratio : float
        Matches with an SNN ratio below this are used.
    min_matches : int
        Pairs with fewer matches are left out.
    pairs : int
        Most pairs of a set, evenly spaced over its sorted keys.
    repeats : int
        Runs of every pair, with the seeds 0, 1, ...
    """

    kind: Kind
    threshold: float
    max_iterations: int
    confidence: float = 0.999
    max_ratio: float
    min_matches: int = 26
    pairs: int = 43
    repeats: int

    def __post_init__(self) -> None:
        """Check what the methods themselves would each refuse in their own way."""
        for name in ("threshold", "max_ratio"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must be in (0, 1), got {self.confidence}")
        for name in ("max_iterations", "min_matches", "pairs", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


DEFAULTS: dict[Kind, Protocol] = {
    "H": Protocol(kind="H", threshold=1.0, max_iterations=1000, max_ratio=0.6, repeats=5),
    "F": Protocol(kind="F", threshold=0.5, max_iterations=10000, max_ratio=0.85, repeats=2),
    "E": Protocol(kind="E", threshold=1e-3, max_iterations=1000, max_ratio=0.85, repeats=2),
}


@dataclass(frozen=True)
class Record:
    """One call of one method.

    Parameters
    ----------
    set, pair, method : str
        What was called on what.
    repeat : int
        Number of the repetition, which is the seed.
    seconds : float
        Duration of the call.
    errors : tuple of float
        Rotation and translation error in degrees (180 for a failure), or corner error in pixels (inf for a failure).
    """

    set: str
    pair: str
    method: str
    repeat: int
    seconds: float
    errors: tuple[float, ...]


class Journal:
    """Finished turns on disk, one JSON line each, behind a line with the fingerprint of the run.

    Parameters
    ----------
    path : Path
        The file. Turns are taken over from one that an interrupted run with the same fingerprint has left; any other
        is started anew.
    fingerprint : str
        What the turns depend on.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path = path
        self._done: dict[tuple[str, str, int], list[Record]] = {}
        kept = _read_journal(path, fingerprint)
        lines = [{"fingerprint": fingerprint}, *kept]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for turn in kept:
            records = [Record(**{**fields, "errors": tuple(fields["errors"])}) for fields in turn["records"]]
            self._done[turn["set"], turn["pair"], turn["repeat"]] = records

    def __len__(self) -> int:
        """Return the number of turns taken over."""
        return len(self._done)

    def find(self, set_name: str, pair: str, repeat: int) -> list[Record] | None:
        """Return the records of a finished turn."""
        return self._done.get((set_name, pair, repeat))

    def add(self, set_name: str, pair: str, repeat: int, records: list[Record]) -> None:
        """Write down a finished turn."""
        turn = {"set": set_name, "pair": pair, "repeat": repeat, "records": [dataclasses.asdict(r) for r in records]}
        self._append(turn)

    def close(self) -> None:
        """Mark the run as complete: the next one starts anew."""
        self._append({"complete": True})

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _read_journal(path: Path, fingerprint: str) -> list[dict[str, Any]]:
    """Return the turns of an interrupted run with this fingerprint; a line cut off while it was written is dropped."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    if not lines or lines[0] != {"fingerprint": fingerprint} or lines[-1] == {"complete": True}:
        return []
    return lines[1:]


def fingerprint(
    protocol: Protocol, methods: Sequence[Method], sets: Sequence[PairSet], versions: dict[str, str]
) -> str:
    """Return a digest of all that the turns of a run depend on, the source of this package among it.

    Parameters
    ----------
    protocol, methods, sets
        What is run.
    versions : dict
        Versions of the packages involved.

    Returns
    -------
    str
        Hexadecimal digest.
    """
    digest = hashlib.sha256()
    names = [method.name for method in methods]
    folders = [str(pair_set.folder.resolve()) for pair_set in sets]
    digest.update(json.dumps([dataclasses.asdict(protocol), names, folders, versions, source_digest()]).encode())
    return digest.hexdigest()


def source_digest() -> str:
    """Return a digest of the source of this package.

    Returns
    -------
    str
        Hexadecimal digest.
    """
    digest = hashlib.sha256()
    for module in sorted(PACKAGE.rglob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets that ``--sets`` and ``--exclude`` leave.

    Parameters
    ----------
    found : sequence of PairSet or of LabelledSet
        All sets.
    wanted : sequence of str
        Names of the sets to be taken; empty for all.
    unwanted : sequence of str
        Names of the sets to be left out.

    Returns
    -------
    list
        The sets, in the order of ``found``.

    Raises
    ------
    ValueError
        If a name is unknown, no set is left, or two that are left have the same name.
    """
    names = [pair_set.name for pair_set in found]
    for option, listed in (("--sets", wanted), ("--exclude", unwanted)):
        for name in listed:
            if name not in names:
                raise ValueError(f"{option}: there is no set {name!r}; there are {', '.join(names)}")
    chosen = [s for s in found if (not wanted or s.name in wanted) and s.name not in unwanted]
    if not chosen:
        raise ValueError(f"--exclude leaves none of the sets {', '.join(names)}")
    repeated = {pair_set.name for pair_set in chosen if [s.name for s in chosen].count(pair_set.name) > 1}
    if repeated:
        raise ValueError(f"several sets below the folder are called {', '.join(sorted(repeated))}")
    return chosen


def count_turns(sets: Sequence[PairSet], protocol: Protocol) -> int:
    """Return how many turns a run has at most.

    Parameters
    ----------
    sets : sequence of PairSet
        The sets.
    protocol : Protocol
        The settings.

    Returns
    -------
    int
        Pairs times repetitions; pairs with too few matches take no turn but are counted.
    """
    return sum(min(len(pair_set), protocol.pairs) for pair_set in sets) * protocol.repeats


def run(
    sets: Sequence[PairSet],
    methods: Sequence[Method],
    protocol: Protocol,
    *,
    journal: Journal | None = None,
    on_turn: Callable[[], None] = lambda: None,
) -> list[Record]:
    """Run all methods over all sets.

    Parameters
    ----------
    sets : sequence of PairSet
        The sets; their truth has to fit the kind of model.
    methods : sequence of Method
        They take turns in this order.
    protocol : Protocol
        The settings.
    journal : Journal, optional
        Holds the turns that are done already and takes the new ones.
    on_turn : callable, optional
        Called after each turn.

    Returns
    -------
    list of Record
        One record a set, pair, repetition and method.

    Raises
    ------
    ValueError
        If a set has no truth for the kind of model, or none of its pairs has enough matches.
    """
    limit_threads(methods)
    records: list[Record] = []
    for pair_set in sets:
        check_kind(pair_set, protocol.kind)
        found = list(_run_set(pair_set, methods, protocol, journal, on_turn))
        if not found:
            raise ValueError(
                f"the set {pair_set.name} has no pair with {protocol.min_matches} matches of a ratio "
                f"below {protocol.max_ratio:g}"
            )
        records += found
    return records


def check_kind(pair_set: PairSet, kind: Kind) -> None:
    """Raise a ValueError where a set has no truth for a kind of model."""
    if (pair_set.kind == "H") != (kind == "H"):
        truth = "homographies" if pair_set.kind == "H" else "poses"
        raise ValueError(f"the set {pair_set.name} has {truth} as truth and cannot judge --model {kind}")


def limit_threads(methods: Sequence[Method]) -> None:
    """Let every method use one thread; OpenCV alone would use more."""
    if any(method.package == "cv2" for method in methods):
        import cv2

        cv2.setNumThreads(1)


def _run_set(
    pair_set: PairSet,
    methods: Sequence[Method],
    protocol: Protocol,
    journal: Journal | None,
    on_turn: Callable[[], None],
) -> Iterator[Record]:
    warm = False
    for index, whole_pair in enumerate(pair_set.pairs(protocol.pairs)):
        pair = whole_pair.filtered(protocol.max_ratio)
        if len(pair.x1) < protocol.min_matches:
            continue
        for repeat in range(protocol.repeats):
            records = journal.find(pair_set.name, pair.key, repeat) if journal is not None else None
            if records is None:
                task = make_task(pair, protocol, seed=repeat)
                if not warm:  # loading and compiling code is not what is measured
                    for method in methods:
                        method.call(_order(task) if method.sort else task)
                    warm = True
                # Who comes after a method that moves much memory finds the caches cold: each turn has another order.
                turn = random.Random(index * protocol.repeats + repeat).sample(list(methods), len(methods))
                records = [_call(method, task, pair, pair_set.name, repeat) for method in turn]
                if journal is not None:
                    journal.add(pair_set.name, pair.key, repeat, records)
            yield from records
            on_turn()


def _call(method: Method, task: Task, pair: Matches, set_name: str, repeat: int) -> Record:
    arranged = _order(task) if method.sort else task
    started = time.perf_counter()
    answer = method.call(arranged)
    seconds = time.perf_counter() - started
    return Record(set_name, pair.key, method.name, repeat, seconds, judge(method.matrix(answer), task, pair))


def make_task(pair: Matches, protocol: Protocol, seed: int) -> Task:
    """Return the task of a pair: float64 points, for E on the normalised image planes.

    Parameters
    ----------
    pair : Matches
        Matches that have passed the ratio test, and truth.
    protocol : Protocol
        The settings.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Task
        What the methods get.
    """
    if pair.scores is None:
        raise ValueError(f"the pair {pair.key} has no scores")
    x1, x2 = _normalised_points(pair) if protocol.kind == "E" else (pair.x1, pair.x2)
    return Task(
        kind=protocol.kind,
        x1=np.ascontiguousarray(x1, np.float64),
        x2=np.ascontiguousarray(x2, np.float64),
        scores=np.clip(pair.scores, 0.0, 1.0),
        threshold=protocol.threshold,
        confidence=protocol.confidence,
        max_iterations=protocol.max_iterations,
        seed=seed,
    )


def judge(model: Array | None, task: Task, pair: Matches) -> tuple[float, ...]:
    """Return the errors of a model against the truth.

    Parameters
    ----------
    model : (3, 3) ndarray or None
        H, F or E, in the coordinates of the task.
    task : Task
        What the method got.
    pair : Matches
        Matches and truth.

    Returns
    -------
    tuple of float
        Rotation and translation error in degrees for F and E, corner error in pixels for H.
    """
    usable = model if model is not None and model.shape == (3, 3) and np.all(np.isfinite(model)) else None
    if task.kind == "H":
        if pair.H is None or pair.size1 is None:
            raise ValueError(f"the pair {pair.key} has no homography or no size of image 1 to be judged by")
        return (corner_error(usable, pair.H, pair.size1),)
    if pair.R is None or pair.t is None or pair.K1 is None or pair.K2 is None:
        raise ValueError(f"the pair {pair.key} has no pose to be judged by")
    if usable is None:
        return rotation_error(None, pair.R), translation_error(None, pair.t)
    E = usable if task.kind == "E" else pair.K2.T @ usable @ pair.K1
    R, t, _ = recover_pose(E, *_normalised_points(pair))
    return rotation_error(R, pair.R), translation_error(t, pair.t)


def _normalised_points(pair: Matches) -> tuple[Array, Array]:
    """Return the points with K^-1 applied."""
    if pair.K1 is None or pair.K2 is None:
        raise ValueError(f"the pair {pair.key} has no camera matrices")
    return normalize_points(pair.K1, pair.x1), normalize_points(pair.K2, pair.x2)


def _order(task: Task) -> Task:
    """Return the task with the best matches first."""
    best_first = np.argsort(-task.scores, kind="stable")
    return dataclasses.replace(task, x1=task.x1[best_first], x2=task.x2[best_first], scores=task.scores[best_first])
