"""Pairs a second with several workers, and peak memory of many pairs, compared with OpenCV and PoseLib in thread pools.

Every pair with enough matches is estimated ``--times`` times with each number of ``--workers``. The methods and the
numbers of workers alternate, and the fastest round of each counts. Matches have an SNN ratio below 0.85. All methods
have the paper's threshold, confidence and number of iterations. This package has otherwise its default options, and
gets the scores. "bansac, processes" has worker processes, whose start is included, and estimates every pair four times
as often; one worker is the caller's thread. "speedup" is the rate with the most workers over the rate with the fewest.
"compiled loop" is a loop of some ms in a thread pool, without Python code and memory access. It shows the speedup of
the machine itself.

Peak memory (resident set) is measured in a separate process. It estimates each number of ``--memory`` pairs with two
workers and at most 100 iterations, and reads the pairs one by one.
"""

import dataclasses
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from numba import njit

import bansac
from bansac.problems.estimators import Kind
from bansac_lab.measurement import NEEDED_DATA, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Task
from bansac_lab.peers.methods import select_methods
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import DEFAULTS, make_task, usable_pairs
from bansac_lab.timing import peak_in_process, status_bytes

EXCLUDED = ("middlebury_dino",)
PROBLEMS: dict[Kind, str] = {"F": "fundamental", "E": "essential"}
PEERS = ("opencv", "opencv-magsac", "poselib-prosac")
LOOP = "compiled loop"
_LOOP_STEPS = 2_000_000
_MORE = 4  # times as many pairs for processes, whose start takes as long as some hundred pairs

# Memory does not depend on the number of iterations, time does.
_PEAK_ITERATIONS = 100


def scenes(folder: Path) -> list[PairSet]:
    """Return the sets in ``EF`` below a folder."""
    return [pair_set for pair_set in find_sets(folder / "EF") if pair_set.name not in EXCLUDED]


def load_tasks(folder: Path, kind: Kind) -> list[Task]:
    """Read all pairs of the sets that have enough matches."""
    protocol = dataclasses.replace(DEFAULTS[kind], pairs=sys.maxsize)
    pairs = itertools.chain.from_iterable(usable_pairs(pair_set, protocol) for pair_set in scenes(folder))
    return [make_task(pair, protocol, seed) for seed, pair in enumerate(pairs)]


def ours(kind: Kind, tasks: Iterable[Task], workers: int, **settings: Any) -> int:
    """Estimate with ``iter_estimates``; return the number of pairs with a model."""
    pairs = ({"x1": task.x1, "x2": task.x2, "scores": task.scores} for task in tasks)
    options = {name: getattr(DEFAULTS[kind], name) for name in ("threshold", "confidence", "max_iterations")}
    results = bansac.iter_estimates(PROBLEMS[kind], pairs, workers=workers, on_error="raise", **options | settings)
    return sum(result.success for result in results)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def spin(steps: int) -> float:
    """Add up numbers."""
    total = 0.0
    for k in range(steps):
        total += 1.0 / (k + 1.0)
    return total


