"""Few inliers and unrelated images: shares of right models and of false successes, and times.

Homographies (H), essential (E) and fundamental (F) matrices and absolute poses (pose) of synthetic scenes without
scores, with 5 to 30 % inliers, .5 px noise and 500, 2,000 and 8,000 matches. One thread. Times hold within one run
only. A right model has errors up to 3 px at the corners (H), 2 degrees (E, F), or 1 degree and 2 % of the depth (pose),
and 80 % of the true inliers are within four standard deviations of the noise. A false success is a model that is not
right but is claimed as a success. On unrelated images, which have no inliers, every success is false. Other libraries
have no such flag: each model that they return counts as a success.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bansac_lab.charts import Chart, Series, plot_charts
from bansac_lab.frames import DataFrame, Figure, to_frame
from bansac_lab.measurement import FIRST_SEED, SCENES, Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.scenes import (
    OURS,
    PEER,
    PEERS,
    Scene,
    choose,
    errors,
    is_right,
    load_kernels,
    make_scene,
    run_on_scenes,
)
from bansac_lab.tables import Better, Table, grid, percent, sectioned, stored_table

PROBLEMS = ("H", "E", "F", "pose")
TITLES = {"H": "Homography", "E": "Essential matrix", "F": "Fundamental matrix", "pose": "Absolute pose"}
SIZES = (500, 2000, 8000)
RATIOS = (0.05, 0.1, 0.15, 0.2, 0.3)
UNRELATED = 0.0
METHODS = tuple(method.name for method in (*OURS, *PEERS))
NOISE, SEEDS = 0.5, 10
_NEAR = 4 * NOISE


def _judge(scene: Scene, model: Any) -> Row:
    if not scene.inliers.any():
        return {"right": False}
    return {**errors(scene, model), "right": is_right(scene, model, _NEAR)}


run_unit = run_on_scenes(
    ("problem", "inlier_ratio", "n"),
    lambda problem, ratio, n, seed: make_scene(problem, n, ratio, NOISE, seed),
    lambda setup, *_: choose(setup.get("methods"))[0],
    _judge,
)
"""Run all methods on a scene."""


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile all kernels, also those of a search that ends early."""
    problems = dict.fromkeys(unit.payload[0] for unit in units)
    scenes = [make_scene(problem, 200, ratio, NOISE, 0) for problem in problems for ratio in (0.5, 0.2)]
    load_kernels(scenes, choose(setup.get("methods"))[0])


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the shares of right models and of false successes, and times; cells are a record."""
    frame = to_frame(rows)
    frame["false"] = frame["success"].astype(bool) & ~frame["right"].astype(bool)
    related, unrelated = frame[frame["inlier_ratio"] > 0], frame[frame["inlier_ratio"] == 0]
    tables = {"hard": _hard_table(related), "unrelated": _unrelated_table(unrelated), "stops": _stops_table(frame)}
    figures, notes = {"hard": _figure(related)}, choose(setup.get("methods"))[1]
    return Report(tables=tables, figures=figures, records={"cells": _cells(frame)}, notes=notes)


def _cells(frame: DataFrame) -> list[Row]:
    keys, shares = ["problem", "inlier_ratio", "n", "method"], ("right", "success", "false")
    groups = frame.astype(dict.fromkeys(shares, float)).groupby(keys, sort=False)
    cells = groups.agg({**dict.fromkeys(shares, "mean"), "seconds": "sum"})
    cells["seconds_median"] = groups["seconds"].median()
    return cells.reset_index().to_dict("records")  # type: ignore[no-any-return]


def _by_method(frame: DataFrame) -> Iterable[tuple[str, dict[str, DataFrame]]]:
    """Yield every problem with the rows of its methods."""
    for problem, of_problem in frame.groupby("problem", sort=False):
        yield str(problem), {str(name): rows for name, rows in of_problem.groupby("method", sort=False)}


def _hard_table(frame: DataFrame) -> Table:
    sections: dict[str, dict[str, Iterable[float]]] = {}
    for problem, methods in _by_method(frame):
        times = {name: float(runs["seconds"].sum()) for name, runs in methods.items()}
        cells = sections[TITLES[problem]] = {}
        for name, runs in methods.items():
            by_ratio = (float(runs["right"][runs["inlier_ratio"] == ratio].mean()) for ratio in RATIOS)
            shares = (float(runs["right"].mean()), *by_ratio, float(runs["false"].mean()))
            cells[name] = (*shares, times[name], times[name] / times.get(PEER.name, math.nan))
    title = "Few inliers, no scores: right models, overall and by inlier ratio, false successes, time"
    title += f" ({len(frame) // max(frame.groupby(['problem', 'method']).ngroups, 1)} scenes)"
    columns = ("right", *(f"{percent(ratio)} %" for ratio in RATIOS), "false", "time [s]", "over PoseLib")
    better: list[Better | None] = ["higher"] * (1 + len(RATIOS))
    return sectioned(title, "method", columns, sections, (*better, "lower", "lower", None))


def _unrelated_table(frame: DataFrame) -> Table:
    def cells(runs: DataFrame) -> Iterable[float | str]:
        times = (1e3 * float(runs["seconds"][runs["n"] == n].median()) for n in SIZES)
        return (*times, f"{int(runs['success'].sum())} of {len(runs)}")

    sections = {TITLES[of]: {name: cells(runs) for name, runs in methods.items()} for of, methods in _by_method(frame)}
    columns = (*(f"{n} matches [ms]" for n in SIZES), "successes")
    return sectioned("Unrelated images: median time of a pair, and successes", "method", columns, sections)


def _stops_table(frame: DataFrame) -> Table:
    """Return the shares of the stop reasons of the default."""
    own = frame[frame["method"] == "default"]
    reasons = sorted(own["stop_reason"].dropna().unique()) if "stop_reason" in own else []
    cells = {}
    for few, runs in own.groupby(own["inlier_ratio"] > 0, sort=False):
        shares = (float((runs["stop_reason"] == reason).mean()) for reason in reasons)
        cells["few inliers" if few else "unrelated images"] = (len(runs), *shares)
    title = "What ends a run of the default, as a share of the runs"
    return sectioned(title, "data", ("runs", *reasons), {"": cells})


def _figure(frame: DataFrame) -> Figure:
    """Draw the share of right models over the inlier ratio, and the share that is found within a time."""
    over_ratio, over_time = [], []
    for problem, methods in _by_method(frame):
        by_ratio = {name: runs.groupby("inlier_ratio")["right"].mean() for name, runs in methods.items()}
        series = [Series(name, 100 * means.index.to_numpy(), means.to_numpy(float)) for name, means in by_ratio.items()]
        over_ratio.append(Chart(series, TITLES[problem], "inlier ratio (%)", "share of right models"))
        series = [Series(name, *_found_within(runs)) for name, runs in methods.items()]
        over_time.append(Chart(series, "", "time of a call [ms]", "right models found by then", xscale="log"))
    return plot_charts([over_ratio, over_time])


def _found_within(runs: DataFrame) -> tuple[list[float], list[float]]:
    """Return times in milliseconds and the shares of all runs that gave a right model within them."""
    times = np.sort(1e3 * runs["seconds"][runs["right"].astype(bool)].to_numpy(float))
    shown = sorted({round(k) for k in np.linspace(0, len(times) - 1, 12)} & set(range(len(times))))
    return [float(times[k]) for k in shown], [(k + 1) / len(runs) for k in shown]


def _mean(document: Document, problem: str, method: str, few: bool) -> Row:
    """Return the means of a method with few inliers, or on unrelated images."""
    case = (problem, method, few)
    cells = [cell for cell in document["cells"] if (cell["problem"], cell["method"], cell["inlier_ratio"] > 0) == case]
    keys = ("right", "false", "success", "seconds")
    means: Row = {key: sum(cell[key] for cell in cells) / len(cells) for key in keys}
    means["seconds"] /= document["settings"]["repeats"] or SEEDS  # of a cell, whose seconds are a sum
    return means


def page_table(document: Document) -> Table:
    """Return the right models, the false successes and the mean times with few inliers by method and problem."""
    cells: dict[str, dict[str, Row]] = {}
    for problem, method in dict.fromkeys((cell["problem"], cell["method"]) for cell in document["cells"]):
        cells.setdefault(TITLES[problem], {})[method] = _mean(document, problem, method, few=True)

    def text(few: Row) -> str:
        return f"{percent(few['right'])} %; {percent(few['false'])} %; {1e3 * few['seconds']:.0f} ms"

    return grid("right; false; mean time", cells, text)


def means(document: Document, problem: str) -> dict[str, tuple[float, float]]:
    """Return the share of right models and the mean seconds of a call for each method, with few inliers."""
    methods = dict.fromkeys(cell["method"] for cell in document["cells"] if cell["problem"] == problem)
    found = {method: _mean(document, problem, method, True) for method in methods}
    return {method: (mean["right"], mean["seconds"]) for method, mean in found.items()}


def beside_others(document: Document, problem: str) -> str:
    """Return the shares of right models and the mean times of the default, uniform sampling and other libraries."""
    labels = {
        "default": "",
        "uniform": "uniform sampling in the same engine, without neighbours, ",
        "poselib": "PoseLib ",
        "opencv-magsac": "OpenCV's MAGSAC ",
    }
    found = ((label, *means(document, problem)[method]) for method, label in labels.items())
    return "; ".join(f"{label}{percent(right)} % in {seconds:.2g} s" for label, right, seconds in found)


def false_successes(document: Document, problem: str) -> str:
    """Return the share of scenes with few inliers in which the default claims a model that is not right."""
    return f"{percent(_mean(document, problem, 'default', True)['false'])} %"


def unrelated_successes(document: Document) -> str:
    """Return the number of successes of the default on unrelated images."""
    rows = document["tables"]["unrelated"]["rows"]
    found = [row["values"][-1].split(" of ") for row in rows if row.get("labels") == ["default"]]
    return f"{sum(int(count) for count, _ in found)} of {sum(int(runs) for _, runs in found)}"


_METHODS_HELP = f"Joined by commas, of: {', '.join(METHODS)}. Default: all that are installed."

MEASUREMENT = of_module(
    __name__,
    name="hard",
    title="Few inliers and unrelated images",
    units=lambda setup: each(
        dict.fromkeys(setup.get("problems", PROBLEMS)), (*RATIOS, UNRELATED), SIZES, range(setup.repeats or SEEDS)
    ),
    options=(
        SCENES,
        Option("problems", tuple[str, ...], None, "Only these problems, joined by commas.", choices=PROBLEMS),
        Option("methods", tuple[str, ...], None, _METHODS_HELP, METHODS),
        FIRST_SEED,
    ),
    tables={"few-inliers": page_table, "stops": functools.partial(stored_table, name="stops")},
    reports={"stops": ("stops",)},  # of ``--methods default``
    figures={
        "hard-F": functools.partial(beside_others, problem="F"),
        "hard-F-false": functools.partial(false_successes, problem="F"),
        "hard-unrelated": unrelated_successes,
    },
    packages=tuple(peer.package for peer in PEERS),
)
