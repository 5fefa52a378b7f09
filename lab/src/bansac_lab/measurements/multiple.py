"""Measure estimates of several models: planes of AdelaideRMF, and synthetic lines, circles and planes.

AdelaideRMF (Wong, Chin, Yu and Suter, ICCV 2011): DIR has matches.h5 (N x 4) and labels.h5, both keyed by pair; label 0
marks outliers, labels from 1 on mark planes. The misclassification error is the share of matches with a wrong label,
for the best assignment of the models to the planes. Sequential RANSAC is the loop over OpenCV's findHomography that
removes inliers until fewer than 12 are left, at several thresholds. "Loop" is the same loop over bansac's single
estimator, until its result is no success. Times are the shortest of three runs.

Synthetic: 1 to 8 models with 60 points each in the square or cube [-1, 1], uniform outliers, and Gaussian noise with a
standard deviation of .001 to .005, which is unknown to the estimators. Lines are at least 0.8 long. "Exact" is the
percentage of runs with exactly the true number of models. Without a model there are 200 uniform points.
"""

import functools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.matches.array_files import Reader
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Array, Method, Task
from bansac_lab.peers.opencv import OPENCV
from bansac_lab.tables import Table, plain_table

Labels = NDArray[np.int64]

CELLS = ((0, 0), *((count, outliers) for count in (1, 2, 3, 4, 6, 8) for outliers in (0, 30, 60)))
"""Numbers of models and percentages of outliers."""

POINTS, ON_NOISE, NOISE = 60, 200, (0.001, 0.005)
FEWEST = 12
TIMES = 3

_RANSAC = {"flag": "RANSAC", "max_iterations": 5000, "confidence": 0.999}
LOOPS = (
    Method("loop over estimate_homography", {"preset": None}),
    *(Method(f"sequential RANSAC, OpenCV, {px} px", {**_RANSAC, "threshold": px}, OPENCV) for px in (1.5, 3.0, 4.5)),
)


def _on_line(rng: np.random.Generator, noise: float) -> Array:
    start, end = np.zeros((2, 2))
    while np.linalg.norm(end - start) < 0.8:
        start, end = rng.uniform(-1, 1, (2, 2))
    x, y = (end - start) / np.linalg.norm(end - start)
    points = start + rng.uniform(size=(POINTS, 1)) * (end - start)
    return np.asarray(points + rng.normal(0, noise, (POINTS, 1)) * [-y, x])


