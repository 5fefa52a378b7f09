"""Measure throughput and peak memory for many pairs on several cores, compared with OpenCV and PoseLib in thread pools.

    python benchmarks/many.py --data FOLDER [--times 10] [--rounds 2] [--json FILE]

``FOLDER/EF`` contains the sets. Every pair with enough matches is estimated ``--times`` times with each number of
``--workers``. The methods and the numbers of workers alternate, and the fastest round of each counts. Matches have an
SNN ratio below 0.85. All methods have the paper's threshold, confidence and number of iterations. This package has
otherwise its default options, and gets the scores. "speedup" is the rate with the most workers divided by the rate with
the fewest. "compiled loop" is a loop of some ms in a thread pool, without Python code and memory access. It shows the
speedup of the machine itself.

Peak memory (resident set) is measured in a separate process. It estimates each number of ``--memory`` pairs with two
workers and at most 100 iterations, and reads the pairs one by one.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from numba import njit

import bansac
from bansac.lab.measurements.speed.memory import status_bytes
from bansac.lab.peers.library import Task
from bansac.lab.peers.methods import select_methods
from bansac.lab.provenance import circumstances
from bansac.lab.sets import find_sets
from bansac.lab.task import DEFAULTS, Kind, best_first, make_task, usable_pairs

EXCLUDED = ("middlebury_dino",)
PROBLEMS = {"F": "fundamental", "E": "essential"}
OURS = "bansac"
PEERS = ("opencv", "opencv-magsac", "poselib-prosac")
LOOP = "compiled loop"
_LOOP_STEPS = 2_000_000

# Memory does not depend on the number of iterations, time does.
PEAK_ITERATIONS = 100

Run = Callable[[list[Task], int], int]
"""Estimates tasks with a number of workers; returns how many have an answer."""


def load_tasks(folder: Path, kind: Kind) -> list[Task]:
    """Read all pairs of the sets that have enough matches."""
    protocol = dataclasses.replace(DEFAULTS[kind], pairs=sys.maxsize)
    tasks = []
    for pair_set in find_sets(folder / "EF"):
        if pair_set.name in EXCLUDED:
            continue
        for pair in usable_pairs(pair_set, protocol):
            tasks.append(make_task(pair, protocol, seed=len(tasks)))
    return tasks


def ours(kind: Kind, tasks: Iterable[Task], workers: int, **settings: Any) -> int:
    """Estimate with ``iter_estimates``; return the number of pairs with a model."""
    pairs = ({"x1": task.x1, "x2": task.x2, "scores": task.scores} for task in tasks)
    protocol = DEFAULTS[kind]
    options = {
        "threshold": protocol.threshold,
        "confidence": protocol.confidence,
        "max_iterations": protocol.max_iterations,
    }
    results = bansac.iter_estimates(PROBLEMS[kind], pairs, workers=workers, on_error="raise", **options | settings)
    return sum(result.success for result in results)


@njit(nogil=True)
def spin(steps: int) -> float:
    """Add up numbers."""
    total = 0.0
    for k in range(steps):
        total += 1.0 / (k + 1.0)
    return total


def in_pool(call: Callable[[Task], Any], tasks: Sequence[Task], workers: int) -> int:
    """Estimate with another library in a pool of threads; return the number of pairs with a result."""
    with ThreadPoolExecutor(workers) as pool:
        return sum(answer is not None for answer in pool.map(call, tasks))


def measure(
    kind: Kind, tasks: list[Task], times: int, workers: Sequence[int], rounds: int, peers: Sequence[str]
) -> dict[str, Any]:
    """Return the pairs a second by method and number of workers."""
    runs: dict[str, tuple[Run, list[Task]]] = {OURS: (functools.partial(ours, kind), tasks)}
    for peer in select_methods(peers, kind) if peers else ():
        peer.prepare()
        given = [best_first(task) for task in tasks] if peer.sort else tasks
        runs[peer.name] = functools.partial(in_pool, peer.run), given
    runs[LOOP] = functools.partial(in_pool, lambda task: spin(_LOOP_STEPS)), tasks
    for run, given in runs.values():
        run(given[:20], max(workers))
    rates: dict[str, dict[int, float]] = {name: dict.fromkeys(workers, 0.0) for name in runs}
    for turn in range(rounds):
        order = list(itertools.product(runs, workers))
        for name, count in order if turn % 2 == 0 else order[::-1]:
            run, given = runs[name]
            started = time.perf_counter()
            run(given * times, count)
            rate = times * len(given) / (time.perf_counter() - started)
            rates[name][count] = max(rates[name][count], rate)
    return {
        name: {"pairs_per_second": by_count, "speedup": by_count[max(workers)] / by_count[min(workers)]}
        for name, by_count in rates.items()
    }


def peak_memory(data: Path, count: int) -> float:
    """Return the peak memory in MB of a process that estimates ``count`` pairs."""
    command = [sys.executable, __file__, "--data", str(data), "--peak", str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_peak(tasks: list[Task], count: int) -> None:
    """Estimate ``count`` pairs, each with its own arrays, and print the peak memory of this process in MB."""

    def copies() -> Iterator[Task]:
        for task in itertools.islice(itertools.cycle(tasks), count):
            yield dataclasses.replace(task, x1=task.x1.copy(), x2=task.x2.copy(), scores=task.scores.copy())

    ours("F", copies(), workers=2, max_iterations=PEAK_ITERATIONS)
    print(peak_of_process())


def peak_of_process() -> float:
    """Return the peak memory of this process in MB; on Linux from /proc, because its usage includes the parent's."""
    try:
        return status_bytes("VmHWM") / 1e6
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def show(models: dict[str, Any], workers: Sequence[int]) -> None:
    """Print a table for each model."""
    for kind, methods in models.items():
        heading = "".join(f"{count:>10} thr." for count in workers)
        print(f"{kind}, pairs a second\n{'':<16}{heading}   speedup")
        for name, figures in methods.items():
            rates = "".join(f"{figures['pairs_per_second'][count]:>15.1f}" for count in workers)
            print(f"{name:<16}{rates}   {figures['speedup']:.2f}")


def main() -> None:
    """Measure, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=["F", "E"], choices=sorted(PROBLEMS))
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--times", type=int, default=10, help="how often every pair is estimated")
    parser.add_argument("--pairs", type=int, help="take the first so many pairs only")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--memory", nargs="*", type=int, default=[1000, 50000], help="numbers of pairs")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak is not None:
        print_peak(load_tasks(arguments.data, "F"), arguments.peak)
        return
    models, pairs = {}, 0
    for kind in arguments.models:
        tasks = load_tasks(arguments.data, kind)[: arguments.pairs]
        pairs = len(tasks)
        models[kind] = measure(kind, tasks, arguments.times, arguments.workers, arguments.rounds, arguments.peers)
    show(models, arguments.workers)
    peaks = {str(count): peak_memory(arguments.data, count) for count in arguments.memory}
    for count, peak in peaks.items():
        print(f"peak memory, {count} pairs: {peak:.0f} MB")
    if arguments.json:
        report = {
            **circumstances(("cv2", "poselib")),
            "pairs": pairs,
            "times": arguments.times,
            "rounds": arguments.rounds,
            "models": models,
            "peak_memory_mb": peaks,
        }
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
