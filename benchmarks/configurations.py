"""Measure the detection of two-view configurations, and the accuracy of the relative pose of planar scenes.

    python benchmarks/configurations.py [--data FOLDER] [--scenes 100] [--pairs 43] [--json FILE]
    python benchmarks/configurations.py --noisy [--scenes 5] [--json FILE]

Synthetic scenes are general, planar, collinear or seen by a rotating camera, with several numbers of matches, inlier
ratios and noise levels. F has its default threshold, the relative pose a threshold of 1 pixel. With ``--data``, real
pairs are added. The EF sets have depth and should be classified as general. The H sets show planes or have rotating
cameras, and F should not be classified as general.

For planar scenes, the benchmark also measures the share of translations with an error above 10 degrees. It compares
this package, PoseLib and OpenCV at a threshold of 1 pixel. The other libraries have at most 1000 iterations.

With ``--noisy``, it only measures relative poses at the default threshold of 0.5 pixels. The noise is up to four
thresholds. There are up to 100,000 matches, and planes with some points off them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bansac
from bansac.geometry import apply_transform, recover_pose
from bansac.lab.metrics import rotation_error, translation_error
from bansac.lab.peers.methods import METHODS
from bansac.lab.provenance import circumstances
from bansac.lab.sets import PairSet
from bansac.lab.task import DEFAULTS, judge, make_task, usable_pairs
from bansac.matches import Matches
from bansac.synthetic import SceneMatches, epipolar_matches, planar_scene_matches, rotation_matches


def points_on_a_line(n: int, inlier_ratio: float, noise: float, seed: int) -> SceneMatches:
    """Return a scene with points on a line of image 1, that is on a plane through the centre of camera 1."""
    scene = epipolar_matches(n, inlier_ratio, 0.0, seed)
    assert scene.inliers is not None
    assert scene.points is not None
    rng, true = np.random.default_rng(seed), scene.inliers
    x1, x2 = scene.x1.copy(), scene.x2.copy()
    x1[true, 1] = 50 + 0.5 * x1[true, 0]
    rays = np.column_stack([x1, np.ones(n)]) @ np.linalg.inv(scene.K).T
    points = rays[true] * scene.points[true, 2:]
    x2[true] = apply_transform(scene.K, points @ scene.R.T + scene.t)
    x1[true] += rng.normal(0, noise, (true.sum(), 2))
    x2[true] += rng.normal(0, noise, (true.sum(), 2))
    return dataclasses.replace(scene, x1=x1, x2=x2)


SCENES: dict[str, Callable[[int, float, float, int], SceneMatches]] = {
    "general": epipolar_matches,
    "planar": lambda n, ratio, noise, seed: planar_scene_matches(n, ratio, 1.0, noise, seed),
    "pure rotation": rotation_matches,
    "collinear": points_on_a_line,
}

# Matches, inlier ratio, noise in pixels.
SETTINGS = ((500, 0.5, 0.25), (500, 0.5, 0.5), (200, 0.3, 0.5), (100, 0.8, 0.3), (2000, 0.3, 0.5), (500, 0.5, 1.0))

# With --noisy: matches, and noise in pixels. Planes with few points off them are general if these are significant.
DENSE, NOISES = (100, 1000, 10_000, 100_000), (0.1, 0.3, 0.5, 1.0, 2.0)
NOISY: dict[str, Callable[[int, float, float, int], SceneMatches]] = {
    "general": epipolar_matches,
    "planar": SCENES["planar"],
    "planar, 5% off": lambda n, ratio, noise, seed: planar_scene_matches(n, ratio, 0.95, noise, seed),
    "planar, 20% off": lambda n, ratio, noise, seed: planar_scene_matches(n, ratio, 0.8, noise, seed),
    "pure rotation": rotation_matches,
}

# Correct configurations; F cannot distinguish a rotation from a plane.
RIGHT = {
    "F": {"general": "general", "planar": "planar", "pure rotation": "planar", "collinear": "collinear"},
    "pose": {"general": "general", "planar": "planar", "pure rotation": "pure_rotation", "collinear": "collinear"},
}

GENERAL_SETS = ("fountain-P11", "Herz-Jesus-P8", "Herz-Jesus-P25", "entry-P10", "kitti_seq1")
PLANAR_SETS = {"VGG": 0.6, "homogr": 0.6, "homogr_asift": 0.6, "VGG_asift": 0.6, "exact_warp": 0.95}
WRONG_POSE = 5.0  # degrees
WRONG_TRANSLATION = 10.0  # degrees

PEERS = ("poselib", "opencv", "opencv-default", "opencv-accurate", "opencv-magsac")


def estimate(model: str, pair: Matches, seed: int = 0, **settings: Any) -> bansac.Result:
    """Estimate F, or the relative pose at 1 pixel."""
    if model == "F":
        return bansac.estimate_fundamental(pair.x1, pair.x2, seed=seed, **settings)
    return bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K1, pair.K2, threshold=1.0, seed=seed, **settings)


def found(result: bansac.Result) -> str:
    """Return the configuration of a result; "none" if it is None."""
    return result.configuration or "none"


def synthetic(scenes: int) -> dict[str, Any]:
    """Return the count of each configuration and the share of correct ones, for every kind of scene."""
    table: dict[str, Any] = {}
    for model, right in RIGHT.items():
        for kind, make in SCENES.items():
            by_settings = {}
            for n, ratio, noise in SETTINGS:
                counts = Counter(found(estimate(model, make(n, ratio, noise, seed), seed)) for seed in range(scenes))
                by_settings[f"{n} matches, {ratio:.0%} inliers, {noise} px"] = dict(counts)
            hits = {name: counts.get(right[kind], 0) / scenes for name, counts in by_settings.items()}
            table[f"{model}, {kind}"] = {
                "right": hits,
                "mean": float(np.mean(list(hits.values()))),
                "found": by_settings,
            }
            print(f"{model}, {kind}:", ", ".join(f"{share:.2f}" for share in hits.values()), flush=True)
    return table


def noisy(scenes: int) -> dict[str, dict[str, dict[str, int]]]:
    """Return how often each configuration was found for relative poses of noisy and dense scenes, 70 % inliers."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for kind, make in NOISY.items():
        table[kind] = {}
        for n in DENSE:
            for noise in NOISES:
                pairs = (make(n, 0.7, noise, seed) for seed in range(scenes))
                counts = Counter(found(bansac.estimate_relative_pose(p.x1, p.x2, p.K1, p.K2)) for p in pairs)
                table[kind][f"{n} matches, {noise} px"] = dict(counts)
            print(kind, n, *list(table[kind].values())[-len(NOISES) :], flush=True)
    return table


