"""Measure how often a run finds the best model, against the confidence that was asked for.

The problems are lines and homographies of 200 points or matches, half of them with an inlier ratio of .3, half of .5. A
second model has nine tenths as many inliers. If a criterion stops a run too early, the run often returns the second
model. A run has found the best model if its mask contains at least 90 % of the true inliers. The data:

- two models: the noise is a thousandth of the threshold, so that every all-inlier sample is good.
- one model: the same without the second model, at a confidence of .5 only.

The plain settings are ``preset="paper"`` (one restart, no local optimisation) with SPRT for the criterion ``"sprt"``
only, and at most 5000 iterations. Scores are normally distributed with a standard deviation of .2 about .5 for inliers
and .4 for the others, and clipped to [0, 1]; "p-bansac" is BANSAC with them. BANSAC's criterion has no confidence and
one cell.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.synthetic import homography_matches, line_points
from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.frames import Figure
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.peers.library import Method, Task
from bansac_lab.reports import share

N, MAX_ITERATIONS = 200, 5000
RATIOS, SECOND, RECALL = (0.3, 0.5), 0.9, 0.9
CONFIDENCES = (0.5, 0.9, 0.95, 0.99, 0.999)
NOISE = 0.001  # in thresholds
THRESHOLDS = {"line": 0.01, "homography": 1.0}

SCORED = ("prosac", "p-napsac", "baysac", "ar", "p-bansac")
SAMPLERS = ("uniform", "napsac", "prosac", "p-napsac", "baysac", "ar", "bansac", "p-bansac")
STOPS = {
    "ransac": SAMPLERS,
    "sprt": ("uniform", "bansac", "p-bansac"),
    "prosac": ("prosac", "p-napsac", "p-bansac"),
    "bansac": ("bansac", "p-bansac"),
}


def _plain(sampler: str, stop: str) -> Method:
    name, verification = sampler.replace("p-bansac", "bansac"), "sprt" if stop == "sprt" else None
    settings = {"sampler": name, "stopping": stop, "verification": verification, "max_iterations": MAX_ITERATIONS}
    return Method(f"{sampler}, {stop}", settings, scored=sampler in SCORED)


_DEFAULT = Method("default", {"preset": None}, own_limits=False)
METHODS = (
    *(_plain(sampler, stop) for stop, samplers in STOPS.items() for sampler in samplers),
    *(_DEFAULT, _DEFAULT.configured("default, scores", {}, scored=True)),
)


def make_data(model: str, ratio: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return points or matches as rows, and the mask of inliers."""
    if model == "line":
        points = line_points(N, ratio, NOISE * THRESHOLDS[model], seed)
        return points.points, points.inliers
    matches: Any = homography_matches(N, ratio, NOISE * THRESHOLDS[model], seed)
    return np.column_stack([matches.x1, matches.x2]), matches.inliers


@functools.cache
def problems(model: str, second: float, runs: int) -> list[tuple[Any, ...]]:
    """Return data, inliers and scores of all runs; the second model has ``second`` times the inliers of the first."""
    found = []
    for seed in range(runs):
        ratio = RATIOS[seed % len(RATIOS)]
        rows, inliers = make_data(model, ratio, seed)
        rng = np.random.default_rng([seed, 1])
        other = rng.permutation(np.flatnonzero(~inliers))[: round(second * ratio * N)]
        rows[other] = make_data(model, 1.0, seed + 10**6)[0][other]
        scores = np.clip(rng.normal(np.where(inliers, 0.5, 0.4), 0.2), 0, 1)
        found.append(((rows,) if model == "line" else (rows[:, :2], rows[:, 2:]), inliers, scores))
    return found


DATA = {"two models": (SECOND, CONFIDENCES), "one model": (0.0, CONFIDENCES[:1])}
"""Size of the second model, and confidences."""


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each cell: data, model, method and confidence."""
    found = []
    for data, (_, confidences) in DATA.items():
        for model, name in itertools.product(THRESHOLDS, (method.name for method in METHODS)):
            found += each([data], [model], [name], confidences[-1:] if name.endswith(", bansac") else confidences)
    return found


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Count the runs that find the best model."""
    data, model, name, confidence = unit.payload
    method, runs, found = next(method for method in METHODS if method.name == name), setup.runs, 0
    for seed, (points, inliers, scores) in enumerate(problems(model, DATA[data][0], runs)):
        estimate = method.estimate(Task(model, points, (), scores, THRESHOLDS[model], confidence, seed=seed))
        found += int(np.mean(estimate.result.inliers[inliers]) >= RECALL)
    cell = {"data": data, "model": model, "method": name, "confidence": confidence}
    return [{**cell, "runs": runs, "found": found, "interval": interval(found, runs)}]


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the cells by data, model, method and confidence, and the figure."""
    data = nested(rows, "data", "model", "method", "confidence")
    figures = {"confidence": draw(data["two models"])} if "two models" in data else {}
    return Report(records={"runs": setup.runs, "data": data}, figures=figures)


def interval(found: int, runs: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z, share = 1.96, found / runs
    centre, half = share + z**2 / (2 * runs), z * np.sqrt(share * (1 - share) / runs + z**2 / (4 * runs**2))
    return float((centre - half) / (1 + z**2 / runs)), float((centre + half) / (1 + z**2 / runs))


def draw(found: Mapping[str, Any]) -> Figure:
    """Draw the share of missed models over the share that was asked for, by model and criterion."""
    charts: list[list[Chart]] = []
    for model, methods in found.items():
        charts.append([])
        for stop in STOPS:
            defaults = [name for name in methods if name.startswith("default")] if stop == "bansac" else []
            series = [Series("as asked for", [1e-3, 0.5], [1e-3, 0.5])]
            for name in (*(name for name in methods if name.endswith(f", {stop}")), *defaults):
                points = [methods[name].get(str(c), methods[name]["0.999"]) for c in CONFIDENCES]
                missed = np.array([1 - point["found"] / point["runs"] for point in points])
                high, low = 1 - np.array([point["interval"] for point in points]).T
                bars, asked = np.abs([missed - low, high - missed]), 1 - np.array(CONFIDENCES)
                series.append(Series(name.removesuffix(f", {stop}"), asked, np.maximum(missed, 2e-4), bars))
            title = f"{model}: {stop}{', default' * bool(defaults)}"
            charts[-1].append(Chart(series, title, "1 - confidence", "share of missed models", "log", "log"))
    return plot_charts(charts)


def lowest_of_one_model(document: Document) -> str:
    """Return the smallest share of runs that find a single model at a confidence of .5."""
    cells = [cell for model in document["data"]["one model"].values() for by in model.values() for cell in by.values()]
    return share(min(cell["found"] / cell["runs"] for cell in cells))


MEASUREMENT = of_module(
    __name__,
    title="How often a run finds the best model",
    options=(Option("runs", int, 2000, "Problems of every cell.", least=1),),
    figures={"confidence-one-model": lowest_of_one_model},
)
