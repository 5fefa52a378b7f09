"""Measure how often a run finds the best model, against the confidence that was asked for.

    python benchmarks/confidence.py [--runs 2000] [--json FILE] [--figure FILE]

The problems are lines and homographies of 200 points or matches, half of them with an inlier ratio of .3, half of .5. A
second model has nine tenths as many inliers. If a criterion stops a run too early, the run often returns the second
model. A run has found the best model if its mask contains at least 90 % of the true inliers. The data:

- two models: the noise is a thousandth of the threshold, so that every all-inlier sample is good.
- one model: the same without the second model, at a confidence of .5 only.
- noise: two models; the noise is .3 thresholds.

The plain settings are ``preset="paper"`` (one restart, no local optimisation) with SPRT for the criterion ``"sprt"``
only, and at most 5000 iterations. Scores are normally distributed with a standard deviation of .2 about .5 for inliers
and .4 for the others, and clipped to [0, 1]; "p-bansac" is BANSAC with them. BANSAC's criterion has no confidence and
one cell. The report is written after every cell; a run with the same ``--runs`` resumes an interrupted one.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.lab.evaluation.provenance import circumstances
from bansac.synthetic import homography_matches, line_points

N, MAX_ITERATIONS = 200, 5000
RATIOS, SECOND, RECALL = (0.3, 0.5), 0.9, 0.9
CONFIDENCES = (0.5, 0.9, 0.95, 0.99, 0.999)
LITTLE, LARGE = 0.001, 0.3  # noise in thresholds
THRESHOLDS = {"line": 0.01, "homography": 1.0}

SCORED = ("prosac", "p-napsac", "baysac", "ar", "p-bansac")
SAMPLERS = ("uniform", "napsac", "prosac", "p-napsac", "baysac", "ar", "bansac", "p-bansac")
STOPS = {
    "ransac": SAMPLERS,
    "sprt": ("uniform", "bansac", "p-bansac"),
    "prosac": ("prosac", "p-napsac", "p-bansac"),
    "bansac": ("bansac", "p-bansac"),
}


def plain(sampler: str, stop: str, **settings: Any) -> dict[str, Any]:
    """Return the options of a sampler and a criterion."""
    name, verification = sampler.replace("p-bansac", "bansac"), "sprt" if stop == "sprt" else None
    options = {"preset": "paper", "sampler": name, "stopping": stop, "verification": verification}
    return {**options, "max_iterations": MAX_ITERATIONS, **settings}


Method = tuple[bool, dict[str, Any]]  # whether it has scores, and its options
METHODS: dict[str, Method] = {
    f"{sampler}, {stop}": (sampler in SCORED, plain(sampler, stop))
    for stop, samplers in STOPS.items()
    for sampler in samplers
}
METHODS |= {"default": (False, {}), "default, scores": (True, {})}
NOISY: dict[str, Method] = {
    "uniform, ransac": METHODS["uniform, ransac"],
    "uniform, ransac, local optimisation": (False, plain("uniform", "ransac", local_optimization="default")),
}


def make_data(model: str, ratio: float, noise: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return points or matches as rows, and the mask of inliers."""
    if model == "line":
        points = line_points(N, ratio, noise * THRESHOLDS[model], seed)
        return points.points, points.inliers
    matches = homography_matches(N, ratio, noise * THRESHOLDS[model], seed)
    assert matches.inliers is not None
    return np.column_stack([matches.x1, matches.x2]), matches.inliers


def make_problem(model: str, ratio: float, noise: float, second: float, seed: int) -> tuple[Any, ...]:
    """Return data, inliers and scores; the second model has ``second`` times the inliers of the first."""
    rows, inliers = make_data(model, ratio, noise, seed)
    rng = np.random.default_rng([seed, 1])
    other = rng.permutation(np.flatnonzero(~inliers))[: round(second * ratio * N)]
    rows[other] = make_data(model, 1.0, noise, seed + 10**6)[0][other]
    scores = np.clip(rng.normal(np.where(inliers, 0.5, 0.4), 0.2), 0, 1)
    return ((rows,) if model == "line" else (rows[:, :2], rows[:, 2:])), inliers, scores


@functools.cache
def problems(model: str, noise: float, second: float, runs: int) -> list[tuple[Any, ...]]:
    """Return the problems of all cells with this model and these data; the ratios alternate."""
    return [make_problem(model, RATIOS[seed % len(RATIOS)], noise, second, seed) for seed in range(runs)]


