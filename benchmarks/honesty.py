"""Check the ``success`` flag: no success on noise, success for correct models, identical bits in every process.

    python benchmarks/honesty.py [--runs 300] [--processes 20] [--data DIR] [--json FILE] [--only PART ...]

The parts are:

- false success: number of runs with ``success=True`` on data without a model, by problem, number of points, threshold
  and kind of data. Each run has its own seed.
- samplers: the same by sampler.
- families without a model: the same on the families of awkward scenes (``bansac.synthetic.FAMILIES``).
- power: number of runs with a correct model, and number of these with ``success=True``.
- families: the same on the families of awkward scenes, and number of runs with the expected configuration.
- photographs: number of successes on all ordered pairs of photographs of different scenes in scikit-image.
- real: number of correct models without success, on the sets of DIR with ground truth.
- repetition: number of different results of the same call in separate processes.

The report is written after every cell. A run with the same settings resumes an interrupted one.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import hashlib
import itertools
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.geometry import normalize_points, rotation_matrix
from bansac.lab.sets import PairSet
from bansac.lab.task import DEFAULTS, Kind, judge, make_task, usable_pairs
from bansac.matches import Matches
from bansac.synthetic import (
    FAMILIES,
    awkward_scene,
    circle_points,
    epipolar_matches,
    homography_matches,
    line_points,
    polynomial_points,
)

Array = NDArray[np.float64]
Estimator = Callable[..., bansac.Result]

SIDE = 1000.0  # of the square in which points lie
PARTS = (
    *("repetition", "false success", "samplers", "families without a model"),
    *("power", "families", "photographs", "real"),
)

# Images have 1000 x 1000 px and, if needed, a focal length of 1000 px. 3D points are in a cube of this side. Problems
# without a default threshold have 1.
ESTIMATORS: dict[str, Estimator] = {
    "homography": lambda data, **o: bansac.estimate_homography(*data, **o),
    "fundamental": lambda data, **o: bansac.estimate_fundamental(*data, **o),
    "essential": lambda data, **o: bansac.estimate_essential(*data, CAMERA, **o),
    "line": lambda data, **o: bansac.fit_line(data, **o),
    "circle": lambda data, **o: bansac.fit_circle(data, **o),
    "cubic": lambda data, **o: bansac.fit_polynomial(data, 3, **o),
    "absolute pose": lambda data, **o: bansac.estimate_absolute_pose(*data, CAMERA, **o),
    "rigid motion": lambda data, **o: bansac.estimate_rigid_3d(*data, **o),
    "similarity of space": lambda data, **o: bansac.estimate_similarity_3d(*data, **o),
    "plane": lambda data, **o: bansac.fit_plane(data, **o),
    "ellipse": lambda data, **o: bansac.fit_ellipse(data, **o),
}
# Dimensions of the points of a match, or of a point.
DIMENSIONS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("homography", "fundamental", "essential"), (2, 2)),
    **dict.fromkeys(("line", "circle", "cubic", "ellipse"), (2,)),
    **dict.fromkeys(("rigid motion", "similarity of space"), (3, 3)),
    "absolute pose": (3, 2),
    "plane": (3,),
}
CAMERA = np.array([[SIDE, 0, SIDE / 2], [0, SIDE, SIDE / 2], [0, 0, 1]])
TWO_VIEWS = ("homography", "fundamental", "essential")
KINDS: dict[str, Kind] = {"homography": "H", "fundamental": "F", "essential": "E"}
THRESHOLDS = {"default": None, "3 px": 3.0, "10 px": 10.0}
NO_DEFAULT = 1.0

# Runs on noise use all samples, so large data have fewer. More samples matter little, because the test accounts
# for a far larger number of models.
ITERATIONS = {20: 500, 200: 500, 1000: 300, 10000: 100}

# All samplers and local optimisations, and another score.
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
    "msac-lo": {"scoring": "msac", "local_optimization": "inner+iterative"},
}


# --- Data without a model ---------------------------------------------------------------------------------------------


def uniform(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return points spread evenly over the square or the cube."""
    return rng.uniform(0, SIDE, (n, dimension))


