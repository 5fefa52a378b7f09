"""Measure relative poses with unknown focal lengths on image pairs with ground truth, compared with PoseLib.

    python benchmarks/focal_lengths.py --data DIR [--sets NAME ...] [--pairs 40] [--json FILE]

DIR has the folder EF in the format of the "RANSAC in 2020" tutorial. Matches are mutual nearest neighbours with an SNN
ratio of at most .85. The focal lengths are withheld; the principal points are given. In the mode "shared" both images
have one focal length. In "one" the focal length of the first image is known. In "both" the second image is scaled by
1.4, so that its focal length differs, and both are unknown.

All methods run in turn on every pair, twice; the shorter time counts. The pose error is the larger one of the angles of
the rotation and of the translation. The focal error is |f / f_true - 1|; its median is over all pairs, with no
estimate counted as infinite. "known" has the true focal lengths. "decomposed" is F with the focal lengths that it
implies; for a shared focal length their geometric mean. bansac estimates the threshold, as by default; "ours-1px" and
PoseLib have 1 px, PoseLib's default. Solvers run on exact samples of random
scenes, called from Python; a sample is solved if a model has the focal length, to 1e-6 ("solved") or 1e-10.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import bansac
from bansac.geometry import recover_pose
from bansac.lab.evaluation.provenance import circumstances
from bansac.lab.metrics.averages import auc
from bansac.lab.metrics.errors import pose_error
from bansac.numeric.jit import kernel
from bansac.solvers import shared_focal_6pt
from bansac.solvers.shared_focal_6pt import MAX_MODELS, SCRATCH
from bansac.synthetic import epipolar_matches

SETS = ("fountain-P11", "Herz-Jesus-P8", "entry-P10", "kitti_seq1")
SNN, THRESHOLD, TIMES = 0.85, 1.0, 2
SCALE = 1.4  # of the second image in the mode "both"
MODES = ("shared", "one", "both")


class Pair(NamedTuple):
    """Matches, camera matrices and the pose of two images."""

    x1: np.ndarray
    x2: np.ndarray
    scores: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    R: np.ndarray
    t: np.ndarray


class Answer(NamedTuple):
    """A pose and two focal lengths."""

    R: np.ndarray | None
    t: np.ndarray | None
    f1: float = np.nan
    f2: float = np.nan


def load(folder: Path, most: int) -> list[Pair]:
    """Read at most that many pairs of a set, evenly spaced."""
    names = ("matches", "match_conf", "mutual", "K1_K2", "R", "T")
    files = {name: h5py.File(folder / f"{name}.h5") for name in names}
    keys = sorted(files["matches"])
    pairs = []
    for key in keys[:: max(1, -(-len(keys) // most))]:
        ratio, mutual = files["match_conf"][key][()].ravel(), files["mutual"][key][()].ravel()
        good = (ratio <= SNN) & (mutual > 0)
        matches = files["matches"][key][()][good].astype(float)
        K1, K2 = files["K1_K2"][key][()][0]
        first, second = key.split("-")
        R1, R2 = files["R"][first][()], files["R"][second][()]
        R = R2 @ R1.T
        t = files["T"][second][()].ravel() - R @ files["T"][first][()].ravel()
        pairs.append(Pair(matches[:, :2], matches[:, 2:], 1 - ratio[good], K1, K2, R, t))
    return pairs


def scaled(pair: Pair) -> Pair:
    """Return the pair with the second image scaled."""
    S = np.diag([SCALE, SCALE, 1.0])
    return pair._replace(x2=pair.x2 * SCALE, K2=S @ pair.K2)


def camera(K: np.ndarray) -> bansac.Camera:
    """Return a camera without its focal length; the image is taken to reach twice the principal point."""
    return bansac.Camera("SIMPLE_PINHOLE", (np.nan, K[0, 2], K[1, 2]), round(2 * K[0, 2]), round(2 * K[1, 2]))


def ours(threshold: float | None, mode: str, pair: Pair) -> Answer:
    """Estimate with bansac."""
    first = camera(pair.K1)
    second = {"shared": first, "one": first, "both": camera(pair.K2)}[mode]
    cameras = (pair.K1, camera(pair.K2)) if mode == "one" else (first, second)
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, *cameras, threshold=threshold, scores=pair.scores)
    pose = result.model
    return Answer(None, None) if pose is None else Answer(pose.R, pose.t, pose.K1[0, 0], pose.K2[0, 0])


def known(mode: str, pair: Pair) -> Answer:
    """Estimate with bansac and the true focal lengths."""
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K1, pair.K2, scores=pair.scores)
    pose = result.model
    return Answer(None, None) if pose is None else Answer(pose.R, pose.t, pair.K1[0, 0], pair.K2[0, 0])


def decomposed(mode: str, pair: Pair) -> Answer:
    """Estimate F with bansac, then the focal lengths that it implies."""
    sizes = {f"image_size{k}": (round(2 * K[1, 2]), round(2 * K[0, 2])) for k, K in ((1, pair.K1), (2, pair.K2))}
    result = bansac.estimate_fundamental(pair.x1, pair.x2, scores=pair.scores, **sizes)
    if result.model is None:
        return Answer(None, None)
    f1, f2 = bansac.focals_from_fundamental(result.model, pair.K1[:2, 2], pair.K2[:2, 2])
    if mode == "shared":
        f1 = f2 = np.sqrt(f1 * f2)
    if mode == "one":
        f1 = pair.K1[0, 0]
    if not (np.isfinite(f1) and np.isfinite(f2)):
        return Answer(None, None)
    K1, K2 = (np.array([[f, 0, K[0, 2]], [0, f, K[1, 2]], [0, 0, 1]]) for f, K in ((f1, pair.K1), (f2, pair.K2)))
    rays = [bansac.geometry.normalize_points(K, x) for K, x in ((K1, pair.x1), (K2, pair.x2))]
    R, t, _ = recover_pose(K2.T @ result.model @ K1, *rays, result.inliers)
    return Answer(R, t, f1, f2)


def poselib(mode: str, pair: Pair) -> Answer:
    """Estimate with PoseLib's shared focal length and its default limits."""
    import poselib as library

    options = {"max_epipolar_error": THRESHOLD}
    centre = pair.K1[:2, 2]
    found, _ = library.estimate_shared_focal_relative_pose(pair.x1, pair.x2, centre, options, {})
    return Answer(found.pose.R, found.pose.t, found.camera1.focal(), found.camera2.focal())


