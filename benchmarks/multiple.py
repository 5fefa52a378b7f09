"""Measure estimates of several models: planes of AdelaideRMF, and synthetic lines, circles and planes.

    python benchmarks/multiple.py [--data DIR] [--runs 20] [--seeds 5] [--models line circle plane] [--json FILE]

AdelaideRMF (Wong, Chin, Yu and Suter, ICCV 2011): DIR has matches.h5 (N x 4) and labels.h5, both keyed by pair; label 0
marks outliers, labels from 1 on mark planes. The misclassification error is the share of matches with a wrong label,
for the best assignment of the models to the planes. Sequential RANSAC is the loop
over OpenCV's findHomography that removes inliers until fewer than 12 are left, at several thresholds. "Loop" is the
same loop over bansac's single estimator, until its result is no success. Times are the shortest of three runs.

Synthetic: 1 to 8 models with 60 points each in the square or cube [-1, 1], uniform outliers, and Gaussian noise with a
standard deviation of .001 to .005, which is unknown to the estimators. Lines are at least 0.8 long. "Exact" is the
percentage of runs with exactly the true number of models. Without a model there are 200 uniform points.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.optimize import linear_sum_assignment

import bansac
from bansac.lab.provenance import circumstances
from bansac.problems.estimators import MODELS

COUNTS = 1, 2, 3, 4, 6, 8
OUTLIERS = 0, 30, 60
POINTS, ON_NOISE, NOISE = 60, 200, (0.001, 0.005)
FEWEST = 12
THRESHOLDS = 1.5, 3.0, 4.5
TIMES = 3

Array = np.ndarray


def on_line(rng: np.random.Generator, noise: float) -> Array:
    """Return points of a line segment."""
    start, end = np.zeros((2, 2))
    while np.linalg.norm(end - start) < 0.8:
        start, end = rng.uniform(-1, 1, (2, 2))
    along = (end - start) / np.linalg.norm(end - start)
    across = np.array([-along[1], along[0]])
    return start + rng.uniform(size=(POINTS, 1)) * (end - start) + rng.normal(0, noise, (POINTS, 1)) * across


def on_circle(rng: np.random.Generator, noise: float) -> Array:
    """Return points of a circle."""
    angle, radius = rng.uniform(0, 2 * np.pi, POINTS), rng.uniform(0.2, 0.6) + rng.normal(0, noise, POINTS)
    return rng.uniform(-0.7, 0.7, 2) + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def on_plane(rng: np.random.Generator, noise: float) -> Array:
    """Return points of a plane through the cube."""
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    points = rng.uniform(-1, 1, (100 * POINTS, 3))
    points -= np.outer(points @ normal - rng.uniform(-0.5, 0.5), normal)
    points = points[np.abs(points).max(axis=1) < 1][:POINTS]
    return points + np.outer(rng.normal(0, noise, len(points)), normal)


MAKERS: dict[str, Callable[[np.random.Generator, float], Array]] = {
    "line": on_line,
    "circle": on_circle,
    "plane": on_plane,
}


def make(name: str, count: int, outliers: int, seed: int) -> tuple[Array, Array]:
    """Return points in random order and their labels, -1 for outliers."""
    rng = np.random.default_rng([seed, count, outliers])
    noise = np.exp(rng.uniform(*np.log(NOISE)))
    parts = [MAKERS[name](rng, noise) for _ in range(count)]
    number = round(POINTS * count * outliers / (100 - outliers)) if count else ON_NOISE
    parts.append(rng.uniform(-1, 1, (number, 3 if name == "plane" else 2)))
    labels = np.repeat([*range(count), -1], [len(part) for part in parts])
    order = rng.permutation(len(labels))
    return np.concatenate(parts)[order], labels[order]


def misclassified(labels: Array, truth: Array) -> float:
    """Return the percentage of wrong labels, for the best assignment of the labels to the true ones."""
    common = np.array(
        [[np.sum((labels == i) & (truth == j)) for j in range(truth.max() + 1)] for i in set(labels) - {-1}]
    )
    right = np.sum((labels == -1) & (truth == -1))
    if common.size:
        right += common[linear_sum_assignment(-common)].sum()
    return float(100 * (1 - right / len(truth)))


def loop(find: Callable[[Array], Array | None], data: Array) -> Array:
    """Return labels: find a model in the data that are left and remove its inliers, until there is none."""
    labels, left, count = np.full(len(data), -1), np.arange(len(data)), 0
    while (inliers := find(data[left])) is not None:
        labels[left[inliers]] = count
        left, count = left[~inliers], count + 1
    return labels


def by_bansac(data: Array, seed: int) -> Array | None:
    """Return the inliers of one homography, or None without success."""
    result = bansac.estimate_homography(data[:, :2], data[:, 2:], seed=seed)
    return result.inliers if result.success else None


def by_opencv(data: Array, seed: int, threshold: float) -> Array | None:
    """Return the inliers of one homography, or None if there are few."""
    import cv2

    cv2.setRNGSeed(seed)
    if len(data) < FEWEST:
        return None
    H, mask = cv2.findHomography(data[:, :2], data[:, 2:], cv2.RANSAC, threshold, maxIters=5000, confidence=0.999)
    return None if H is None or mask.sum() < FEWEST else mask.ravel().astype(bool)


def adelaide(folder: Path, seeds: int) -> list[dict[str, Any]]:
    """Measure all methods on the planes of all pairs."""
    methods: dict[str, Callable[[Array, int], Array]] = {
        "estimate_multiple": lambda data, seed: bansac.estimate_multiple("H", data, seed=seed).labels,
        "loop over estimate_homography": lambda data, seed: loop(lambda rest: by_bansac(rest, seed), data),
    }
    for threshold in THRESHOLDS:
        methods[f"sequential RANSAC, OpenCV, {threshold} px"] = lambda data, seed, t=threshold: loop(
            lambda rest: by_opencv(rest, seed, t), data
        )
    rows = []
    with h5py.File(folder / "matches.h5") as matches, h5py.File(folder / "labels.h5") as stored:
        for pair in matches:
            data, truth = np.array(matches[pair], np.float64), np.array(stored[pair], np.int64).ravel() - 1
            for name, method in methods.items():
                for seed in range(seeds):
                    seconds = []
                    for _ in range(TIMES + 1):  # the first one may compile
                        started = time.perf_counter()
                        labels = method(data, seed)
                        seconds.append(time.perf_counter() - started)
                    error = misclassified(labels, truth)
                    rows.append(
                        {"pair": pair, "planes": int(truth.max()) + 1, "method": name, "seed": seed, "error": error}
                        | {"found": int(labels.max()) + 1, "seconds": min(seconds[1:])}
                    )
    for name in methods:
        errors = [row["error"] for row in rows if row["method"] == name]
        per_pair = [row["seconds"] for row in rows if row["method"] == name]
        print(f"{name:36} error {np.mean(errors):5.1f} % median {np.median(errors):5.1f} %, {np.mean(per_pair):.3f} s")
    return rows


def synthetic(names: list[str], runs: int, empty: int) -> list[dict[str, Any]]:
    """Count the models found in synthetic data."""
    rows = []
    for name in names:
        problem = MODELS[name].load_problem()
        cells = [(0, 0), *((count, outliers) for count in COUNTS for outliers in OUTLIERS)]
        for count, outliers in cells:
            found, errors, started = [], [], time.perf_counter()
            for seed in range(runs if count else empty):
                points, truth = make(name, count, outliers, seed)
                result = bansac.estimate_multiple(problem, points)
                found.append(len(result.models))
                errors.append(misclassified(result.labels, truth) if count else 100 * np.mean(result.labels >= 0))
            exact = 100 * np.mean(np.array(found) == count)
            rows.append(
                {"model": name, "models": count, "outliers": outliers, "exact": exact, "error": float(np.mean(errors))}
                | {"found": np.bincount(found).tolist(), "seconds": (time.perf_counter() - started) / len(found)}
            )
            print(
                f"{name:6} {count} models, {outliers:2} % outliers: exact {exact:5.1f} %, {rows[-1]['found']}",
                flush=True,
            )
    return rows


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of AdelaideRMF; without it only synthetic data")
    parser.add_argument("--runs", type=int, default=20, help="runs of each cell of the synthetic data")
    parser.add_argument("--empty", type=int, default=300, help="runs without a model")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", nargs="*", choices=MAKERS, default=list(MAKERS), help="synthetic models")
    parser.add_argument("--json", type=Path, help="what is not measured again is kept")
    arguments = parser.parse_args()
    document: dict[str, Any] = {"synthetic": []}
    if arguments.json is not None and arguments.json.exists():
        document = json.loads(arguments.json.read_text())
    document |= circumstances(("cv2",))
    if arguments.data is not None:
        document["adelaide"] = adelaide(arguments.data, arguments.seeds)
    kept = [row for row in document["synthetic"] if row["model"] not in arguments.models]
    document["synthetic"] = kept + synthetic(arguments.models, arguments.runs, arguments.empty)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
