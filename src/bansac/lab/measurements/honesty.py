"""Check the ``success`` flag: no success on noise, success for correct models, identical bits in every process.

The parts are:

- repetition: number of different results of the same call in separate processes.
- false success: number of runs with ``success=True`` on data without a model, by problem, number of points, threshold
  and kind of data. Each run has its own seed.
- samplers: the same by sampler.
- families without a model: the same on the families of awkward scenes (``bansac.synthetic.FAMILIES``).
- power: number of runs with a correct model, and number of these with ``success=True``.
- families: the same on the families of awkward scenes, and number of runs with the expected configuration.
- photographs: number of successes on all ordered pairs of photographs of different scenes in scikit-image.
- real: number of correct models without success, on the sets of DIR with ground truth.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.lab.known_scenes import DEGREE, FUNCTIONS, known_scene
from bansac.lab.measurement import Document, Measurement, Option, Report, Setup, no_warm_up
from bansac.lab.options import DATA
from bansac.lab.peers.library import Array, Task
from bansac.lab.peers.method import Method
from bansac.lab.peers.ours import OURS
from bansac.lab.reports import lines
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.task import DEFAULTS, judge, make_task, usable_pairs
from bansac.matches.image_matching import Features, detect_features, match_features
from bansac.problems.estimators import ESTIMATORS, Kind
from bansac.synthetic import FAMILIES, awkward_scene, epipolar_matches

# Images have 1000 x 1000 px and, if needed, a focal length of 1000 px. 3D points are in a cube of this side.
SIDE = 1000.0
CAMERA = np.array([[SIDE, 0, SIDE / 2], [0, SIDE, SIDE / 2], [0, 0, 1]])
ARGUMENTS: Mapping[str, tuple[Any, ...]] = {"essential": (CAMERA,), "absolute_pose": (CAMERA,), "polynomial": (DEGREE,)}
"""Arguments after the data."""

KINDS: Mapping[str, Kind] = {"homography": "H", "fundamental": "F", "essential": "E"}
PROBLEMS = (
    *(*KINDS, "line", "circle", "polynomial", "absolute_pose"),
    *("rigid_3d", "similarity_3d", "plane", "ellipse"),
)
DIMENSIONS = {row.name: tuple(map(len, row.data.values())) for row in ESTIMATORS if row.name in PROBLEMS}
"""Dimensions of the points of a match, or of a point."""

THRESHOLDS = {"default": None, "3 px": 3.0, "10 px": 10.0}
ESTIMATED = ("homography", "fundamental", "absolute_pose")  # the other problems have 1 for "default"

# Runs on noise use all samples, so large data have fewer. More samples matter little, because the test accounts
# for a far larger number of models.
ITERATIONS = {20: 500, 200: 500, 1000: 300, 10000: 100}

_LOCAL = {"local_optimization": "inner+iterative"}
# All samplers and local optimisations, and another score.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"sampler": "uniform"},
    "prosac": {"sampler": "prosac", "scores": True},
    "napsac": {"sampler": "napsac"},
    "p-napsac": {"sampler": "p-napsac", "scores": True},
    "baysac": {"sampler": "baysac"},
    "ar": {"sampler": "ar"},
    "p-bansac": {"scores": True},
    "bansac-lo": _LOCAL,
    "napsac-lo": {"sampler": "napsac", **_LOCAL},
    "msac-lo": {"scoring": "msac", **_LOCAL},
}

Cell = tuple[str, tuple[Any, ...]]  # name, and arguments of the function that counts


def _uniform(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return points spread evenly over the square or the cube."""
    return rng.uniform(0, SIDE, (n, dimension))