METHODS: dict[str, Callable[[str, Pair], Answer]] = {
    "ours": functools.partial(ours, None),
    "ours-1px": functools.partial(ours, THRESHOLD),
    "poselib": poselib,
    "decomposed": decomposed,
    "known": known,
}


def measure(pairs: list[Pair], mode: str) -> dict[str, Any]:
    """Return errors and times of the methods over the pairs of a set."""
    pairs = [scaled(pair) for pair in pairs] if mode == "both" else pairs
    methods = {name: method for name, method in METHODS.items() if mode == "shared" or name != "poselib"}
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for method in methods.values():
        method(mode, pairs[0])
    for pair in pairs:
        for name, method in methods.items():
            seconds = np.inf
            for _ in range(TIMES):
                started = time.perf_counter()
                answer = method(mode, pair)
                seconds = min(seconds, time.perf_counter() - started)
            focal = max(abs(answer.f1 / pair.K1[0, 0] - 1), abs(answer.f2 / pair.K2[0, 0] - 1))
            error = pose_error(answer.R, answer.t, pair.R, pair.t)
            rows[name].append((error, focal if np.isfinite(focal) else np.inf, 1e3 * seconds))
    return {name: summary(np.array(found)) for name, found in rows.items()}


def exact_sample(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return six exact matches of a random scene, in half diagonals, and the focal length."""
    rng = np.random.default_rng(seed)
    scene = epipolar_matches(6, inlier_ratio=1.0, noise=0.0, seed=seed)
    # Other focal lengths: the images are those of a camera that is narrower or wider.
    focal = np.exp(rng.uniform(np.log(0.7), np.log(4.0)))
    rays1, rays2 = (bansac.geometry.normalize_points(scene.K, x) for x in (scene.x1, scene.x2))
    spread = 0.7 / np.abs(np.vstack([rays1, rays2])).max() / focal
    R, t = scene.R, scene.t
    X = np.insert(rays1 * spread, 2, 1.0, axis=1) * rng.uniform(4, 12, (6, 1))
    Y = X @ R.T + t
    return focal * X[:, :2] / X[:, 2:], focal * Y[:, :2] / Y[:, 2:], focal


def measure_solvers(count: int = 1000) -> dict[str, dict[str, float]]:
    """Return the share of samples whose focal length is found, numbers of models, and microseconds of a call."""
    import poselib as library

    samples = [exact_sample(seed) for seed in range(count)]
    models, scratch, order = np.empty((MAX_MODELS, 10)), np.empty(SCRATCH), np.arange(6)
    inputs = [
        (np.ascontiguousarray(np.hstack(sample[:2]).T), *(np.insert(x, 2, 1.0, axis=1) for x in sample[:2]))
        for sample in samples
    ]
    solver = kernel(shared_focal_6pt.solve)

    def ours(data: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> list[float]:
        return [float(f) for f in models[: solver(data, order, models, scratch), 9]]

    def theirs(data: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> list[Any]:
        return library.shared_focal_relpose_6pt(h1, h2)  # type: ignore[no-any-return]

    report = {}
    for name, method in (("ours", ours), ("poselib", theirs)):
        best = np.inf
        for _ in range(3):
            started = time.perf_counter()
            found = [method(*given) for given in inputs]
            best = min(best, time.perf_counter() - started)
        focals = [[getattr(f, "camera1", f) for f in row] for row in found]
        errors = np.array(
            [
                min((abs(float(getattr(f, "params", [f])[0]) / focal - 1) for f in row), default=np.inf)
                for row, (_, _, focal) in zip(focals, samples, strict=True)
            ]
        )
        report[name] = {
            "solved": round(float(np.mean(errors < 1e-6)), 4),
            "solved_exactly": round(float(np.mean(errors < 1e-10)), 4),
            "models": round(float(np.mean([len(row) for row in found])), 2),
            "us": round(1e6 * best / count, 1),
        }
    return report


def summary(rows: np.ndarray) -> dict[str, float]:
    """Return the averages of pose errors, focal errors and milliseconds."""
    errors, focals, ms = rows.T
    return {
        "auc5": round(float(auc(errors, 5.0)), 4),
        "auc10": round(float(auc(errors, 10.0)), 4),
        "focal_median": round(float(np.median(focals)), 4),
        "focal_within_10": round(float(np.mean(focals <= 0.1)), 4),
        "ms_mean": round(float(ms.mean()), 2),
        "ms_median": round(float(np.median(ms)), 2),
        "pairs": len(rows),
    }


def main() -> None:
    """Measure all modes on all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--modes", nargs="*", default=MODES)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report: dict[str, Any] = {"circumstances": circumstances(), "solvers": measure_solvers(), "pairs": {}}
    for solver, row in report["solvers"].items():
        print("solver", solver, row, flush=True)
    for mode in arguments.modes:
        for name in arguments.sets:
            found = measure(load(arguments.data / "EF" / name, arguments.pairs), mode)
            report["pairs"].setdefault(mode, {})[name] = found
            for method, row in found.items():
                print(f"{mode:7} {name:14} {method:11}", row, flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
