"""Measure the effect of the scale of the scores, and of a minimum number of iterations, on P-BANSAC (preset "paper").

    python benchmarks/score_scales.py --data DIR [--json FILE]

DIR contains sets of pairs with poses. The variants are scores times .1 and .01, ranks of the scores, and five other
seeds. For every pair, the median number of inliers over five seeds is compared with that of the original scores. The
report gives the share of pairs within 3 %, and AUC@10 with and without a minimum of 100 iterations.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.lab.evaluation.task import DEFAULTS, Kind, Task, judge, make_task, usable_pairs
from bansac.lab.metrics import auc
from bansac.lab.sets import find_sets
from bansac.matches import Matches

SEEDS = 5
WITHIN = 0.03
Array = NDArray[np.float64]

CHANGES: dict[str, tuple[Callable[[Array], Array], int]] = {  # the scores, the first seed
    "times 1": (lambda scores: scores, 0),
    "times 0.1": (lambda scores: 0.1 * scores, 0),
    "times 0.01": (lambda scores: 0.01 * scores, 0),
    "ranks": (lambda scores: (np.argsort(np.argsort(scores)) + 0.5) / scores.size, 0),
    "other seeds": (lambda scores: scores, SEEDS),
}


def load(folder: Path, kind: Kind) -> list[tuple[str, Matches, Task]]:
    """Return the pairs of the protocol: their set, the pair and the task."""
    protocol, found = DEFAULTS[kind], []
    for pair_set in find_sets(folder):
        if pair_set.kind == "H" or pair_set.name == "middlebury_dino":
            continue
        for pair in usable_pairs(pair_set, protocol):
            found.append((pair_set.name, pair, make_task(pair, protocol, 0)))
    return found


def estimate(task: Task, scores: Array, seed: int, **settings: Any) -> Any:
    """Run P-BANSAC of the paper."""
    function = bansac.estimate_essential if task.kind == "E" else bansac.estimate_fundamental
    return function(task.x1, task.x2, scores=scores, seed=seed, preset="paper", **settings)


def compare_scales(pairs: list[tuple[str, Matches, Task]]) -> dict[str, dict[str, float]]:
    """Return for every change the share of pairs whose median inliers stay, and that of successes."""
    medians, successes = {}, {}
    for name, (change, first) in CHANGES.items():
        runs = [
            [estimate(task, change(task.scores), seed) for seed in range(first, first + SEEDS)] for _, _, task in pairs
        ]
        medians[name] = np.array([np.median([run.num_inliers for run in of_pair]) for of_pair in runs])
        successes[name] = np.mean([[run.success for run in of_pair] for of_pair in runs])
    base = medians["times 1"]
    return {
        name: {
            "within 3 %": float(np.mean(np.abs(medians[name] - base) <= WITHIN * base)),
            "success": float(successes[name]),
        }
        for name in CHANGES
    }


def accuracy(pairs: list[tuple[str, Matches, Task]], **settings: Any) -> float:
    """Return AUC@10, the mean over the sets, of two seeds."""
    errors: dict[str, list[float]] = {}
    for name, pair, task in pairs:
        for seed in range(2):
            found = judge(estimate(task, task.scores, seed, **settings).model, task, pair)
            errors.setdefault(name, []).append(max(found["rotation_error"], found["translation_error"]))
    return float(np.mean([auc(np.array(of_set), 10) for of_set in errors.values()]))


def main() -> None:
    """Measure both models and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in ("bansac", "numpy", "numba")}
        | {"python": platform.python_version()},
        "models": {},
    }
    kinds: tuple[Kind, ...] = ("E", "F")
    for kind in kinds:
        pairs = load(arguments.data, kind)
        report["models"][kind] = {
            "pairs": len(pairs),
            "scales": compare_scales(pairs),
            "AUC@10": {"as it is": accuracy(pairs), "at least 100 iterations": accuracy(pairs, min_iterations=100)},
        }
        print(kind, json.dumps(report["models"][kind], indent=1))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