def clustered(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return points of 3 to 8 normal distributions with standard deviations of 5 to 60."""
    clusters = rng.integers(3, 9)
    which = rng.integers(0, clusters, n)
    centres, widths = uniform(rng, clusters, dimension), rng.uniform(5, 60, clusters)
    return np.asarray(centres[which] + rng.normal(size=(n, dimension)) * widths[which, None])


def grid(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return every second point, at random, of a square or cubic grid."""
    side = int(np.ceil((2 * n) ** (1 / dimension)))
    chosen = rng.choice(side**dimension, n, replace=False)
    return np.column_stack(np.unravel_index(chosen, (side,) * dimension, order="F")) * (SIDE / side)


def many_to_one(rng: np.random.Generator, n: int, dimensions: tuple[int, ...]) -> Any:
    """Return matches onto 1 to N / 20 points; for a curve, points that each occur about 20 times."""
    matches = len(dimensions) == 2
    few = int(rng.integers(1, max(3, n // 20))) if matches else max(2, n // 20)
    repeated = uniform(rng, few, dimensions[-1])[rng.integers(0, few, n)]
    return (uniform(rng, n, dimensions[0]), repeated) if matches else repeated


def duplicates(rng: np.random.Generator, n: int, dimensions: tuple[int, ...]) -> Any:
    """Return uniform data in which copies of one element, or of several, replace 5 %."""
    data = rng.uniform(0, SIDE, (n, sum(dimensions)))
    replaced = rng.integers(0, n, max(n // 20, 1))
    source = rng.integers(0, n, replaced.size) if rng.random() < 0.5 else np.zeros(replaced.size, int)
    data[replaced] = data[source]
    return (data[:, : dimensions[0]], data[:, dimensions[0] :]) if len(dimensions) == 2 else data


def matched_clusters(rng: np.random.Generator, n: int, dimensions: tuple[int, ...]) -> tuple[Array, ...]:
    """Return matches of 5 to 9 pairs of clusters, at random within the clusters."""
    clusters = rng.integers(5, 10)
    which, width = rng.integers(0, clusters, n), rng.uniform(5, 40)
    return tuple(uniform(rng, clusters, d)[which] + rng.normal(size=(n, d)) * width for d in dimensions)


def noise(rng: np.random.Generator, n: int, kind: str, dimensions: tuple[int, ...]) -> Any:
    """Return ``n`` data of a kind: an array of points, or two for matches."""
    if kind == "many-to-one":
        return many_to_one(rng, n, dimensions)
    if kind == "5 % duplicates":
        return duplicates(rng, n, dimensions)
    if kind == "matched clusters":
        return matched_clusters(rng, n, dimensions)
    points = {"uniform": uniform, "clustered": clustered, "grid": grid}[kind]
    made = tuple(points(rng, n, dimension) for dimension in dimensions)
    return made if len(made) == 2 else made[0]


NOISE = ("uniform", "clustered", "many-to-one", "5 % duplicates", "grid", "matched clusters")


def count_false(problem: str, n: int, kind: str, threshold: float | None, runs: int, **settings: Any) -> int:
    """Return the number of successes of ``runs`` runs on noise."""
    if threshold is None and problem not in (*TWO_VIEWS, "absolute pose"):
        threshold = NO_DEFAULT
    if problem == "absolute pose" and settings.get("local_optimization"):
        settings["local_optimization"] = "lm"  # the only one for absolute poses
    if threshold is None and problem == "essential":
        threshold = 1e-3 * SIDE
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = noise(rng, n, kind, DIMENSIONS[problem])
        scores = {"scores": rng.uniform(0, 1, n)} if settings.get("scores") else {}
        options = {"threshold": threshold, "max_iterations": ITERATIONS[n], **settings, **scores}
        found += ESTIMATORS[problem](data, seed=seed, **options).success
    return found


def false_success_cells(runs: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the cells over problem, number of data, threshold and kind of data."""
    for problem, n, (name, threshold), kind in itertools.product(ESTIMATORS, ITERATIONS, THRESHOLDS.items(), NOISE):
        if kind != "matched clusters" or len(DIMENSIONS[problem]) == 2:
            cell = functools.partial(count_false, problem, n, kind, threshold, runs)
            yield f"{problem}, N = {n}, {name}, {kind}", cell


def sampler_cells(runs: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the cells over samplers, problem and kind of data, with 200 data and the default threshold."""
    for (method, settings), problem, kind in itertools.product(METHODS.items(), ESTIMATORS, NOISE):
        if method != "bansac" and (kind != "matched clusters" or len(DIMENSIONS[problem]) == 2):
            cell = functools.partial(count_false, problem, 200, kind, None, runs, **settings)
            yield f"{method}, {problem}, {kind}", cell


# --- Right models -----------------------------------------------------------------------------------------------------

# Data, share of inliers, noise in px.
POWER = {
    "12 exact of 15": (15, 0.8, 0.0),
    "10 exact of 10": (10, 1.0, 0.0),
    "20 % of 500, noise .5 px": (500, 0.2, 0.5),
    "5 % of 5000, noise .5 px": (5000, 0.05, 0.5),
}


def count_right(problem: str, n: int, share: float, sigma: float, runs: int) -> dict[str, int]:
    """Return the number of runs with 85 % of the true inliers in their mask, and the number of successes of these."""
    right = succeeded = 0
    for seed in range(runs):
        result, inliers = _estimate_known(problem, n, share, sigma, seed)
        if np.mean(result.inliers[inliers]) >= 0.85:
            right += 1
            succeeded += result.success
    return {"runs": runs, "right": right, "success": succeeded}


def _estimate_known(problem: str, n: int, share: float, sigma: float, seed: int) -> tuple[bansac.Result, Any]:
    if problem in TWO_VIEWS:
        make: Any = homography_matches if problem == "homography" else epipolar_matches
        scene = make(n, share, sigma, seed, size=(int(SIDE), int(SIDE)))
        quality = np.where(scene.inliers, 0.9, 0.1) + np.random.default_rng(seed).uniform(-0.1, 0.1, n)
        options = {"scores": quality} if n > 100 else {}
        threshold = 2.0 if problem == "homography" else 1.0
        data = (scene.x1, scene.x2)
        estimate = ESTIMATORS[problem]
        if problem == "essential":
            return bansac.estimate_essential(*data, scene.K, threshold=threshold, **options), scene.inliers
        return estimate(data, threshold=threshold, seed=seed, **options), scene.inliers
    if problem in KNOWN:
        data, inliers, threshold = KNOWN[problem](n, share, sigma, np.random.default_rng(seed))
        return ESTIMATORS[problem](data, threshold=threshold, max_iterations=20_000, seed=seed), inliers
    generators: dict[str, Any] = {"line": line_points, "circle": circle_points, "cubic": polynomial_points}
    curve = generators[problem](n, inlier_ratio=share, noise=sigma * 2 / SIDE, seed=seed)
    fit = ESTIMATORS[problem]
    return fit(curve.points, threshold=4 / SIDE, max_iterations=20_000, seed=seed), curve.inliers


def _seen_points(n: int, share: float, sigma: float, rng: np.random.Generator) -> tuple[Any, Any, float]:
    """Return 3D points at depths of 4 to 12, and their images."""
    R, t, inliers = rotation_matrix(rng.normal(size=3)), rng.normal(size=3), rng.permutation(np.arange(n) < share * n)
    x = uniform(rng, n, 2)
    X = (normalize_points(CAMERA, x) @ np.eye(2, 3) + [0, 0, 1]) * rng.uniform(4, 12, (n, 1))
    x = np.where(inliers[:, None], x + rng.normal(0, sigma, (n, 2)), uniform(rng, n, 2))
    return ((X - t) @ R, x), inliers, 4.0


def _moved_points(n: int, share: float, sigma: float, rng: np.random.Generator, scale: float) -> tuple[Any, Any, float]:
    """Return 3D points before and after a motion."""
    R, t, inliers = rotation_matrix(rng.normal(size=3)), rng.normal(size=3), rng.permutation(np.arange(n) < share * n)
    x1 = uniform(rng, n, 3)
    moved = scale * x1 @ R.T + t
    x2 = np.where(inliers[:, None], moved + rng.normal(0, sigma, (n, 3)), rng.permutation(moved))
    return (x1, x2), inliers, 2.0


def _flat_points(n: int, share: float, sigma: float, rng: np.random.Generator) -> tuple[Any, Any, float]:
    """Return points of a plane."""
    inliers, points = rng.permutation(np.arange(n) < share * n), uniform(rng, n, 3)
    height = 300 + points[:, :2] @ [0.2, 0.3] + rng.normal(0, sigma, n)
    points[:, 2] = np.where(inliers, height, points[:, 2])
    return points, inliers, 2.0


def _elliptic_points(n: int, share: float, sigma: float, rng: np.random.Generator) -> tuple[Any, Any, float]:
    """Return points of an ellipse."""
    inliers, angle = rng.permutation(np.arange(n) < share * n), rng.uniform(0, 2 * np.pi, n)
    points = np.column_stack([500 + 400 * np.cos(angle), 450 + 200 * np.sin(angle)]) + rng.normal(0, sigma, (n, 2))
    return np.where(inliers[:, None], points, uniform(rng, n, 2)), inliers, 2.0


KNOWN: dict[str, Any] = {
    "absolute pose": _seen_points,
    "rigid motion": functools.partial(_moved_points, scale=1.0),
    "similarity of space": functools.partial(_moved_points, scale=2.0),
    "plane": _flat_points,
    "ellipse": _elliptic_points,
}


def power_cells(runs: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the cells over problem and kind of data."""
    for problem, (name, (n, share, sigma)) in itertools.product(ESTIMATORS, POWER.items()):
        count = min(runs, 50) if n > 1000 else runs
        yield f"{problem}, {name}", functools.partial(count_right, problem, n, share, sigma, count)


# --- Families of awkward scenes ---------------------------------------------------------------------------------------

# At an inlier ratio of 0 the other families have the data of one of these, or some structure.
WITHOUT_MODEL = (
    *("window 10", "window 30", "turned window 10", "far 65535", "far 1e6", "duplicates", "grid 1", "grid 4"),
    *("true burst", "false burst", "clusters"),
)
FAMILY_SIZES = (300, 1000, 3000)
FAMILY_RATIO = 0.4


def count_family(problem: str, family: str, n: int, ratio: float, runs: int) -> dict[str, int]:
    """Return the runs with 85 % of the true inliers, with success, and with the expected configuration."""
    estimate: Any = getattr(bansac, f"estimate_{problem}")
    counts = {"runs": 0, "right": 0, "success": 0, "configuration": 0}
    for seed in range(runs):
        scene = awkward_scene(family, KINDS[problem], n, ratio, seed=seed)  # type: ignore[arg-type]
        limit = {} if scene.model is not None else {"max_iterations": ITERATIONS[200]}
        result = estimate(*scene.arguments, threshold=scene.threshold, seed=seed, **limit)
        assert scene.matches.inliers is not None
        counts["runs"] += 1
        counts["right"] += bool(np.mean(result.inliers[scene.matches.inliers]) >= 0.85) if ratio else 0
        counts["success"] += result.success
        counts["configuration"] += result.configuration == scene.configuration
    return counts


def count_false_family(problem: str, family: str, n: int, runs: int) -> int:
    """Return how many of ``runs`` runs on a family without a model end with success."""
    return count_family(problem, family, n, 0.0, runs)["success"]


def family_cells(runs: int, *, model: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the cells over problem, family and number of matches, with a model or without."""
    for problem, family, n in itertools.product(TWO_VIEWS, FAMILIES, FAMILY_SIZES):
        name, count = f"{problem}, N = {n}, {family}", min(runs, 50) if n > 1000 else runs
        if not model and family in WITHOUT_MODEL:
            yield name, functools.partial(count_false_family, problem, family, n, runs)
        elif model and awkward_scene(family, KINDS[problem], n, FAMILY_RATIO).success:
            yield name, functools.partial(count_family, problem, family, n, FAMILY_RATIO, count)


# --- Photographs ------------------------------------------------------------------------------------------------------

PHOTOGRAPHS = (
    *("astronaut", "brick", "camera", "cell", "chelsea", "clock", "coffee", "coins", "grass", "gravel"),
    *("hubble_deep_field", "immunohistochemistry", "microaneurysms", "moon", "page", "retina", "rocket", "text"),
)


def photograph_cells() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the cells of mutual matches (the default) and of one-way matches."""
    for mutual in (True, False):
        yield "mutual" if mutual else "one-way", functools.partial(count_photographs, mutual=mutual)


def count_photographs(*, mutual: bool) -> dict[str, int]:
    """Return the number of ordered pairs of photographs, and the number of successes of each estimator."""
    counts = dict.fromkeys(TWO_VIEWS, 0)
    pairs = 0
    for first, second in itertools.permutations(PHOTOGRAPHS, 2):
        matches = _match(first, second)
        if mutual:
            back = _match(second, first)
            mates = {(*x1, *x2) for x1, x2 in zip(back.x2.tolist(), back.x1.tolist(), strict=True)}
            keep = [(*x1, *x2) in mates for x1, x2 in zip(matches.x1.tolist(), matches.x2.tolist(), strict=True)]
            matches = matches.select(np.array(keep, bool))
        pairs += 1
        for problem in TWO_VIEWS:
            chosen = matches.filtered(0.8 if problem == "homography" else 0.85)  # as ``bansac match`` does
            cameras = [_camera(chosen.size1), _camera(chosen.size2)] if problem == "essential" else []
            estimate: Any = getattr(bansac, f"estimate_{problem}")
            threshold = {"threshold": 1.0} if problem == "essential" else {}
            result = estimate(chosen.x1, chosen.x2, *cameras, scores=chosen.scores, max_iterations=1000, **threshold)
            counts[problem] += result.success
    return {"pairs": pairs, **counts}


def _camera(size: tuple[int, int] | None) -> Array:
    assert size is not None
    return np.array([[max(size), 0, size[1] / 2], [0, max(size), size[0] / 2], [0, 0, 1.0]])


@functools.cache
def _match(first: str, second: str) -> Matches:
    """Return the one-way matches of two photographs."""
    import skimage.data

    from bansac.matches.image_matching import match_images

    return match_images(getattr(skimage.data, first)(), getattr(skimage.data, second)(), ratio=0.86, mutual=False)


# --- Real data, repetition --------------------------------------------------------------------------------------------


def real_cells(data: Path | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the sets of real matches."""
    if data is None:
        return
    for problem in TWO_VIEWS:
        for folder in sorted((data / ("H" if problem == "homography" else "EF")).iterdir()):
            yield f"{problem}, {folder.name}", functools.partial(count_real, KINDS[problem], folder)


def count_real(kind: Kind, folder: Path) -> dict[str, int]:
    """Return the numbers of runs on at most 43 pairs, of errors below 5 degrees or 5 px, and of failures of these."""
    protocol = DEFAULTS[kind]
    if folder.name == "exact_warp":
        protocol = dataclasses.replace(protocol, max_ratio=0.95)
    counts = {"runs": 0, "right": 0, "right but no success": 0}
    for pair in usable_pairs(PairSet(folder), protocol):
        for seed in range(2):
            task = make_task(pair, protocol, seed)
            estimate: Any = getattr(bansac, f"estimate_{ {value: key for key, value in KINDS.items()}[kind] }")
            options = {"threshold": task.threshold, "max_iterations": task.max_iterations, "scores": task.scores}
            result = estimate(task.x1, task.x2, seed=seed, **options)
            right = max(judge(result.model, task, pair).values()) < 5
            counts["runs"] += 1
            counts["right"] += right
            counts["right but no success"] += right and not result.success
    return counts


def fingerprint() -> str:
    """Return a hash of the results of the three two-view estimators."""
    scene = epipolar_matches(500, inlier_ratio=0.5, noise=0.3, seed=1)
    digest = hashlib.sha256()
    for result in (
        bansac.estimate_homography(scene.x1, scene.x2),
        bansac.estimate_fundamental(scene.x1, scene.x2),
        bansac.estimate_essential(scene.x1, scene.x2, scene.K),
    ):
        digest.update(result.model.tobytes() + result.inliers.tobytes() + result.beliefs.tobytes())
    return digest.hexdigest()


def count_answers(processes: int) -> dict[str, int]:
    """Return the number of different results of the same call in separate processes."""
    command = [sys.executable, __file__, "--fingerprint"]
    answers = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(processes)}
    return {"processes": processes, "different answers": len(answers)}


# --- The report -------------------------------------------------------------------------------------------------------


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield part, name and function of every cell."""
    runs = arguments.runs
    parts: dict[str, Any] = {
        "repetition": [("model, mask and probabilities", functools.partial(count_answers, arguments.processes))],
        "false success": false_success_cells(runs),
        "samplers": sampler_cells(runs),
        "families without a model": family_cells(runs, model=False),
        "power": power_cells(runs),
        "families": family_cells(runs, model=True),
        "photographs": photograph_cells(),
        "real": real_cells(arguments.data),
    }
    for part in arguments.only:
        for name, function in parts[part]:
            yield part, name, function


def open_report(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the report of an interrupted run, or a new one."""
    settings = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "numba")} | {"bansac": bansac.__version__},
        "runs": arguments.runs,
        "max_iterations": {str(n): iterations for n, iterations in ITERATIONS.items()},
    }
    if arguments.json and arguments.json.exists():
        report: dict[str, Any] = json.loads(arguments.json.read_text())
        if {name: report.get(name) for name in settings} == settings:
            return report
    return {"date": datetime.date.today().isoformat(), **settings}


def worst(report: dict[str, Any]) -> str:
    """Return the largest share of false successes over the cells, and the number of cells above 1 %."""
    parts = ("false success", "samplers", "families without a model")
    counts = {name: count for part in parts for name, count in report.get(part, {}).items()}
    if not counts:
        return "no cells of noise"
    largest = max(counts, key=counts.__getitem__)
    above = sum(count > 0.01 * report["runs"] for count in counts.values())
    share = counts[largest] / report["runs"]
    return f"false success: {len(counts)} cells, {above} above 1 %, the largest {share:.2%} ({largest})"


def main() -> None:
    """Run the cells and write their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--data", type=Path, help="folder with the sets EF and H")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--fingerprint", action="store_true", help="print one answer's hash and end")
    arguments = parser.parse_args()
    if arguments.fingerprint:
        print(fingerprint())
        return
    report = open_report(arguments)
    for part, name, function in cells(arguments):
        results = report.setdefault(part, {})
        if name in results:
            continue
        started = time.perf_counter()
        results[name] = function()
        print(f"{part}: {name}: {results[name]} ({time.perf_counter() - started:.1f} s)", flush=True)
        report["seconds"] = round(report.get("seconds", 0.0) + time.perf_counter() - started, 1)
        if arguments.json:
            arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    print(worst(report))


if __name__ == "__main__":
    main()
