"""Accuracy and speed of the minimal solvers.

    python benchmarks/solvers.py [--samples 10000] [--json FILE]

Accuracy: share of noise-free random samples for which one of the returned models is the truth to 1e-6. Speed: the
solvers in a compiled loop, the seven-point solver over 500 Sampson distances in the same loop, and the five-point
solver called from Python over PoseLib's (when it is installed) called from Python, with the same rays, in turn: PoseLib
as its users call it, with a list of vectors, and with an array.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from bansac.engine.kernels import select_kernels
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring import SCORES
from bansac.problems.essential import ESSENTIAL
from bansac.problems.fundamental import FUNDAMENTAL
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.problem import Problem
from bansac.solvers.essential_5pt import essential_5pt

TOLERANCE = 1e-6


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Return a rotation by up to .8 rad about a random axis."""
    axis = rng.normal(size=3)
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = rng.uniform(0, 0.8)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def two_views(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n exact matches of points in front of both cameras (4 x n), and E."""
    R, t = random_rotation(rng), rng.normal(size=3)
    t /= np.linalg.norm(t)
    X = np.empty((3, 0))
    while X.shape[1] < n:
        points = np.vstack([rng.uniform(-2, 2, (2, 4 * n)), rng.uniform(3, 8, (1, 4 * n))])
        X = np.hstack([X, points[:, (R @ points + t[:, None])[2] > 0.5]])
    X = X[:, :n]
    Y = R @ X + t[:, None]
    E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ R
    return np.ascontiguousarray(np.vstack([X[:2] / X[2], Y[:2] / Y[2]])), E


def plane(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n exact matches of a plane in front of both cameras (4 x n), and H."""
    while True:
        H = random_rotation(rng) + np.outer(rng.normal(size=3) * 0.3, [0, 0, 1.0])
        x1 = np.vstack([rng.uniform(-1, 1, (2, n)), np.ones(n)])
        x2 = H @ x1
        if (x2[2] > 0.1).all():
            return np.ascontiguousarray(np.vstack([x1[:2], x2[:2] / x2[2]])), H


def share_of_truth(problem: Problem, scene: Callable[..., Any], samples: int) -> dict[str, float]:
    """Solve random exact samples and count the truths found, scaled to unit norm, up to sign."""
    solve = njit(problem.solve)
    rng = np.random.default_rng(0)
    order = np.arange(problem.sample_size)
    models = np.empty((problem.max_models, problem.model_size))
    scratch = np.empty(problem.scratch_size)
    found = returned = 0
    for _ in range(samples):
        data, truth = scene(rng, problem.sample_size)
        truth = truth.ravel() / np.linalg.norm(truth)
        count = solve(data, order, models, scratch)
        units = models[:count] / np.linalg.norm(models[:count], axis=1, keepdims=True)
        errors = np.minimum(np.abs(units - truth).max(axis=1), np.abs(units + truth).max(axis=1))
        found += bool((errors < TOLERANCE).any())
        returned += count
    return {"share_of_truth": found / samples, "mean_models": returned / samples}


def pack(problem: Problem) -> Any:
    """Return the compiled functions of a problem as the loop gets them."""
    return select_kernels(problem, SAMPLERS["uniform"], SCORES["inliers"], (), False, False)


@njit(error_model="numpy")
def _solve_repeatedly(kernels, data, order, models, scratch, repeats):  # type: ignore[no-untyped-def]
    count = 0
    for _ in range(repeats):
        count += kernels.solve(data, order, models, scratch)
    return count


@njit(error_model="numpy")
def _score_repeatedly(kernels, points, model, out, repeats):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for i in range(repeats):
        model[i % model.size] += np.float32(1e-7)
        kernels.residuals(points, model, 0, points.shape[1], out)
        total += out[i % out.size]
    return total


def best_time(call: Callable[[], Any], calls: int, rounds: int = 7) -> float:
    """Return the smallest of several times of ``call``, over the number of calls that it stands for, in ns."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return min(times) / calls


def time_in_loop(problem: Problem, scene: Callable[..., Any]) -> float:
    """Return the time of one minimal solve in a compiled loop, over 200 different samples, in ns."""
    kernels = pack(problem)
    rng = np.random.default_rng(1)
    samples = [scene(rng, problem.sample_size)[0] + rng.normal(0, 1e-2, (4, problem.sample_size)) for _ in range(200)]
    order = np.arange(problem.sample_size)
    models = np.empty((problem.max_models, problem.model_size))
    scratch = np.empty(problem.scratch_size)

    def run() -> None:
        for data in samples:
            _solve_repeatedly(kernels, data, order, models, scratch, 50)

    return best_time(run, 200 * 50)


def time_500_residuals(problem: Problem) -> float:
    """Return the time of 500 residuals in a compiled loop, in ns."""
    rng = np.random.default_rng(2)
    points = rng.uniform(-1, 1, (4, 500)).astype(np.float32)
    model, out = rng.uniform(-1, 1, 9).astype(np.float32), np.empty(500, np.float32)
    kernels = pack(problem)
    return best_time(lambda: _score_repeatedly(kernels, points, model, out, 5000), 5000)


def time_from_python() -> dict[str, float]:
    """Time our five-point solver and PoseLib's, called from Python with the same rays in turn, in us (medians)."""
    rng = np.random.default_rng(3)
    scenes = [two_views(rng, 5)[0] for _ in range(2000)]
    points = [(np.ascontiguousarray(d[:2].T), np.ascontiguousarray(d[2:].T)) for d in scenes]
    rays = [tuple(np.column_stack([x, np.ones(5)]) for x in pair) for pair in points]
    lists = [tuple(list(x) for x in pair) for pair in rays]
    calls = {"bansac": (essential_5pt, points)}
    try:
        import poselib
    except ImportError:
        print("PoseLib is not installed: pip install poselib")
    else:
        calls["poselib_array"] = (poselib.essential_matrix_5pt, rays)
        calls["poselib_list"] = (poselib.essential_matrix_5pt, lists)
    times: dict[str, list[int]] = {name: [] for name in calls}
    for i in range(len(scenes)):
        for name, (function, arguments) in calls.items():
            x1, x2 = arguments[i]
            start = time.perf_counter_ns()
            function(x1, x2)
            times[name].append(time.perf_counter_ns() - start)
    return {name: float(np.median(values)) / 1e3 for name, values in times.items()}


def version(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Run all measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    problems = {"H": (HOMOGRAPHY, plane), "F": (FUNDAMENTAL, two_views), "E": (ESSENTIAL, two_views)}
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("bansac", "numpy", "numba", "poselib")},
        "samples": arguments.samples,
    }
    for name, (problem, scene) in problems.items():
        entry = share_of_truth(problem, scene, arguments.samples)
        entry["loop_ns"] = time_in_loop(problem, scene)
        report[name] = entry
        print(
            f"{name}: truth found {entry['share_of_truth']:.4%}, {entry['mean_models']:.2f} models a sample, "
            f"{entry['loop_ns']:.0f} ns a solve in a compiled loop"
        )
    sampson = time_500_residuals(FUNDAMENTAL)
    report["500_sampson_ns"] = sampson
    report["seven_point_over_500_sampson"] = report["F"]["loop_ns"] / sampson
    print(f"seven points over 500 Sampson distances ({sampson:.0f} ns): {report['seven_point_over_500_sampson']:.2f}")
    report["five_point_from_python_us"] = times = time_from_python()
    for name, microseconds in times.items():
        ratio = "" if name == "bansac" else f"; ours over this {times['bansac'] / microseconds:.2f}"
        print(f"five points from Python, {name}: {microseconds:.2f} us{ratio}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
