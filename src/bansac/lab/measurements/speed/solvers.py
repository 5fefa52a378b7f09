"""Speed and accuracy of the minimal solvers, in a compiled loop and from Python, compared with PoseLib's for E."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from bansac.geometry import homogeneous, normalize_points
from bansac.lab.measurements.solver_rates import rate_solver
from bansac.lab.measurements.speed.kernels import INLIER_RATIO, POINTS, solve_call
from bansac.lab.measurements.speed.scenes import KINDS, PROBLEMS, make_task, start_run
from bansac.lab.measurements.speed.timing import least_seconds
from bansac.maths.arrays import Floats
from bansac.problems.estimators import Kind
from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.homography_4pt import homography_4pt
from bansac.synthetic import epipolar_matches, homography_matches

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
        loop = least_seconds({"loop": call}, seconds)["loop"]
        samples, truths = _exact_samples(kind)
        ours = rate_solver(_SOLVERS[kind], samples, truths, _difference)
        rows[kind] = {"loop_ns": 1e9 * loop / count, "share_of_truth": ours["solved"], "mean_models": ours["models"]}
        rows[kind]["python_us"] = ours["us"]
        if kind == "E" and "poselib" in peers:
            rays = [(homogeneous(x1), homogeneous(x2)) for x1, x2 in samples]
            solve = importlib.import_module("poselib").essential_matrix_5pt
            rows[kind]["poselib_us"] = rate_solver(solve, rays, truths, _difference)["us"]
    return rows


def _exact_samples(kind: Kind) -> tuple[list[tuple[Floats, Floats]], list[Floats]]:
    """Return the points of noise-free minimal samples in normalised coordinates, and their true models."""
    size = PROBLEMS[kind].sample_size
    samples, truths = [], []
    for seed in range(_SCENES):
        scene: Any = (homography_matches if kind == "H" else epipolar_matches)(
            size * _SAMPLES, inlier_ratio=1.0, noise=0.0, seed=seed
        )
        K = _PIXELS if kind == "H" else scene.K
        points = normalize_points(K, scene.x1), normalize_points(K, scene.x2)
        truth = np.linalg.inv(K) @ scene.H @ K if kind == "H" else scene.E
        for start in range(0, size * _SAMPLES, size):
            x1, x2 = (np.ascontiguousarray(x[start : start + size]) for x in points)
            samples.append((x1, x2))
            truths.append(truth / np.linalg.norm(truth))
    return samples, truths


def _difference(model: Any, truth: Floats) -> float:
    """Return the largest difference to the true model, both of unit norm and of either sign."""
    unit = model / np.linalg.norm(model)
    return float(min(np.abs(unit - truth).max(), np.abs(unit + truth).max()))


_SOLVERS: Mapping[Kind, Callable[..., Iterable[Any]]] = {
    "H": lambda x1, x2: [model for model in [homography_4pt(x1, x2)] if model is not None],
    "F": fundamental_7pt,
    "E": essential_5pt,
}
