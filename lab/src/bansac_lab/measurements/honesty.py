"""Check the ``success`` flag: no success on noise, success for correct models.

"false success" counts runs with ``success=True`` on data without a model, by problem, number of points, threshold and
kind of data; "samplers" does so by sampler, "families without a model" on the families of awkward scenes
(``bansac_lab.families.FAMILIES``).

"power" counts right models, and those of them with success. "families" does so on the families of awkward scenes, and
counts the expected configurations. "photographs" counts successes on all ordered pairs of photographs of different
scenes in scikit-image. "real" counts right models without success on sets with ground truth.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from bansac.engine.sampling import SAMPLERS
from bansac.matches.image_matching import Features, detect_features, match_features
from bansac.problems.estimators import ESTIMATORS, Kind
from bansac_lab.families import FAMILIES, awkward_scene
from bansac_lab.known_scenes import DEGREE, FUNCTIONS, known_scene
from bansac_lab.measurement import DATA, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Array, Method
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import DEFAULTS, judge, make_task, usable_pairs

SIDE = 1000.0  # of the images in px, of the cube of 3D points, and the focal length
CAMERA = np.array([[SIDE, 0, SIDE / 2], [0, SIDE, SIDE / 2], [0, 0, 1]])
KINDS: Mapping[str, Kind] = {"homography": "H", "fundamental": "F", "essential": "E"}

# Names of the problems in the report, with the estimators; and the arguments after the data.
PROBLEMS = {name: name for name in (*KINDS, "line", "circle", "plane", "ellipse")} | {
    "cubic": "polynomial",
    "absolute pose": "absolute_pose",
    "rigid motion": "rigid_3d",
    "similarity of space": "similarity_3d",
    **{row.load_problem().name: row.name for row in ESTIMATORS if row.scene and "points" in row.data},
}
ARGUMENTS: Mapping[str, tuple[Any, ...]] = {"essential": (CAMERA,), "absolute pose": (CAMERA,), "cubic": (DEGREE,)}

_COLUMNS = {row.name: row.data.values() for row in ESTIMATORS}
DIMENSIONS = {problem: tuple(map(len, _COLUMNS[name])) for problem, name in PROBLEMS.items()}
"""Dimensions of the points of a match, or of a point."""

THRESHOLDS = {"default": None, "3 px": 3.0, "10 px": 10.0}
ESTIMATED = ("homography", "fundamental", "absolute pose")  # the other problems have 1 for "default"

# Runs on noise use all samples, so large data have fewer. More samples matter little, because the test accounts
# for a far larger number of models.
ITERATIONS = {20: 500, 200: 500, 1000: 300, 10000: 100}
SIZES = {f"N = {n}": n for n in ITERATIONS}

# All samplers and local optimisations, and another score.
_LOCAL = {"local_optimization": "inner+iterative"}
_SCORED = {"scores": True}
METHODS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"sampler": name, **(_SCORED if of.order else {})} for name, of in SAMPLERS.items() if name != "bansac"},
    "p-bansac": _SCORED,
    "bansac-lo": _LOCAL,
    "napsac-lo": {"sampler": "napsac", **_LOCAL},
    "msac-lo": {"scoring": "msac", **_LOCAL},
}


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
    return tuple(np.split(data, dimensions[:-1], axis=1))


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


def noise_runs(
    setup: Setup, problem: str, size: str, threshold: str, kind: str, options: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """Yield whether runs on noise end with success."""
    pixels = THRESHOLDS[threshold] or (None if problem in ESTIMATED else 1.0)
    settings = {"threshold": pixels, "max_iterations": ITERATIONS[SIZES[size]], **(options or {})}
    if problem == "absolute pose" and "local_optimization" in settings:
        settings["local_optimization"] = "lm"  # the only one for absolute poses
    for seed in range(setup.runs):
        rng = np.random.default_rng(seed)
        arguments = (*NOISE[kind](rng, SIZES[size], DIMENSIONS[problem]), *ARGUMENTS.get(problem, ()))
        if "scores" in settings:
            settings["scores"] = rng.uniform(0, 1, SIZES[size])
        yield {"success": FUNCTIONS[PROBLEMS[problem]](*arguments, seed=seed, **settings).success}


RIGHT = 0.85  # share of the true inliers in the mask of a right model

# Data, share of inliers, noise in px.
POWER = {
    "12 exact of 15": (15, 0.8, 0.0),
    "10 exact of 10": (10, 1.0, 0.0),
    "20 % of 500, noise .5 px": (500, 0.2, 0.5),
    "5 % of 5000, noise .5 px": (5000, 0.05, 0.5),
}
POWER_THRESHOLDS = {"fundamental": 1.0, "essential": 1.0, "absolute pose": 4.0, "cubic": 4.0 / SIDE}  # others: 2


def known_runs(setup: Setup, problem: str, data: str) -> Iterator[Row]:
    """Yield whether runs have a right model, and whether it is a success."""
    n, inlier_ratio, noise = POWER[data]
    for seed in range(_fewer(setup.runs, n)):
        arguments, inliers, *_ = known_scene(PROBLEMS[problem], n, inlier_ratio, noise, seed)
        options: dict[str, Any] = {} if problem in KINDS else {"max_iterations": 20_000}
        if problem in KINDS and n > 100:
            options["scores"] = np.where(inliers, 0.9, 0.1) + np.random.default_rng(seed).uniform(-0.1, 0.1, n)
        threshold = POWER_THRESHOLDS.get(problem, 2.0)
        result = FUNCTIONS[PROBLEMS[problem]](*arguments, threshold=threshold, seed=seed, **options)
        right = np.mean(result.inliers[inliers]) >= RIGHT
        yield {"right": right, "success": right and result.success}


def _fewer(runs: int, n: int) -> int:
    return min(runs, 50) if n > 1000 else runs


# At an inlier ratio of 0 the other families have the data of one of these, or some structure.
WITHOUT_MODEL = (
    *("window 10", "window 30", "turned window 10", "far 65535", "far 1e6", "duplicates", "grid 1", "grid 4"),
    *("true burst", "false burst", "clusters"),
)
FAMILY_SIZES, FAMILY_RATIO = {f"N = {n}": n for n in (300, 1000, 3000)}, 0.4


def family_runs(
    setup: Setup, problem: str, size: str, family: str, *, inlier_ratio: float = FAMILY_RATIO
) -> Iterator[Row]:
    """Yield whether runs have a right model, success, and the expected configuration."""
    n = FAMILY_SIZES[size]
    for seed in range(_fewer(setup.runs, n) if inlier_ratio else setup.runs):
        scene = awkward_scene(family, KINDS[problem], n, inlier_ratio, seed=seed)
        limit = {} if scene.model is not None else {"max_iterations": ITERATIONS[200]}
        result = FUNCTIONS[problem](*scene.arguments, threshold=scene.threshold, seed=seed, **limit)
        assert scene.matches.inliers is not None
        yield {
            "right": inlier_ratio > 0 and np.mean(result.inliers[scene.matches.inliers]) >= RIGHT,
            "success": result.success,
            "configuration": result.configuration == scene.configuration,
        }


PHOTOGRAPHS = (
    *("astronaut", "brick", "camera", "cell", "chelsea", "clock", "coffee", "coins", "grass", "gravel"),
    *("hubble_deep_field", "immunohistochemistry", "microaneurysms", "moon", "page", "retina", "rocket", "text"),
)


def photograph_runs(setup: Setup, matching: str) -> Iterator[Row]:
    """Yield for all ordered pairs of photographs which estimators end with success."""
    for pair in itertools.permutations(map(_features, PHOTOGRAPHS), 2):
        matches, _ = match_features(*pair, ratio=0.86, mutual=matching == "mutual")
        sizes = ((max(of.size), of.size[1] / 2, of.size[0] / 2) for of in pair)
        cameras = [np.array([[focal, 0, x], [0, focal, y], [0, 0, 1.0]]) for focal, x, y in sizes]
        successes = {}
        for problem, kind in KINDS.items():
            chosen = matches.filtered(0.8 if kind == "H" else 0.85)
            more = (cameras, {"threshold": 1.0}) if kind == "E" else ((), {})
            limits = {"max_iterations": 1000, "scores": chosen.scores}
            successes[problem] = FUNCTIONS[problem](chosen.x1, chosen.x2, *more[0], **limits, **more[1]).success
        yield successes


@cache
def _features(name: str) -> Features:
    import skimage.data

    return detect_features(getattr(skimage.data, name)())


_DEFAULT = Method("default", {"preset": None}, scored=True, own_limits=False)
_FOLDERS = {"H": "H", "F": "EF", "E": "EF"}


def real_runs(setup: Setup, problem: str, name: str) -> Iterator[Row]:
    """Yield whether two runs on at most 43 pairs have errors below 5 degrees or 5 px, and whether they fail then."""
    kind = KINDS[problem]
    protocol = DEFAULTS[kind]
    if name == "exact_warp":
        protocol = dataclasses.replace(protocol, max_ratio=0.95)
    pairs = usable_pairs(PairSet(setup.data / _FOLDERS[kind] / name), protocol)
    for pair, seed in itertools.product(pairs, range(2)):
        task = make_task(pair, protocol, seed)
        result = _DEFAULT.estimate(task).result
        right = max(judge(result.model, task, pair).values()) < 5
        yield {"right": right, "right but no success": right and not result.success}


PARTS: Mapping[str, tuple[Callable[..., Iterator[Row]], tuple[Iterable[str], ...]]] = {
    "false success": (noise_runs, (PROBLEMS, SIZES, THRESHOLDS, NOISE)),
    "samplers": (
        lambda setup, method, *cell: noise_runs(setup, cell[0], "N = 200", "default", cell[1], METHODS[method]),
        (METHODS, PROBLEMS, NOISE),
    ),
    "families without a model": (partial(family_runs, inlier_ratio=0.0), (KINDS, FAMILY_SIZES, WITHOUT_MODEL)),
    "power": (known_runs, (PROBLEMS, POWER)),
    "families": (family_runs, (KINDS, FAMILY_SIZES, FAMILIES)),
    "photographs": (photograph_runs, (["mutual", "one-way"],)),
    "real": (real_runs, ()),  # all sets of the data
}
"""Runs of every part, and the names of its cells."""

FALSE = ("false success", "samplers", "families without a model")
"""Parts with numbers of false successes."""


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each cell that has data."""
    units = [unit for part, (_, axes) in PARTS.items() if part in setup.only and axes for unit in each([part], *axes)]
    for problem, kind in KINDS.items() if setup.data is not None and "real" in setup.only else ():
        names = sorted(path.name for path in (setup.data / _FOLDERS[kind]).iterdir())
        units += each(["real"], [problem], names)
    return [unit for unit in units if _has_data(*unit.payload)]


