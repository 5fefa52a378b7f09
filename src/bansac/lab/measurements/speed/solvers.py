"""Speed and accuracy of the minimal solvers, in a compiled loop and from Python, compared with PoseLib's for E."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from bansac.geometry import homogeneous, normalize_points
from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS, solve_call
from bansac.lab.measurements.speed.scenes import KINDS, PROBLEMS, make_task, start_run
from bansac.lab.measurements.speed.timing import Call, least_seconds
from bansac.problems.estimators import Kind
from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.homography_4pt import homography_4pt
from bansac.synthetic import epipolar_matches, homography_matches

__all__ = ["solver_costs"]

_SOLVERS = {"H": homography_4pt, "F": fundamental_7pt, "E": essential_5pt}

# Maximum difference between a correct model and the true one, both of unit norm.
_TOLERANCE = 1e-6
_SCENES = 20
_SAMPLES = 25  # per scene

# Normalisation of plane points, instead of K.
_PIXELS = np.diag([640.0, 640.0, 1.0])


def solver_costs(seconds: float, peers: Collection[str]) -> dict[str, dict[str, float]]:
    """Measure the minimal solvers and return a row for each.

    ``loop_ns`` is the time in a compiled loop over noisy samples with outliers. ``python_us`` and ``poselib_us`` are
    the times from Python on noise-free samples. ``share_of_truth`` is the share of noise-free samples with the true
    model among their models. ``mean_models`` is the mean number of models of such a sample.
    """
    rows: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        call, count = solve_call(start_run(PROBLEMS[kind], make_task(kind, POINTS, INLIER_RATIO), sampler="uniform"))
        samples, found = _exact_samples(kind), least_seconds({"loop": call}, seconds)
        calls: dict[str, Call] = {"python": functools.partial(_solve_all, _SOLVERS[kind], samples)}
        if kind == "E" and "poselib" in peers:
            calls["poselib"] = _poselib_call(samples)
        from_python = least_seconds(calls, seconds)
        row = {"loop_ns": 1e9 * found["loop"] / count} | _accuracy(kind, samples)
        rows[kind] = row | {f"{name}_us": 1e6 * time / len(samples) for name, time in from_python.items()}
    return rows


Sample = tuple[Any, Any, Any]
"""Points in image 1, points in image 2, and the true model of unit norm."""


def _exact_samples(kind: Kind) -> list[Sample]:
    """Return noise-free minimal samples in normalised coordinates with their true models."""
    size = PROBLEMS[kind].sample_size
    samples = []
    for seed in range(_SCENES):
        scene: Any = (homography_matches if kind == "H" else epipolar_matches)(
            size * _SAMPLES, inlier_ratio=1.0, noise=0.0, seed=seed
        )
        K = _PIXELS if kind == "H" else scene.K
        points = normalize_points(K, scene.x1), normalize_points(K, scene.x2)
        truth = np.linalg.inv(K) @ scene.H @ K if kind == "H" else scene.E
        truth = truth / np.linalg.norm(truth)
        for start in range(0, size * _SAMPLES, size):
            x1, x2 = (np.ascontiguousarray(x[start : start + size]) for x in points)
            samples.append((x1, x2, truth))
    return samples


def _solve_all(solve: Callable[..., Any], samples: list[Sample]) -> None:
    for x1, x2, _ in samples:
        solve(x1, x2)


def _poselib_call(samples: list[Sample]) -> Call:
    """Return a call of PoseLib's five-point solver, which takes rays."""
    rays = [(homogeneous(x1), homogeneous(x2), truth) for x1, x2, truth in samples]
    return functools.partial(_solve_all, importlib.import_module("poselib").essential_matrix_5pt, rays)


def _accuracy(kind: Kind, samples: list[Sample]) -> dict[str, float]:
    """Return the share of samples whose models include the true one, up to scale and sign, and the mean count."""
    solve: Callable[..., Any] = _SOLVERS[kind]
    found = returned = 0
    for x1, x2, truth in samples:
        models = np.reshape(solve(x1, x2), (-1, 3, 3))
        units = models / np.linalg.norm(models, axis=(1, 2), keepdims=True)
        errors = [min(np.abs(unit - truth).max(), np.abs(unit + truth).max()) for unit in units]
        found += bool(min(errors, default=1.0) < _TOLERANCE)
        returned += len(units)
    return {"share_of_truth": found / len(samples), "mean_models": returned / len(samples)}
