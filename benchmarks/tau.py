"""How the threshold tau of BANSAC's stopping criterion acts on P-BANSAC, next to SPRT's criterion, for E.

    python benchmarks/tau.py DIR [--exclude middlebury_dino]

``DIR`` holds sets of pairs as for ``bansac bench``, whose protocol this follows (43 pairs a set, ratio below .85, two
seeds, the paper's settings).
"""

from __future__ import annotations

import argparse

import numpy as np

import bansac
from bansac.datasets import find_sets
from bansac.metrics import auc, pose_error
from bansac.problems.essential import recover_pose


def normalise(x: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return K^-1 (x, y, 1) without its last entry."""
    return (np.column_stack([x, np.ones(len(x))]) @ np.linalg.inv(K).T)[:, :2]


def main() -> None:
    """Print AUC@10 and the mean number of iterations, means over the sets, for tau = 0.01 and 0.1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--exclude", default="")
    arguments = parser.parse_args()
    sets = [s for s in find_sets(arguments.dir) if s.kind == "EF" and s.name not in arguments.exclude.split(",")]
    for tau in (0.01, 0.1):
        areas, iterations = [], []
        for pairs in sets:
            errors = []
            for pair in (p.filtered(0.85) for p in pairs.pairs(43)):
                if len(pair) <= 25:
                    continue
                x1, x2 = normalise(pair.x1, pair.K1), normalise(pair.x2, pair.K2)
                for seed in range(2):
                    result = bansac.estimate_essential(x1, x2, scores=pair.scores, tau=tau, seed=seed)
                    iterations.append(result.iterations)
                    R, t, _ = recover_pose(result.model, x1, x2)
                    errors.append(pose_error(R, t, pair.R, pair.t))
            areas.append(auc(errors, 10))
        print(f"tau {tau}: AUC@10 {np.mean(areas):.3f}, {np.mean(iterations):.0f} iterations")


if __name__ == "__main__":
    main()