def count_found(
    model: str,
    make: Callable[[int], list[tuple[Any, ...]]],
    method: tuple[bool, dict[str, Any]],
    confidence: float,
    runs: int,
) -> dict[str, Any]:
    """Return the number of runs, of those that find the best model, by ratio, and of those without a stop."""
    estimate: Callable[..., bansac.Result] = bansac.fit_line if model == "line" else bansac.estimate_homography
    found = np.zeros(len(RATIOS), int)
    iterations = limited = 0
    for seed, (data, inliers, scores) in enumerate(make(runs)):
        options = {**method[1], "scores": scores} if method[0] else method[1]
        result = estimate(*data, threshold=THRESHOLDS[model], confidence=confidence, seed=seed, **options)
        found[seed % len(RATIOS)] += np.mean(result.inliers[inliers]) >= RECALL
        iterations += result.iterations
        limited += result.stop_reason == "max_iterations"
    return {
        "runs": runs,
        "found": int(found.sum()),
        "found_by_ratio": {str(ratio): int(count) for ratio, count in zip(RATIOS, found, strict=True)},
        "max_iterations": limited,
        "iterations_mean": iterations / runs,
        "interval": interval(int(found.sum()), runs),
    }


def cells() -> Iterator[tuple[str, str, str, float, Callable[[int], Any]]]:
    """Yield data, model, method and confidence of every cell, and its function of the number of runs."""
    groups = {
        "two models": (LITTLE, SECOND, METHODS, CONFIDENCES),
        "noise": (LARGE, SECOND, NOISY, CONFIDENCES),
        "one model": (LITTLE, 0.0, METHODS, CONFIDENCES[:1]),
    }
    for (data, (noise, second, methods, confidences)), model in itertools.product(groups.items(), THRESHOLDS):
        made = functools.partial(problems, model, noise, second)
        for name, method in methods.items():
            for confidence in confidences[-1:] if name.endswith(", bansac") else confidences:
                yield data, model, name, confidence, functools.partial(count_found, model, made, method, confidence)


def interval(found: int, runs: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z, share = 1.96, found / runs
    centre, half = share + z**2 / (2 * runs), z * np.sqrt(share * (1 - share) / runs + z**2 / (4 * runs**2))
    return float((centre - half) / (1 + z**2 / runs)), float((centre + half) / (1 + z**2 / runs))


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the share of missed models over the share that was asked for, by model and criterion."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    shown: dict[str, Any] = {}
    panels = figure.subplots(2, 4, sharex=True, sharey=True)
    for row, (model, methods) in zip(panels, found.items(), strict=True):
        for ax, stop in zip(row, (*STOPS,), strict=True):
            ax.plot([1e-3, 0.5], [1e-3, 0.5], color="#8a8a8a", linewidth=1, linestyle="--")
            extra = [name for name in methods if name.startswith("default")] if stop == "bansac" else []
            for name in [*(name for name in methods if name.endswith(f", {stop}")), *extra]:
                label = name.removesuffix(f", {stop}")
                points = [methods[name].get(str(c), methods[name]["0.999"]) for c in CONFIDENCES]
                missed = np.array([1 - point["found"] / point["runs"] for point in points])
                high, low = 1 - np.array([point["interval"] for point in points]).T
                bars = np.abs([missed - low, high - missed])
                color = f"C{SAMPLERS.index(label) if label in SAMPLERS else 8 + extra.index(name)}"
                style = {"label": label, "color": color, "marker": "o", "ms": 3, "lw": 1, "capsize": 2}
                shown[label] = ax.errorbar(1 - np.array(CONFIDENCES), np.maximum(missed, 2e-4), bars, **style)
            ax.set(xscale="log", yscale="log", ylim=(1.5e-4, 1), title=f"{model}: {stop}{', default' * bool(extra)}")
    figure.legend(shown.values(), shown.keys(), loc="outside right upper", frameon=False)
    figure.supxlabel("1 - confidence")
    figure.supylabel("share of missed models")
    figure.savefig(path, dpi=90)


def main() -> None:
    """Run all cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    earlier = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    new = {**circumstances(), "runs": arguments.runs, "processor_seconds": 0.0, "data": {}}
    document = earlier if earlier.get("runs") == arguments.runs else new
    for data, model, method, confidence, count in cells():
        found = document["data"].setdefault(data, {}).setdefault(model, {}).setdefault(method, {})
        if str(confidence) in found:
            continue
        started = time.process_time()
        found[str(confidence)] = count(arguments.runs)
        document["processor_seconds"] += round(time.process_time() - started, 2)
        print(f"{data}, {model}, {method}, {confidence}: {found[str(confidence)]}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    if arguments.figure:
        draw(document["data"]["two models"], arguments.figure)


if __name__ == "__main__":
    main()
