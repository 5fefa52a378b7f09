"""Measure errors and times of absolute poses of synthetic scenes, compared with PoseLib and OpenCV.

    python benchmarks/absolute_pose.py [--runs 20] [--points 500] [--json FILE]

The camera has 1280 x 960 px and a focal length of 1000 px. The scene is a cloud at depths of 4 to 12, a street at
depths of 2 to 100, an object of size 1 at depth 5, or a plane. The image noise is .5 px for four of five points and
2 px for the others. The noise of 3D points is .1 % of their depth, as for triangulated points. Half of the outliers are
images of other points, the other half are uniform in the image.

All methods run in turn on every scene, three times. The shortest time counts. The errors are the angle of the relative
rotation, and the distance between the camera centres divided by the median depth. A run has failed if it returns no
pose, or if an error exceeds 1 degree or 2 %. The threshold is 4 px. The other libraries have limits of 4800 samples and
a confidence of .999. PoseLib also runs with its default limits, which include a minimum of 1000 samples.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bansac
from bansac.geometry import normalize_points, rotation_matrix
from bansac.lab.provenance import circumstances

WIDTH, HEIGHT, FOCAL = 1280, 960, 1000.0
K = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
THRESHOLD, LIMIT, CONFIDENCE = 4.0, 4800, 0.999
OUTLIERS = (20, 50, 80)
FAILURE = 1.0, 2.0  # degrees, per cent
TIMES = 3
# One of five image errors is four times as large as the others.
SIGMA, WIDE, WIDE_SHARE = 0.5, 4.0, 0.2
SIGMA_SPACE = 1e-3

Pose = tuple[np.ndarray, np.ndarray]


class Scene(NamedTuple):
    """3D points, their images, and the pose."""

    X: np.ndarray
    x: np.ndarray
    R: np.ndarray
    t: np.ndarray
    depth: float


def depths(name: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the depths of the points at ``x`` of a kind of scene."""
    n = len(x)
    if name == "cloud":
        return rng.uniform(4, 12, n)
    if name == "street":
        return np.exp(rng.uniform(np.log(2), np.log(100), n))
    if name == "object":
        return rng.uniform(4.5, 5.5, n)
    normal = np.array([*rng.uniform(-0.5, 0.5, 2), 1.0])
    return 8 / (normalize_points(K, x) @ normal[:2] + 1.0)


SCENES = ("cloud", "street", "object", "plane")