def _clustered(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return points of 3 to 8 normal distributions with standard deviations of 5 to 60."""
    clusters = int(rng.integers(3, 9))
    which = rng.integers(0, clusters, n)
    centres, widths = _uniform(rng, clusters, dimension), rng.uniform(5, 60, clusters)
    return np.asarray(centres[which] + rng.normal(size=(n, dimension)) * widths[which, None])


def _grid(rng: np.random.Generator, n: int, dimension: int) -> Array:
    """Return every second point, at random, of a square or cubic grid."""
    side = int(np.ceil((2 * n) ** (1 / dimension)))
    chosen = rng.choice(side**dimension, n, replace=False)
    return np.column_stack(np.unravel_index(chosen, (side,) * dimension, order="F")).astype(float) * (SIDE / side)


def _many_to_one(rng: np.random.Generator, n: int, dimensions: Sequence[int]) -> tuple[Array, ...]:
    """Return matches onto 1 to N / 20 points; for a curve, points that each occur about 20 times."""
    few = int(rng.integers(1, max(3, n // 20))) if len(dimensions) == 2 else max(2, n // 20)
    repeated = _uniform(rng, few, dimensions[-1])[rng.integers(0, few, n)]
    return (*(_uniform(rng, n, dimension) for dimension in dimensions[:-1]), repeated)


def _duplicates(rng: np.random.Generator, n: int, dimensions: Sequence[int]) -> tuple[Array, ...]:
    """Return uniform data in which copies of one element, or of several, replace 5 %."""
    data = _uniform(rng, n, sum(dimensions))
    replaced = rng.integers(0, n, max(n // 20, 1))
    source = rng.integers(0, n, replaced.size) if rng.random() < 0.5 else np.zeros(replaced.size, int)
    data[replaced] = data[source]
    return tuple(np.split(data, dimensions[:1], axis=1)) if len(dimensions) == 2 else (data,)


def _matched_clusters(rng: np.random.Generator, n: int, dimensions: Sequence[int]) -> tuple[Array, ...]:
    """Return matches of 5 to 9 pairs of clusters, at random within the clusters."""
    clusters = int(rng.integers(5, 10))
    which, width = rng.integers(0, clusters, n), rng.uniform(5, 40)
    return tuple(_uniform(rng, clusters, d)[which] + rng.normal(size=(n, d)) * width for d in dimensions)


def _independent(make: Callable[[np.random.Generator, int, int], Array]) -> Callable[..., tuple[Array, ...]]:
    return lambda rng, n, dimensions: tuple(make(rng, n, dimension) for dimension in dimensions)


NOISE: Mapping[str, Callable[[np.random.Generator, int, Sequence[int]], tuple[Array, ...]]] = {
    "uniform": _independent(_uniform),
    "clustered": _independent(_clustered),
    "many-to-one": _many_to_one,
    "5 % duplicates": _duplicates,
    "grid": _independent(_grid),
    "matched clusters": _matched_clusters,
}


def count_false(
    problem: str, n: int, kind: str, threshold: float | None, runs: int, options: Mapping[str, Any] | None = None
) -> int:
    """Return the number of successes of ``runs`` runs on noise."""
    settings = {"threshold": 1.0 if threshold is None and problem not in ESTIMATED else threshold, **(options or {})}
    if problem == "absolute_pose" and "local_optimization" in settings:
        settings["local_optimization"] = "lm"  # the only one for absolute poses
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = NOISE[kind](rng, n, DIMENSIONS[problem])
        if "scores" in settings:
            settings["scores"] = rng.uniform(0, 1, n)
        arguments = (*data, *ARGUMENTS.get(problem, ()))
        found += FUNCTIONS[problem](*arguments, seed=seed, max_iterations=ITERATIONS[n], **settings).success
    return found


def _noise_of(problem: str) -> list[str]:
    return [kind for kind in NOISE if kind != "matched clusters" or len(DIMENSIONS[problem]) == 2]


def _false_cells(setup: Setup) -> Iterator[Cell]:
    """Yield the cells over problem, number of data, threshold and kind of data."""
    for problem, n, (name, threshold) in itertools.product(PROBLEMS, ITERATIONS, THRESHOLDS.items()):
        for kind in _noise_of(problem):
            yield f"{problem}, N = {n}, {name}, {kind}", (problem, n, kind, threshold, setup.runs)


def _sampler_cells(setup: Setup) -> Iterator[Cell]:
    """Yield the cells over samplers, problem and kind of data, with 200 data and the default threshold."""
    for (method, options), problem in itertools.product(METHODS.items(), PROBLEMS):
        for kind in _noise_of(problem):
            yield f"{method}, {problem}, {kind}", (problem, 200, kind, None, setup.runs, options)


RIGHT = 0.85  # share of the true inliers in the mask of a right model

# Data, share of inliers, noise in px.
POWER = {
    "12 exact of 15": (15, 0.8, 0.0),
    "10 exact of 10": (10, 1.0, 0.0),
    "20 % of 500, noise .5 px": (500, 0.2, 0.5),
    "5 % of 5000, noise .5 px": (5000, 0.05, 0.5),
}
POWER_THRESHOLDS = {"fundamental": 1.0, "essential": 1.0, "absolute_pose": 4.0, "polynomial": 4.0 / SIDE}  # others: 2


def count_right(problem: str, n: int, inlier_ratio: float, noise: float, runs: int) -> Row:
    """Return the number of runs with a right model, and the number of successes of these."""
    right = success = 0
    for seed in range(runs):
        arguments, inliers, _ = known_scene(problem, n, inlier_ratio, noise, seed)
        options: dict[str, Any] = {} if problem in KINDS else {"max_iterations": 20_000}
        if problem in KINDS and n > 100:
            options["scores"] = np.where(inliers, 0.9, 0.1) + np.random.default_rng(seed).uniform(-0.1, 0.1, n)
        result = FUNCTIONS[problem](*arguments, threshold=POWER_THRESHOLDS.get(problem, 2.0), seed=seed, **options)
        if np.mean(result.inliers[inliers]) >= RIGHT:
            right += 1
            success += result.success
    return {"runs": runs, "right": right, "success": success}


def _power_cells(setup: Setup) -> Iterator[Cell]:
    """Yield the cells over problem and kind of data."""
    for problem, (name, data) in itertools.product(PROBLEMS, POWER.items()):
        yield f"{problem}, {name}", (problem, *data, _fewer(setup.runs, data[0]))


def _fewer(runs: int, n: int) -> int:
    return min(runs, 50) if n > 1000 else runs


# At an inlier ratio of 0 the other families have the data of one of these, or some structure.
WITHOUT_MODEL = (
    *("window 10", "window 30", "turned window 10", "far 65535", "far 1e6", "duplicates", "grid 1", "grid 4"),
    *("true burst", "false burst", "clusters"),
)
FAMILY_SIZES, FAMILY_RATIO = (300, 1000, 3000), 0.4


def count_family(problem: str, family: str, n: int, inlier_ratio: float, runs: int) -> Row:
    """Return the runs with a right model, with success, and with the expected configuration."""
    counts = dict.fromkeys(("right", "success", "configuration"), 0)
    for seed in range(runs):
        scene = awkward_scene(family, KINDS[problem], n, inlier_ratio, seed=seed)
        limit = {} if scene.model is not None else {"max_iterations": ITERATIONS[200]}
        result = FUNCTIONS[problem](*scene.arguments, threshold=scene.threshold, seed=seed, **limit)
        assert scene.matches.inliers is not None
        counts["right"] += bool(inlier_ratio and np.mean(result.inliers[scene.matches.inliers]) >= RIGHT)
        counts["success"] += result.success
        counts["configuration"] += result.configuration == scene.configuration
    return {"runs": runs, **counts}


def count_false_family(problem: str, family: str, n: int, runs: int) -> int:
    """Return how many of ``runs`` runs on a family without a model end with success."""
    return int(count_family(problem, family, n, 0.0, runs)["success"])


def _false_family_cells(setup: Setup) -> Iterator[Cell]:
    for problem, family, n in itertools.product(KINDS, WITHOUT_MODEL, FAMILY_SIZES):
        yield f"{problem}, N = {n}, {family}", (problem, family, n, setup.runs)


def _family_cells(setup: Setup) -> Iterator[Cell]:
    for problem, family, n in itertools.product(KINDS, FAMILIES, FAMILY_SIZES):
        if awkward_scene(family, KINDS[problem], n, FAMILY_RATIO).success:
            name = f"{problem}, N = {n}, {family}"
            yield name, (problem, family, n, FAMILY_RATIO, _fewer(setup.runs, n))


PHOTOGRAPHS = (
    *("astronaut", "brick", "camera", "cell", "chelsea", "clock", "coffee", "coins", "grass", "gravel"),
    *("hubble_deep_field", "immunohistochemistry", "microaneurysms", "moon", "page", "retina", "rocket", "text"),
)


def count_photographs(*, mutual: bool) -> Row:
    """Return the number of ordered pairs of photographs, and the number of successes of each estimator."""
    pairs = list(itertools.permutations(PHOTOGRAPHS, 2))
    counts = dict.fromkeys(KINDS, 0)
    for first, second in pairs:
        matches, _ = match_features(_features(first), _features(second), ratio=0.86, mutual=mutual)
        for problem, kind in KINDS.items():
            chosen = matches.filtered(0.8 if kind == "H" else 0.85)  # as ``bansac match`` does
            cameras = [_camera(_features(name).size) for name in (first, second)] if kind == "E" else []
            limits = {"max_iterations": 1000, **({"threshold": 1.0} if kind == "E" else {})}
            result = FUNCTIONS[problem](chosen.x1, chosen.x2, *cameras, scores=chosen.scores, **limits)
            counts[problem] += result.success
    return {"pairs": len(pairs), **counts}


@functools.cache
def _features(name: str) -> Features:
    import skimage.data

    return detect_features(getattr(skimage.data, name)())


def _camera(size: tuple[int, int]) -> Array:
    return np.array([[max(size), 0, size[1] / 2], [0, max(size), size[0] / 2], [0, 0, 1.0]])


_DEFAULT = Method("default", {"preset": None}, scored=True, own_limits=False)


def count_real(kind: Kind, folder: Path) -> Row:
    """Return the numbers of runs on at most 43 pairs, of errors below 5 degrees or 5 px, and of failures of these."""
    protocol = DEFAULTS[kind]
    if folder.name == "exact_warp":
        protocol = dataclasses.replace(protocol, max_ratio=0.95)
    counts = dict.fromkeys(("runs", "right", "right but no success"), 0)
    for pair, seed in itertools.product(usable_pairs(PairSet(folder), protocol), range(2)):
        task = make_task(pair, protocol, seed)
        result = _DEFAULT.estimate(task).result
        right = max(judge(result.model, task, pair).values()) < 5
        counts["runs"] += 1
        counts["right"] += right
        counts["right but no success"] += right and not result.success
    return counts


def _real_cells(setup: Setup) -> Iterator[Cell]:
    """Yield the sets of real matches."""
    for problem, kind in KINDS.items() if setup.data is not None else ():
        for found in find_sets(setup.data / ("H" if kind == "H" else "EF")):
            yield f"{problem}, {found.name}", (kind, found.folder)


def fingerprint(_: int = 0) -> str:
    """Return a hash of the results of the three two-view estimators."""
    scene = epipolar_matches(500, inlier_ratio=0.5, noise=0.3, seed=1)
    digest = hashlib.sha256()
    for kind, cameras in (("H", ()), ("F", ()), ("E", (scene.K,))):
        result = OURS.estimate(Task(kind, (scene.x1, scene.x2), cameras), {"seed": 0}).result
        digest.update(result.model.tobytes() + result.inliers.tobytes() + result.beliefs.tobytes())
    return digest.hexdigest()


def count_answers(processes: int) -> Row:
    """Return the number of different results of the same call in separate processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        answers = set(pool.map(fingerprint, range(processes)))
    return {"processes": processes, "different answers": len(answers)}


PARTS: Mapping[str, tuple[Callable[[Setup], Iterable[Cell]], Callable[..., Any]]] = {
    "repetition": (lambda setup: [("model, mask and probabilities", (setup.processes,))], count_answers),
    "false success": (_false_cells, count_false),
    "samplers": (_sampler_cells, count_false),
    "families without a model": (_false_family_cells, count_false_family),
    "power": (_power_cells, count_right),
    "families": (_family_cells, count_family),
    "photographs": (lambda setup: [("mutual", (True,)), ("one-way", (False,))], lambda m: count_photographs(mutual=m)),
    "real": (_real_cells, count_real),
}


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each cell."""
    return [
        Unit(f"{part}/{name}", (part, name, arguments))
        for part in dict.fromkeys(setup.only)
        for name, arguments in PARTS[part][0](setup)
    ]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Count the runs of a cell."""
    part, name, arguments = unit.payload
    return [{"part": part, "cell": name, "counts": PARTS[part][1](*arguments)}]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the counts by part and cell, and notes on every part."""
    parts: dict[str, dict[str, Any]] = {}
    for row in rows:
        parts.setdefault(row["part"], {})[row["cell"]] = row["counts"]
    notes = [f"{part}: {len(cells)} cells, {_total(cells, setup.runs)}" for part, cells in parts.items()]
    limits = {str(n): iterations for n, iterations in ITERATIONS.items()}
    return Report(records={"runs": setup.runs, "max_iterations": limits, **parts}, notes=notes)


def _total(cells: Mapping[str, Any], runs: int) -> str:
    """Return the sums of the counts; of false successes the largest share."""
    first = next(iter(cells.values()))
    if isinstance(first, dict):
        return ", ".join(f"{sum(counts[name] for counts in cells.values())} {name}" for name in first)
    worst = max(cells, key=cells.__getitem__)
    above = sum(count > 0.01 * runs for count in cells.values())
    return f"{above} above 1 %, the largest {cells[worst] / runs:.2%} ({worst})"


def table(document: Document) -> str:
    """Return the successes on scenes without a model, and those of right models on scenes with one."""
    without = document["families without a model"]
    runs = document["runs"] * len(without)
    rows = [["families without a model", str(len(without)), f"{runs:,}", "-", f"{sum(without.values()):,}"]]
    for part, title in (("families", "families with a model"), ("power", "scattered matches and points")):
        cells = document[part].values()
        totals = (sum(cell[key] for cell in cells) for key in ("runs", "right", "success"))
        rows.append([title, str(len(cells)), *(f"{total:,}" for total in totals)])
    return lines(["scenes", "cells", "runs", "right models", "success"], rows)


MEASUREMENT = Measurement(
    name="honesty",
    title="The success flag",
    help=__doc__,
    options=(
        dataclasses.replace(DATA, help="Folder with the sets EF and H."),
        Option("runs", int, 300, "Runs of a cell.", least=1),
        Option("processes", int, 20, "Processes that repeat the same call.", least=1),
        Option("only", tuple[str, ...], tuple(PARTS), "Only these parts, joined by commas.", choices=tuple(PARTS)),
    ),
    units=units,
    run_unit=run_unit,
    report=report,
    tables={"misleading-scenes": table},
    reports={"misleading-scenes": ("honesty_scenes",)},
    sets=lambda setup: find_sets(setup.data),
    warm_up=no_warm_up,
    updates=True,
    values=(known_scene, awkward_scene, judge, PairSet),
)