def _on_circle(rng: np.random.Generator, noise: float) -> Array:
    angle, radius = rng.uniform(0, 2 * np.pi, POINTS), rng.uniform(0.2, 0.6) + rng.normal(0, noise, POINTS)
    return np.asarray(rng.uniform(-0.7, 0.7, 2) + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def _on_plane(rng: np.random.Generator, noise: float) -> Array:
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    points = rng.uniform(-1, 1, (100 * POINTS, 3))
    points -= np.outer(points @ normal - rng.uniform(-0.5, 0.5), normal)
    points = points[np.abs(points).max(axis=1) < 1][:POINTS]
    return np.asarray(points + np.outer(rng.normal(0, noise, len(points)), normal))


MAKERS = {"line": _on_line, "circle": _on_circle, "plane": _on_plane}


def make(name: str, count: int, outliers: int, seed: int) -> Array:
    """Return points in random order."""
    rng = np.random.default_rng([seed, count, outliers])
    noise = np.exp(rng.uniform(*np.log(NOISE)))
    parts = [MAKERS[name](rng, noise) for _ in range(count)]
    number = round(POINTS * count * outliers / (100 - outliers)) if count else ON_NOISE
    parts.append(rng.uniform(-1, 1, (number, 3 if name == "plane" else 2)))
    points = np.concatenate(parts)
    return points[rng.permutation(len(points))]


def misclassified(labels: Labels, truth: Labels) -> float:
    """Return the percentage of wrong labels, for the best assignment of the labels to the true ones."""
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

    common = np.zeros((labels.max() + 2, truth.max() + 2))  # row and column 0 are the outliers
    np.add.at(common, (labels + 1, truth + 1), 1)
    models = common[1:, 1:]
    right = common[0, 0] + models[linear_sum_assignment(models, maximize=True)].sum()
    return float(100 * (1 - right / len(truth)))


def loop(method: Method, matches: Array, seed: int) -> Labels:
    """Return labels: find a plane in the matches that are left and remove its inliers, until there is none."""
    labels, left, count = np.full(len(matches), -1), np.arange(len(matches)), 0
    while True:
        found = method.estimate(Task("H", (matches[left, :2], matches[left, 2:]), seed=seed))
        if not found.success or found.inliers is None or (found.inliers.sum() < FEWEST and not method.ours):
            return labels
        labels[left[found.inliers]] = count
        left, count = left[~found.inliers], count + 1


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each pair of AdelaideRMF, and one for each cell of the synthetic data."""
    pairs: list[Unit] = []
    if setup.data is not None:
        with Reader(setup.data / "matches.h5") as matches:
            pairs = each(["pair"], matches.keys())
    return pairs + each(["points"], dict.fromkeys(setup.models), CELLS)


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a pair, or count the models found in a cell of the synthetic data."""
    part, *payload = unit.payload
    return list(_planes(setup, *payload)) if part == "pair" else [_cell(setup, *payload)]


def _planes(setup: Setup, pair: str) -> Iterator[Row]:
    """Yield one row for each method and seed."""
    with Reader(setup.data / "matches.h5") as matches, Reader(setup.data / "labels.h5") as stored:
        points, truth = matches.array(pair, (-1, 4)), stored.array(pair, (-1,)).astype(np.int64) - 1
    methods: dict[str, Callable[[int], Labels]] = {
        "estimate_multiple": lambda seed: bansac.estimate_multiple("H", points, seed=seed).labels,
        **{method.name: functools.partial(loop, method, points) for method in LOOPS if method.installed},
    }
    for name, method in methods.items():
        for seed in range(setup.seeds):
            seconds = []
            for _ in range(TIMES + 1):  # the first one may compile
                started = time.perf_counter()
                labels = method(seed)
                seconds.append(time.perf_counter() - started)
            counts = {"planes": int(truth.max()) + 1, "found": int(labels.max()) + 1, "seconds": min(seconds[1:])}
            yield {"pair": pair, "method": name, "seed": seed, "error": misclassified(labels, truth), **counts}


def _cell(setup: Setup, name: str, cell: tuple[int, int]) -> Row:
    """Return the percentage of runs with the true number of models."""
    count, outliers = cell
    seeds = range(setup.runs if count else setup.empty)
    found = [len(bansac.estimate_multiple(name, make(name, count, outliers, seed)).models) for seed in seeds]
    exact = float(100 * np.mean(np.array(found) == count))
    return {"model": name, "models": count, "outliers": outliers, "exact": exact}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the rows of the pairs, and those of the synthetic data by model."""
    pairs, cells = ([row for row in rows if column in row] for column in ("pair", "model"))
    synthetic = {name: [row for row in cells if row["model"] == name] for name in setup.models}
    return Report(records={"synthetic": synthetic} | ({"adelaide": pairs} if pairs else {}))


def planes_of_pairs(document: Document) -> Table:
    """Return the errors and times of several homographies on AdelaideRMF."""
    runs, rows = document.get("adelaide", []), []
    for method in dict.fromkeys(row["method"] for row in runs):
        own = [row for row in runs if row["method"] == method]
        by_seed = [[row["error"] for row in own if row["seed"] == seed] for seed in {row["seed"] for row in own}]
        spread = statistics.stdev(map(statistics.mean, by_seed)) if len(by_seed) > 1 else 0.0
        mean, seconds = (statistics.mean(row[column] for row in own) for column in ("error", "seconds"))
        errors = f"{mean:.1f} ± {spread:.1f} %", f"{statistics.median(row['error'] for row in own):.1f} %"
        right = 100 * statistics.mean(row["found"] == row["planes"] for row in own)
        rows.append([method, *errors, f"{right:.0f} %", f"{1e3 * seconds:.0f} ms"])
    return plain_table(["method", "mean error", "median error", "right number", "time a pair"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Several models in one data set",
    options=(
        Option("data", Path, None, "Folder of AdelaideRMF. Default: only synthetic data.", metavar="DIR"),
        Option("runs", int, 20, "Runs of each cell of the synthetic data.", least=1),
        Option("empty", int, 300, "Runs without a model.", least=1),
        Option("seeds", int, 5, "Seeds of every pair.", least=1),
        Option("models", tuple[str, ...], tuple(MAKERS), "Only these synthetic models.", choices=tuple(MAKERS)),
    ),
    tables={"planes-of-pairs": planes_of_pairs},
    packages=("cv2", "scipy"),
)