def _has_data(part: str, *cell: str) -> bool:
    """Return False for clusters that are not of matches, and for families whose scenes do not determine a model."""
    if part == "families":
        return bool(awkward_scene(cell[2], KINDS[cell[0]], FAMILY_SIZES[cell[1]], FAMILY_RATIO).success)
    return cell[-1] != "matched clusters" or len(DIMENSIONS[cell[part == "samplers"]]) == 2


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Count the runs of a cell by their outcomes; on data without a model only the successes."""
    part, *cell = unit.payload
    outcomes = list(PARTS[part][0](setup, *cell))
    counts = {name: sum(bool(outcome[name]) for outcome in outcomes) for name in outcomes[0]}
    found = counts["success"] if part in FALSE else {"runs": len(outcomes), **counts}
    return [{"part": part, "cell": ", ".join(cell), "counts": found}]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the counts by part and cell, and a note on every part."""
    parts: dict[str, dict[str, Any]] = {}
    for row in rows:
        parts.setdefault(row["part"], {})[row["cell"]] = row["counts"]
    notes = []
    for part, cells in parts.items():
        if part in FALSE:
            worst, above = max(cells, key=cells.__getitem__), sum(count > 0.01 * setup.runs for count in cells.values())
            text = f"{above} above 1 %, the largest {cells[worst]} of {setup.runs} runs ({worst})"
        else:
            totals = {name: sum(counts[name] for counts in cells.values()) for name in next(iter(cells.values()))}
            text = ", ".join(f"{total} {name}" for name, total in totals.items())
        notes.append(f"{part}: {len(cells)} cells, {text}")
    limits = {str(n): iterations for n, iterations in ITERATIONS.items()}
    return Report(records={"runs": setup.runs, "max_iterations": limits, **parts}, notes=notes)


def table(document: Document) -> Table:
    """Return the successes on scenes without a model, and those of right models on scenes with one."""
    without = document["families without a model"]
    runs = document["runs"] * len(without)
    rows = [["families without a model", str(len(without)), f"{runs:,}", "-", f"{sum(without.values()):,}"]]
    for part, title in (("families", "families with a model"), ("power", "scattered matches and points")):
        cells = document[part].values()
        totals = (sum(cell[key] for cell in cells) for key in ("runs", "right", "success"))
        rows.append([title, str(len(cells)), *(f"{total:,}" for total in totals)])
    return plain_table(["scenes", "cells", "runs", "right models", "success"], rows)


MEASUREMENT = of_module(
    __name__,
    title="The success flag",
    options=(
        dataclasses.replace(DATA, help="Folder with the sets EF and H."),
        Option("runs", int, 300, "Runs of a cell.", least=1),
        Option("only", tuple[str, ...], tuple(PARTS), "Only these parts, joined by commas.", choices=tuple(PARTS)),
    ),
    tables={"misleading-scenes": table},
    reports={"misleading-scenes": ("honesty_scenes",)},
    sets=lambda setup: find_sets(setup.data),
)
