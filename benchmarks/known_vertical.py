"""Measure relative poses with a known vertical direction on synthetic pairs, and its solver beside PoseLib's.

    python benchmarks/known_vertical.py [--runs 50] [--json FILE]

Pairs have 500 matches with a noise of .5 px, images of 640 x 480 px, and few inliers. The vertical of the first camera
is wrong by the given angle. The threshold is 1.5 px. The pose error is the larger one of the angles of the rotation and
of the translation. The solvers run on exact samples of random scenes, called from Python; a sample is solved if a
motion has E up to 1e-6 ("solved") or 1e-10. PoseLib has the solver, and no estimator with a vertical in Python.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.compiled.jit import kernel
from bansac.geometry import essential_from_pose, normalize_points, rotation_matrix
from bansac.lab.metrics import auc, pose_error
from bansac.lab.provenance import circumstances
from bansac.solvers import essential_upright_3pt
from bansac.synthetic import epipolar_matches

INLIERS = 0.3, 0.1, 0.05
ERRORS = None, 0.0, 0.3, 1.0  # of the vertical in degrees; None: unknown
DOWN = np.array([0.0, 1.0, 0.0])


def tilted(direction: np.ndarray, degrees: float, rng: np.random.Generator) -> np.ndarray:
    """Return a direction turned by an angle about a random axis orthogonal to it."""
    axis = np.cross(direction, rng.normal(size=3))
    return rotation_matrix(np.radians(degrees) * axis / np.linalg.norm(axis) + 1e-15) @ direction


def measure(inliers: float, degrees: float | None, runs: int) -> dict[str, float]:
    """Return the AUC of the pose errors and the time of the runs."""
    errors, ms = [], []
    for seed in range(-1, runs):  # the first one compiles
        scene, rng = epipolar_matches(500, inlier_ratio=inliers, noise=0.5, seed=max(seed, 0)), np.random.default_rng(0)
        known = {"gravity1": tilted(DOWN, degrees, rng), "gravity2": scene.R @ DOWN} if degrees is not None else {}
        started = time.perf_counter()
        pose = bansac.estimate_relative_pose(scene.x1, scene.x2, scene.K, threshold=1.5, **known).model
        ms.append(1e3 * (time.perf_counter() - started))
        errors.append(np.inf if pose is None else pose_error(pose.R, pose.t, scene.R, scene.t))
    return {"auc10": round(float(auc(errors[1:], 10.0)), 4), "ms_median": round(float(np.median(ms[1:])), 1)}


def measure_solvers(count: int = 1000) -> dict[str, dict[str, float]]:
    """Return the share of exact samples that are solved, numbers of models, and microseconds of a call."""
    import poselib as library

    solver, order = kernel(essential_upright_3pt.solve), np.arange(3)
    models, scratch = np.empty((essential_upright_3pt.MAX_MODELS, 9)), np.empty(essential_upright_3pt.SCRATCH)
    inputs, truths = [], []
    for seed in range(count):
        scene = epipolar_matches(3, inlier_ratio=1.0, noise=0.0, seed=seed)
        turn = rotation_matrix(np.random.default_rng(seed).normal(0, 0.3, 3))  # PoseLib's verticals are the second axes
        axis = np.random.default_rng(seed).normal(0, 0.2) * DOWN + 1e-15
        R = rotation_matrix(axis)
        X = np.insert(normalize_points(scene.K, scene.x1), 2, 1.0, axis=1) * np.linspace(4, 8, 3)[:, None]
        first, second = X @ turn.T, (X @ turn.T) @ R.T + scene.t
        rays1, rays2 = (x / np.linalg.norm(x, axis=1)[:, None] for x in (first, second))
        data = np.vstack([first[:, :2].T / first[:, 2], second[:, :2].T / second[:, 2], np.tile(DOWN[:, None], (2, 3))])
        inputs.append((np.ascontiguousarray(data), rays1, rays2))
        truths.append(essential_from_pose(R, scene.t))

    def ours(data: np.ndarray, rays1: np.ndarray, rays2: np.ndarray) -> list[np.ndarray]:
        return list(models[: solver(data, order, models, scratch)].reshape(-1, 3, 3).copy())

    def theirs(data: np.ndarray, rays1: np.ndarray, rays2: np.ndarray) -> list[Any]:
        return library.relpose_upright_3pt(rays1, rays2)  # type: ignore[no-any-return]

    def distance(model: Any, truth: np.ndarray) -> float:
        E = model if isinstance(model, np.ndarray) else essential_from_pose(model.R, model.t)
        E, truth = E / np.linalg.norm(E), truth / np.linalg.norm(truth)
        return float(min(np.linalg.norm(E - truth), np.linalg.norm(E + truth)))

    def measure_solver(method: Callable[..., list[Any]]) -> dict[str, float]:
        best = np.inf
        for _ in range(3):
            started = time.perf_counter()
            found = [method(*given) for given in inputs]
            best = min(best, time.perf_counter() - started)
        errors = np.array(
            [
                min((distance(model, truth) for model in row), default=np.inf)
                for row, truth in zip(found, truths, strict=True)
            ]
        )
        return {
            "solved": round(float(np.mean(errors < 1e-6)), 4),
            "solved_exactly": round(float(np.mean(errors < 1e-10)), 4),
            "models": round(float(np.mean([len(row) for row in found])), 2),
            "us": round(1e6 * best / len(inputs), 1),
        }

    return {"ours": measure_solver(ours), "poselib": measure_solver(theirs)}


def main() -> None:
    """Measure the solvers, then the poses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {**circumstances(("poselib",)), "runs": arguments.runs, "solvers": measure_solvers()}
    print(report["solvers"], flush=True)
    report["poses"] = {}
    for inliers in INLIERS:
        for degrees in ERRORS:
            name = "unknown" if degrees is None else f"{degrees:g}"
            row = report["poses"].setdefault(f"{inliers:g}", {})[name] = measure(inliers, degrees, arguments.runs)
            print(inliers, name, row, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
