"""Measure poses from distorted images, compared with images without distortion and with PoseLib.

    python benchmarks/distortion.py [--data FOLDER] [--pairs 43] [--runs 100] [--json FILE]

*Real pairs*: the sets of ``FOLDER`` in the format of the "RANSAC in 2020" tutorial (EF), with matches of an SNN ratio
below .85. Their points are distorted by a lens with the focal length of the pair. A lens changes no information here:
the noise is that of images without distortion.

*Synthetic pairs*: 400 matches in images of 1600 x 1200 px, 40 % of them inliers, depths from 1 to 6 times, a baseline
of .3, rotations of about 15 degrees. Points are uniform in the distorted image, with a noise of .7 px there. *Synthetic
poses*: 150 points with a noise of 2 px and 60 % outliers.

The fisheyes are equidistant; 120 and 165 degrees are their fields of view from corner to corner. The threshold of
PoseLib is 1.5 px for pairs and 6 px for poses; that of bansac is estimated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bansac
from bansac import Camera
from bansac.geometry import rotation_matrix
from bansac.lab.metrics import auc, pose_error
from bansac.lab.provenance import circumstances
from bansac.lab.sets import find_sets

WIDTH, HEIGHT = 1600, 1200
LENSES = {
    "none": Camera("PINHOLE", (1000, 1000, 800, 600), WIDTH, HEIGHT),
    "OPENCV": Camera("OPENCV", (1000, 1000, 800, 600, -0.25, 0.08, 1e-3, -1e-3), WIDTH, HEIGHT),
    "fisheye, 120 degrees": Camera("OPENCV_FISHEYE", (955, 955, 800, 600, 0, 0, 0, 0), WIDTH, HEIGHT),
    "fisheye, 165 degrees": Camera("OPENCV_FISHEYE", (694, 694, 800, 600, 0, 0, 0, 0), WIDTH, HEIGHT),
}
# Distortions of real pairs.
REAL = {
    "none": ("PINHOLE", ()),
    "OPENCV": ("OPENCV", (-0.2, 0.05, 1e-3, -1e-3)),
    "fisheye": ("OPENCV_FISHEYE", (0,) * 4),
}
MAX_RATIO, FEWEST = 0.85, 25
EXCLUDED = ("middlebury_dino",)  # its poses are ill-conditioned


class Case(NamedTuple):
    """Points, cameras and the true motion; the first points are in space for an absolute pose."""

    x1: np.ndarray
    x2: np.ndarray
    camera1: Camera | None
    camera2: Camera
    scores: np.ndarray | None
    R: np.ndarray
    t: np.ndarray


def real_pairs(data: Path, pairs: int, lens: str) -> Iterator[tuple[str, Case]]:
    """Yield pairs of real images, with distorted points."""
    model, coefficients = REAL[lens]
    for one in find_sets(data):
        for pair in one.pairs(pairs) if one.kind == "EF" and one.name not in EXCLUDED else ():
            chosen = pair.ratios < MAX_RATIO
            if np.count_nonzero(chosen) <= FEWEST:
                continue
            points, cameras = [], []
            for x, K in ((pair.x1, pair.K1), (pair.x2, pair.K2)):
                plain = Camera.from_matrix(K)
                camera = Camera(model, (*plain.params, *coefficients))
                points.append(camera.project(plain.unproject(x[chosen])))
                cameras.append(camera)
            yield one.name, Case(*points, *cameras, 1 - pair.ratios[chosen], pair.R, pair.t)


def uniform_rays(camera: Camera, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return rays of unit length to points that are uniform in an image."""
    pixels = rng.uniform([0, 0], [WIDTH, HEIGHT], (n, 2))
    rays = np.column_stack([camera.unproject(pixels), np.ones(n)])
    return rays / np.linalg.norm(rays, axis=1)[:, None]