def read_pairs(folder: Path, limit: int, ratio: float = DEFAULTS["F"].max_ratio) -> Iterator[Matches]:
    """Return the pairs of a set that have enough matches below a ratio."""
    return usable_pairs(PairSet(folder), dataclasses.replace(DEFAULTS["F"], max_ratio=ratio, pairs=limit))


def is_right(model: str, result: bansac.Result, pair: Matches) -> bool:
    """Return whether a result has the true motion of a pair."""
    if model == "F":
        assert pair.K1 is not None
        assert pair.K2 is not None
        task = make_task(pair, DEFAULTS["F"], 0)
        errors = judge(result.model, task, pair)
        return max(errors["rotation_error"], errors["translation_error"]) < WRONG_POSE
    R, t = result.model
    return max(rotation_error(R, pair.R), translation_error(t, pair.t)) < WRONG_POSE


def real(data: Path, pairs: int) -> dict[str, Any]:
    """Return the configurations of successful real pairs; in scenes with depth by whether the motion is right."""
    table: dict[str, Any] = {}
    for name in GENERAL_SETS:
        for model in RIGHT:
            counts: dict[str, Counter[str]] = {"right model": Counter(), "wrong model": Counter()}
            for pair in read_pairs(data / "EF" / name, pairs):
                result = estimate(model, pair)
                if result.success:
                    counts["right model" if is_right(model, result, pair) else "wrong model"][found(result)] += 1
            table[f"{model}, {name}"] = {key: dict(count) for key, count in counts.items()}
    for name, ratio in PLANAR_SETS.items():
        results = [estimate("F", pair) for pair in read_pairs(data / "H" / name, pairs, ratio)]
        table[f"F, {name}"] = {"planar": dict(Counter(found(result) for result in results if result.success))}
    for name, counts in table.items():
        print(name, counts, flush=True)
    return table


def translations(scenes: int) -> dict[str, dict[str, float]]:
    """Return the share of wrong translations of planar scenes, by settings and method."""
    table: dict[str, dict[str, float]] = {}
    for n, ratio, noise in SETTINGS:
        wrong: Counter[str] = Counter()
        for seed in range(scenes):
            pair = dataclasses.replace(planar_scene_matches(n, ratio, 1.0, noise, seed), scores=np.zeros(n))
            protocol = dataclasses.replace(DEFAULTS["E"], threshold=1.0 / float(pair.K[0, 0]))
            task = make_task(pair, protocol, seed)
            motions = {"bansac": estimate("pose", pair, seed).model}
            E = bansac.estimate_essential(pair.x1, pair.x2, pair.K, threshold=1.0, seed=seed).model
            motions["bansac, from E"] = None if E is None else recover_pose(E, task.x1, task.x2)[:2]
            for name in PEERS:
                method = METHODS[name]
                method.prepare()
                E = method.model(method.run(task))
                usable = E is not None and E.shape == (3, 3) and np.isfinite(E).all()
                motions[name] = recover_pose(E, task.x1, task.x2)[:2] if usable else None
            for name, motion in motions.items():
                t = None if motion is None else motion[1]
                wrong[name] += translation_error(t, pair.t) > WRONG_TRANSLATION
        of_settings = f"{n} matches, {ratio:.0%} inliers, {noise} px"
        table[of_settings] = {name: wrong[name] / scenes for name in ("bansac", "bansac, from E", *PEERS)}
        print(of_settings, table[of_settings], flush=True)
    return table


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scenes", type=int, default=100, help="synthetic scenes of each kind and settings")
    parser.add_argument("--pairs", type=int, default=43, help="pairs of a set, at most")
    parser.add_argument("--noisy", action="store_true", help="measure noisy and dense scenes only")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    document: dict[str, Any] = {
        **circumstances(("poselib", "cv2")),
        "scenes": arguments.scenes,
    }
    if arguments.noisy:
        document["noisy"] = noisy(arguments.scenes)
    else:
        document["wrong_translations"] = translations(arguments.scenes)
        document["synthetic"] = synthetic(arguments.scenes)
        document["real"] = real(arguments.data, arguments.pairs) if arguments.data else {}
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