def make_scene(name: str, n: int, outliers: int, seed: int) -> Scene:
    """Return a scene with the given percentage of outliers."""
    rng = np.random.default_rng(seed)
    size = np.array([WIDTH, HEIGHT])
    span = 200 / size if name == "object" else np.array([1.0, 1.0])
    x = size * (0.5 + (rng.uniform(size=(n, 2)) - 0.5) * span)
    z = depths(name, x, rng)
    seen = np.column_stack([normalize_points(K, x), np.ones(n)]) * z[:, None]
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    X = (seen - t) @ R + rng.normal(size=(n, 3)) * (SIGMA_SPACE * z[:, None])
    sigma = np.where(rng.random(n) < WIDE_SHARE, WIDE * SIGMA, SIGMA)
    x = x + rng.normal(size=(n, 2)) * sigma[:, None]
    wrong = rng.permutation(n)[: n * outliers // 100]
    half = wrong[: len(wrong) // 2]
    x[half] = rng.permutation(x)[: len(half)]
    x[wrong[len(half) :]] = rng.uniform(size=(len(wrong) - len(half), 2)) * size
    return Scene(X, x, R, t, float(np.median(z)))


def ours(preset: str | None, scene: Scene, seed: int) -> Pose | None:
    """Estimate with bansac."""
    result = bansac.estimate_absolute_pose(scene.X, scene.x, K, threshold=THRESHOLD, preset=preset, seed=seed)
    return (result.model.R, result.model.t) if result.success else None


def poselib(limits: dict[str, Any], scene: Scene, seed: int) -> Pose | None:
    """Estimate with PoseLib."""
    import poselib as library

    camera = {"model": "PINHOLE", "width": WIDTH, "height": HEIGHT, "params": [FOCAL, FOCAL, K[0, 2], K[1, 2]]}
    options = {"max_reproj_error": THRESHOLD, "seed": seed, **limits}
    pose, _ = library.estimate_absolute_pose(scene.x, scene.X, camera, options, {})
    return pose.R, pose.t


def opencv(flag: str, scene: Scene, seed: int) -> Pose | None:
    """Estimate with OpenCV; its default of 100 samples is too small for most shares of outliers."""
    import cv2

    found, rotation, t, _ = cv2.solvePnPRansac(
        scene.X, scene.x, K, None,
        iterationsCount=LIMIT, reprojectionError=THRESHOLD, confidence=CONFIDENCE, flags=getattr(cv2, flag),
    )  # fmt: skip
    return (cv2.Rodrigues(rotation)[0], t.ravel()) if found else None


METHODS: dict[str, Callable[[Scene, int], Pose | None]] = {
    "default": functools.partial(ours, None),
    "fast": functools.partial(ours, "fast"),
    "accurate": functools.partial(ours, "accurate"),
    "poselib": functools.partial(poselib, {"max_iterations": LIMIT, "min_iterations": 10, "success_prob": CONFIDENCE}),
    "poselib-own": functools.partial(poselib, {}),
    "opencv-iterative": functools.partial(opencv, "SOLVEPNP_ITERATIVE"),
    "opencv-p3p": functools.partial(opencv, "SOLVEPNP_P3P"),
    "opencv-usac": functools.partial(opencv, "USAC_DEFAULT"),
    "opencv-accurate": functools.partial(opencv, "USAC_ACCURATE"),
    "opencv-magsac": functools.partial(opencv, "USAC_MAGSAC"),
}


def errors(pose: Pose | None, scene: Scene) -> tuple[float, float]:
    """Return the errors of the rotation in degrees and of the centre in per cent of the depth; inf without a pose."""
    if pose is None or not (np.isfinite(pose[0]).all() and np.isfinite(pose[1]).all()):
        return np.inf, np.inf
    R, t = pose
    angle = 2 * np.arcsin(min(np.linalg.norm(R - scene.R) / np.sqrt(8), 1.0))
    return float(np.degrees(angle)), float(100 * np.linalg.norm(R.T @ t - scene.R.T @ scene.t) / scene.depth)


def measure(scenes: list[Scene]) -> dict[str, Any]:
    """Return errors and milliseconds of every method over scenes; the methods alternate on each scene."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in METHODS}
    for method in METHODS.values():
        method(scenes[-1], 0)
    for seed, scene in enumerate(scenes):
        best = dict.fromkeys(METHODS, np.inf)
        poses: dict[str, Pose | None] = {}
        for _ in range(TIMES):
            for name, method in METHODS.items():
                started = time.perf_counter()
                poses[name] = method(scene, seed)
                best[name] = min(best[name], 1e3 * (time.perf_counter() - started))
        for name, pose in poses.items():
            found[name].append((best[name], *errors(pose, scene)))
    ours = np.array(found["default"])
    return {name: summarize(np.array(rows), ours) for name, rows in found.items()}


def fails(rows: np.ndarray) -> np.ndarray:
    """Return which runs fail."""
    failed: np.ndarray = (rows[:, 1] > FAILURE[0]) | (rows[:, 2] > FAILURE[1])
    return failed


def summarize(rows: np.ndarray, ours: np.ndarray) -> dict[str, float]:
    """Return medians, the share of failures, and the geometric means of the errors over ours where both succeed."""
    ms, degrees, per_cent = rows.T
    failed, both = fails(rows), ~fails(rows) & ~fails(ours)
    ratios = np.exp(np.log(rows[both, 1:] / ours[both, 1:]).mean(axis=0))
    return {
        "degrees_median": float(np.median(degrees)),
        "per_cent_median": float(np.median(per_cent)),
        "degrees_ratio": float(ratios[0]),
        "per_cent_ratio": float(ratios[1]),
        "failed": float(failed.mean()),
        "ms_median": float(np.median(ms)),
        "ms_mean": float(ms.mean()),
    }


def main() -> None:
    """Measure all shares of outliers; print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="scenes of a kind")
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        **circumstances(("poselib", "cv2")),
        "runs": arguments.runs,
        "points": arguments.points,
        "outliers": {},
    }
    for outliers in OUTLIERS:
        seeds = range(arguments.runs)
        found = measure([make_scene(name, arguments.points, outliers, seed) for seed in seeds for name in SCENES])
        report["outliers"][str(outliers)] = found
        for name, figures in found.items():
            ratio = figures["ms_mean"] / found["default"]["ms_mean"]
            errors_found = f"{figures['degrees_median']:.4f} deg, {figures['per_cent_median']:.3f} %"
            ratios = f"{figures['degrees_ratio']:.2f}/{figures['per_cent_ratio']:.2f} times our errors"
            print(
                f"{outliers} %, {name}: {errors_found}, {ratios}, failed {figures['failed']:.2%}, "
                f"{figures['ms_mean']:.2f} ms, {ratio:.2f} times the default",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