def in_pool(calls: Sequence[Callable[[], Any]], workers: int) -> int:
    """Call another library in a pool of threads; return the number of pairs with a result."""
    with ThreadPoolExecutor(workers) as pool:
        return sum(answer is not None for answer in pool.map(lambda call: call(), calls))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Measure the speed of all methods, or the memory of this package."""
    part, kind = unit.payload
    if part == "memory":
        found = peak_in_process(peak, setup.data, kind)
        return [] if found is None else [{"memory": str(kind), "peak": found / 1e6}]
    tasks = load_tasks(setup.data, kind)[: setup.pairs]
    return [{"model": kind, "pairs": len(tasks), "methods": pairs_per_second(kind, tasks, setup)}]


def pairs_per_second(kind: Kind, tasks: list[Task], setup: Setup) -> dict[str, Any]:
    """Return the pairs a second by method and number of workers."""
    in_processes = functools.partial(ours, kind, executor="processes")
    runs: dict[str, tuple[Callable[[Any, int], int], list[Any]]] = {
        "bansac": (functools.partial(ours, kind), tasks),
        "bansac, processes": (in_processes, tasks * _MORE),
    }
    for peer in select_methods(setup.peers, kind) if setup.peers else ():
        runs[peer.name] = in_pool, [peer.call(task) for task in tasks]
    runs[LOOP] = in_pool, [functools.partial(spin, _LOOP_STEPS)] * len(tasks)
    fewest, most = min(setup.threads), max(setup.threads)
    for run, given in runs.values():
        run(given[:20], most)
    rates = dict.fromkeys(itertools.product(runs, setup.threads), 0.0)
    for turn in range(setup.rounds):
        for name, count in list(rates)[:: 1 if turn % 2 == 0 else -1]:
            run, given = runs[name]
            started = time.perf_counter()
            run(given * setup.times, count)
            rate = setup.times * len(given) / (time.perf_counter() - started)
            rates[name, count] = max(rates[name, count], rate)
    found = {}
    for name in runs:
        of_counts = {str(count): rates[name, count] for count in setup.threads}
        found[name] = {"pairs_per_second": of_counts, "speedup": rates[name, most] / rates[name, fewest]}
    return found


def peak(folder: Path, count: int) -> int | None:
    """Estimate ``count`` pairs, each with its own arrays; return the peak memory of this process in bytes, on Linux."""
    tasks = load_tasks(folder, "F")

    def copies() -> Iterator[Task]:
        for task in itertools.islice(itertools.cycle(tasks), count):
            assert task.scores is not None
            yield dataclasses.replace(task, points=(task.x1.copy(), task.x2.copy()), scores=task.scores.copy())

    ours("F", copies(), workers=2, max_iterations=_PEAK_ITERATIONS)
    try:
        return status_bytes("VmHWM")
    except OSError:  # not on Linux
        return None


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the pairs a second of all models, and the peak memory by the number of pairs."""
    found = list(rows)
    pairs = max((row["pairs"] for row in found if "model" in row), default=0)
    models = {row["model"]: row["methods"] for row in found if "model" in row}
    peaks = {row["memory"]: row["peak"] for row in found if "memory" in row}
    counts = {"pairs": pairs, "times": setup.times, "rounds": setup.rounds}
    return Report(records={**counts, "models": models, "peak_memory_mb": peaks})


def table(document: Document) -> Table:
    """Return the pairs a second with one and several workers, and the peak memory."""
    rows = []
    for kind, methods in document["models"].items():
        workers = methods["bansac"]["pairs_per_second"]
        most = max(workers, key=int)
        for name, figures in methods.items():
            rates, speedup = figures["pairs_per_second"], f"{figures['speedup']:.2f}"
            ratio = "-" if name == LOOP else f"{workers[most] / rates[most]:.2f}"
            rows.append([f"{kind}, {name}", *(f"{rate:.0f}" for rate in rates.values()), speedup, ratio])
    head = ["pairs a second", *(f"{n} workers" if n != "1" else "1 worker" for n in workers), "speedup", "ours over it"]
    peaks = ", ".join(f"{int(n):,} pairs {peak:.0f} MB" for n, peak in document["peak_memory_mb"].items())
    settings = f"{document['machine']['processor']}, {document['pairs']} pairs, {document['times']} times."
    return plain_table(head, rows, f"{settings} Peak memory of a process: {peaks}.")


MEASUREMENT = of_module(
    __name__,
    title="Pairs a second and memory of many pairs on several cores",
    units=lambda setup: [*each(["speed"], setup.models), *each(["memory"], setup.memory)],
    options=(
        dataclasses.replace(NEEDED_DATA, help="A folder with the tutorial's sets in EF."),
        Option("models", tuple[str, ...], tuple(PROBLEMS), "Joined by commas.", choices=tuple(PROBLEMS)),
        Option("peers", tuple[str, ...], PEERS, "Methods of other libraries, joined by commas."),
        Option("threads", tuple[int, ...], (1, 2), "Numbers of workers, joined by commas.", flag="--workers"),
        Option("times", int, 10, "How often every pair is estimated.", least=1),
        Option("pairs", int, None, "Largest number of pairs; the first ones are taken."),
        Option("rounds", int, 2, "Rounds, of which the fastest counts.", least=1),
        Option("memory", tuple[int, ...], (1000, 50000), "Numbers of pairs whose memory is measured."),
    ),
    tables={"many-pairs": table},
    packages=("cv2", "poselib"),
    complete=True,
    sets=lambda setup: scenes(setup.data),
)