def in_image(camera: Camera, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of points in front of a camera, and which points have one."""
    front = X[:, 2] > 0.05
    x = np.full((len(X), 2), -1.0)
    x[front] = camera.project(X[front, :2] / X[front, 2:])
    inside = front & (x > 0).all(axis=1) & (x < [WIDTH, HEIGHT]).all(axis=1)
    x[~inside] = 0.0
    again = camera.unproject(x)
    with np.errstate(all="ignore"):
        inside &= np.abs(again - X[:, :2] / X[:, 2:]).max(axis=1) < 1e-6  # false for NaN
    return x, inside


def synthetic_pair(camera: Camera, seed: int, n: int = 400, outliers: int = 240, noise: float = 0.7) -> Case:
    """Return a synthetic pair."""
    rng = np.random.default_rng(seed)
    R, t = rotation_matrix(rng.normal(0, 0.15, 3)), rng.normal(size=3)
    t *= 0.3 / np.linalg.norm(t)
    found: list[np.ndarray] = []
    while sum(map(len, found)) < n:
        X = uniform_rays(camera, n, rng) * np.exp(rng.uniform(0, np.log(6), (n, 1)))
        x1, first = in_image(camera, X)
        x2, second = in_image(camera, X @ R.T + t)
        found.append(np.column_stack([x1, x2])[first & second])
    both = np.concatenate(found)[:n] + rng.normal(0, noise, (n, 4))
    both[:outliers, 2:] = rng.uniform([0, 0], [WIDTH, HEIGHT], (outliers, 2))
    kept = np.isfinite(camera.unproject(both[:, :2]) + camera.unproject(both[:, 2:])).all(axis=1)
    return Case(both[kept, :2], both[kept, 2:], camera, camera, None, R, t)


def synthetic_pose(camera: Camera, seed: int, n: int = 150, outliers: int = 90, noise: float = 2.0) -> Case:
    """Return 3D points and their images."""
    rng = np.random.default_rng(seed)
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    seen = uniform_rays(camera, n, rng) * np.exp(rng.uniform(np.log(2), np.log(12), (n, 1)))
    x, inside = in_image(camera, seen)
    x = x + rng.normal(0, noise, (n, 2))
    x[:outliers] = rng.uniform([0, 0], [WIDTH, HEIGHT], (outliers, 2))
    kept = inside & np.isfinite(camera.unproject(x)).all(axis=1)
    return Case(((seen - t) @ R)[kept], x[kept], None, camera, None, R, t)


def ours(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """Estimate with bansac, which gets the camera."""
    if case.camera1 is None:
        result = bansac.estimate_absolute_pose(case.x1, case.x2, case.camera2)
    else:
        result = bansac.estimate_relative_pose(case.x1, case.x2, case.camera1, case.camera2, scores=case.scores)
    return None if result.model is None else tuple(result.model)


def ours_lifted(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """Estimate with bansac from undistorted points."""
    cameras = [None if one is None else Camera("PINHOLE", (*one.params[:4],)) for one in (case.camera1, case.camera2)]
    points = [
        x if plain is None else plain.project(camera.unproject(x))
        for x, plain, camera in zip(case[:2], cameras, case[2:4], strict=True)
    ]
    return ours(case._replace(x1=points[0], x2=points[1], camera1=cameras[0], camera2=cameras[1]))


def poselib(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """Estimate with PoseLib, which gets the camera, at its default limits."""
    import poselib as library

    def as_dict(camera: Camera) -> dict[str, Any]:
        return {"model": camera.model, "params": camera.params, "width": WIDTH, "height": HEIGHT}

    if case.camera1 is None:
        pose, _ = library.estimate_absolute_pose(case.x2, case.x1, as_dict(case.camera2), {"max_reproj_error": 6.0}, {})
    else:
        cameras = as_dict(case.camera1), as_dict(case.camera2)
        pose, _ = library.estimate_relative_pose(case.x1, case.x2, *cameras, {"max_epipolar_error": 1.5}, {})
    return pose.R, pose.t


METHODS: dict[str, Callable[[Case], tuple[np.ndarray, np.ndarray] | None]] = {
    "default": ours, "default, undistorted points": ours_lifted, "poselib": poselib
}  # fmt: skip


def error(pose: tuple[np.ndarray, np.ndarray] | None, case: Case) -> float:
    """Return the larger error in degrees; the centre of an absolute pose is compared at a distance of 5."""
    if pose is None or not all(np.isfinite(part).all() for part in pose):
        return np.inf
    if case.camera1 is not None:
        return pose_error(*pose, case.R, case.t)
    angle = 2 * np.arcsin(min(np.linalg.norm(pose[0] - case.R) / np.sqrt(8), 1.0))
    shift = np.linalg.norm(pose[0].T @ pose[1] - case.R.T @ case.t) / 5
    return float(np.degrees(max(angle, shift)))


def measure(cases: list[tuple[str, Case]]) -> dict[str, dict[str, float]]:
    """Return AUC@10 and AUC@2 (means over the sets) and the mean time of every method."""
    figures = {}
    for name, method in METHODS.items():
        method(cases[0][1])
        errors: dict[str, list[float]] = {}
        seconds = 0.0
        for group, case in cases:
            started = time.perf_counter()
            pose = method(case)
            seconds += time.perf_counter() - started
            errors.setdefault(group, []).append(error(pose, case))
        figures[name] = {
            **{f"auc_{limit}": float(np.mean([auc(found, limit) for found in errors.values()])) for limit in (10, 2)},
            "ms_mean": 1e3 * seconds / len(cases),
        }
    return figures


def main() -> None:
    """Measure all lenses; print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", type=int, default=43)
    parser.add_argument("--runs", type=int, default=100, help="synthetic scenes of a lens")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        **circumstances(("poselib",)), "pairs": arguments.pairs, "runs": arguments.runs, "tables": {}
    }  # fmt: skip
    kinds: dict[str, dict[str, Callable[[], list[tuple[str, Case]]]]] = {
        "synthetic pairs": {
            lens: lambda camera=camera: [("", synthetic_pair(camera, seed)) for seed in range(arguments.runs)]
            for lens, camera in LENSES.items()
        },
        "synthetic poses": {
            lens: lambda camera=camera: [("", synthetic_pose(camera, seed)) for seed in range(arguments.runs)]
            for lens, camera in LENSES.items()
        },
    }
    if arguments.data:
        kinds["real pairs"] = {
            lens: lambda lens=lens: list(real_pairs(arguments.data, arguments.pairs, lens)) for lens in REAL
        }
    for kind, lenses in kinds.items():
        report["tables"][kind] = {}
        for lens, cases in lenses.items():
            found = report["tables"][kind][lens] = measure(cases())
            for name, row in found.items():
                print(f"{kind}, {lens}, {name}: " + ", ".join(f"{key} {x:.4f}" for key, x in row.items()), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
