"""Check that runs fail on noise, and that they give the same bits every time.

    python benchmarks/honesty.py [--runs 1000] [--processes 20] [--json FILE]

Noise: 200 uniform data without any structure, a different seed each run; counted are the runs that come back with
``success=False``. Repetition: the same call in separate processes; counted are the different answers (model, mask and
beliefs, bit by bit).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.datasets.synthetic import epipolar_matches

N = 200


# Every sampler, and local optimisation.
METHODS: dict[str, dict[str, Any]] = {
    "bansac": {},
    "uniform": {"sampler": "uniform"},
    "prosac": {"sampler": "prosac", "scores": True},
    "napsac": {"sampler": "napsac"},
    "p-napsac": {"sampler": "p-napsac", "scores": True},
    "baysac": {"sampler": "baysac"},
    "ar": {"sampler": "ar"},
    "p-bansac": {"scores": True},
    "bansac-lo": {"local_optimization": "inner+iterative"},
    "napsac-lo": {"sampler": "napsac", "local_optimization": "inner+iterative"},
}


def noise_calls() -> dict[str, Callable[..., bansac.Result]]:
    """Return the estimators as functions of a random generator and options."""
    return {
        "homography": lambda rng, **o: bansac.estimate_homography(*rng.uniform(0, 1000, (2, N, 2)), **o),
        "fundamental": lambda rng, **o: bansac.estimate_fundamental(*rng.uniform(0, 1000, (2, N, 2)), **o),
        "essential": lambda rng, **o: bansac.estimate_essential(*rng.uniform(-0.6, 0.6, (2, N, 2)), **o),
        "line": lambda rng, **o: bansac.fit_line(rng.uniform(-1, 1, (N, 2)), threshold=0.02, **o),
        "circle": lambda rng, **o: bansac.fit_circle(rng.uniform(-1, 1, (N, 2)), threshold=0.02, **o),
        "cubic": lambda rng, **o: bansac.fit_polynomial(rng.uniform(-1, 1, (N, 2)), 3, threshold=0.02, **o),
    }


def count_failures(runs: int) -> dict[str, dict[str, float]]:
    """Return the share of runs on noise that end with success=False, by method and problem."""
    shares: dict[str, dict[str, float]] = {}
    for method, settings in METHODS.items():
        shares[method] = {}
        for name, call in noise_calls().items():
            rng = np.random.default_rng(0)
            failures = 0
            for seed in range(runs):
                chosen = settings | ({"scores": rng.uniform(0, 1, N)} if "scores" in settings else {})
                failures += not call(rng, seed=seed, **chosen).success
            shares[method][name] = failures / runs
            print(f"noise, {method}, {name}: {failures} of {runs} runs without success", flush=True)
    return shares


def fingerprint() -> str:
    """Return a hash of the answers of the three estimators of two views."""
    scene = epipolar_matches(500, inlier_ratio=0.5, noise=0.3, seed=1)
    digest = hashlib.sha256()
    for result in (
        bansac.estimate_homography(scene.x1, scene.x2),
        bansac.estimate_fundamental(scene.x1, scene.x2),
        bansac.estimate_essential(scene.x1, scene.x2, scene.K),
    ):
        digest.update(result.model.tobytes() + result.inliers.tobytes() + result.beliefs.tobytes())
    return digest.hexdigest()


def count_answers(processes: int) -> int:
    """Return how many different answers the same call gives in separate processes."""
    command = [sys.executable, __file__, "--fingerprint"]
    answers = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(processes)}
    print(f"{processes} processes: {len(answers)} different answer(s)")
    return len(answers)


def main() -> None:
    """Run both checks and print what they give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fingerprint", action="store_true", help="print one answer's hash and end")
    arguments = parser.parse_args()
    if arguments.fingerprint:
        print(fingerprint())
        return
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "numba")} | {"bansac": bansac.__version__},
        "runs": arguments.runs,
        "processes": arguments.processes,
        "different_answers": count_answers(arguments.processes),
        "failures_on_noise": count_failures(arguments.runs),
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
