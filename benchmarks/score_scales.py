"""Measure the effect of the scale of the scores, and of a minimum number of updates, on P-BANSAC (preset "paper").

    python benchmarks/score_scales.py --data DIR [--pairs 43] [--json FILE]

DIR contains sets of pairs with poses. The variants are scores times .1 and .01, ranks of the scores, and five other
seeds. For every pair, the median number of inliers over five seeds is compared with that of the original scores. The
report gives the share of pairs within 3 %, and AUC@10 of the first two seeds as it is and with a minimum of 20 updates
of the network.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from bansac.cli.console import show_progress
from bansac.lab.measurement import Setup
from bansac.lab.measurements.folders import bench_rows
from bansac.lab.peers.library import Task
from bansac.lab.peers.method import Method
from bansac.lab.peers.methods import P_BANSAC
from bansac.lab.provenance import circumstances
from bansac.lab.summary import AUC_10, Summary
from bansac.lab.task import DEFAULTS, Kind

SEEDS = 5
WITHIN = 0.03
FLOOR = "at least 20 updates"

CHANGES: dict[str, Callable[[Task], Task]] = {
    "times 1": lambda task: task,
    "times 0.1": lambda task: dataclasses.replace(task, scores=0.1 * task.scores),
    "times 0.01": lambda task: dataclasses.replace(task, scores=0.01 * task.scores),
    "ranks": lambda task: dataclasses.replace(task, scores=ranks(task.scores)),
    "other seeds": lambda task: dataclasses.replace(task, seed=task.seed + SEEDS),
}


def ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks of scores, in (0, 1)."""
    return (np.argsort(np.argsort(scores)) + 0.5) / scores.size


@dataclass(frozen=True)
class Changed(Method):
    """A method that gets a changed task."""

    change: Callable[[Task], Task] = CHANGES["times 1"]

    def arrange(self, task: Task) -> Task:
        """Return the changed task."""
        return self.change(task)


def measure(data: Path, kind: Kind, pairs: int) -> dict[str, Any]:
    """Return the figures of a model."""
    methods = [Changed(name, P_BANSAC.settings, scored=True, change=change) for name, change in CHANGES.items()]
    protocol = dataclasses.replace(DEFAULTS[kind], pairs=pairs, repeats=SEEDS)
    setup = Setup(data=data, exclude=("middlebury_dino",))
    rows = bench_rows([*methods, P_BANSAC.changed(FLOOR, min_updates=20)], protocol, setup, progress=show_progress)
    frame = pandas.DataFrame(rows)
    success = frame.groupby("configuration")["success"].mean()
    medians = frame.groupby(["set", "pair", "configuration"])["inliers"].median().unstack()
    base = medians["times 1"]
    accuracy = Summary(row for row in rows if row["repeat"] < 2)
    return {
        "pairs": len(medians),
        "scales": {
            name: {
                "within 3 %": float(((medians[name] - base).abs() <= WITHIN * base).mean()),
                "success": float(success[name]),
            }
            for name in CHANGES
        },
        "AUC@10": {
            "as it is": accuracy.mean(AUC_10, kind, "times 1"),
            FLOOR: accuracy.mean(AUC_10, kind, FLOOR),
        },
    }


def main() -> None:
    """Measure both models and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=43, help="pairs of a set, at most")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    models = {kind: measure(arguments.data, kind, arguments.pairs) for kind in ("E", "F")}
    text = json.dumps({**circumstances(), "models": models}, indent=1)
    print(text)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
