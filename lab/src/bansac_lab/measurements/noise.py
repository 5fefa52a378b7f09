"""Unknown noise: the default, which estimates the threshold, beside the best fixed threshold of a grid.

Noise of .25 to 4 px, 100 to 8,000 points, 40 and 60 % inliers: H, E, F, absolute poses (pose), circles (circle) and
lines (line). A cell is a problem with a level of noise, a number of points and an inlier ratio. All methods see the
same scenes, without scores. The error of a method in a cell is the median over the scenes, a failure counting as the
largest error of the problem. It is divided by the smallest median of the fixed thresholds. The time is the mean,
divided by that of the same fixed threshold.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bansac_lab.frames import DataFrame, to_frame
from bansac_lab.measurement import FIRST_SEED, SCENES, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Method
from bansac_lab.scenes import OURS, PEERS, Scene, errors, load_kernels, make_scene, run_on_scenes
from bansac_lab.tables import sectioned, stored_table

NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)
SIZES = (100, 500, 2000, 8000)
RATIOS = (0.4, 0.6)
SEEDS = 10
GRIDS: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("H", "E", "F"), (0.5, 1.0, 2.0, 4.0, 8.0)),
    **dict.fromkeys(("pose", "circle", "line"), (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
}
"""Fixed thresholds of every problem, in pixels."""
FAILED: Mapping[str, float] = {"H": 800.0, "E": 180.0, "F": 180.0, "pose": 100.0, "circle": 1500.0, "line": 1500.0}
"""Largest error of every problem: pixels, degrees or per cent, see :func:`.scenes.errors`."""

_DEFAULT = OURS[0]


def _methods(problem: str) -> list[Method]:
    return [_DEFAULT, *(_DEFAULT.changed(f"{pixels:g} px", threshold=pixels) for pixels in GRIDS[problem])]


def _judge(scene: Scene, model: Any) -> Row:
    error, *_ = errors(scene, model).values()
    return {"error": min(FAILED[scene.problem], error)}  # not NaN


run_unit = run_on_scenes(
    ("problem", "noise", "n", "inlier_ratio"),
    lambda problem, noise, n, ratio, seed: make_scene(problem, n, ratio, noise, seed),
    lambda setup, problem, *_: _methods(problem),
    _judge,
)
"""Run all thresholds on a scene."""


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels of every problem."""
    for problem in dict.fromkeys(unit.payload[0] for unit in units):
        load_kernels((make_scene(problem, 100, ratio, 1.0, 0) for ratio in (0.6, 0.0)), _methods(problem)[:2])


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the geometric mean and the worst of the ratios; cells are a record."""
    cells, figures = compare_cells(to_frame(rows)), {}
    for problem, found in [*cells.groupby("problem", sort=False), ("all", cells)]:
        ratios = [found[column].to_numpy(float) for column in ("error_ratio", "time_ratio")]
        figures[str(problem)] = [f for values in ratios for f in (float(np.exp(np.log(values).mean())), values.max())]
    title = "The threshold is not given: error and time over those of the best fixed threshold of every cell"
    columns = ("error, geometric mean", "worst", "time, geometric mean", "worst")
    tables = {"noise": sectioned(title, "problem", columns, {"": figures})}
    return Report(tables=tables, records={"cells": cells.to_dict("records")})


def compare_cells(frame: DataFrame) -> DataFrame:
    """Return the errors and times of every cell beside those of its best fixed threshold."""
    groups, ours = frame.groupby(["problem", "noise", "n", "inlier_ratio", "method"], sort=False), _DEFAULT.name
    error, seconds = groups["error"].median().unstack(sort=False), groups["seconds"].mean().unstack(sort=False)
    fixed = error.drop(columns=ours)
    cells = error[[ours]].set_axis(["error"], axis=1).assign(best_error=fixed.min(axis=1), best=fixed.idxmin(axis=1))
    cells["error_ratio"] = cells["error"] / cells["best_error"]
    cells["time_ratio"] = [seconds.at[cell, ours] / seconds.at[cell, best] for cell, best in cells["best"].items()]
    return cells.reset_index()


MEASUREMENT = of_module(
    __name__,
    title="The default threshold under unknown noise",
    units=lambda setup: each(
        dict.fromkeys(setup.get("problems", GRIDS)), NOISES, SIZES, RATIOS, range(setup.repeats or SEEDS)
    ),
    options=(
        SCENES,
        Option("problems", tuple[str, ...], None, "Only these problems, joined by commas.", choices=tuple(GRIDS)),
        FIRST_SEED,
    ),
    tables={"unknown-noise": functools.partial(stored_table, name="noise")},
    packages=tuple(peer.package for peer in PEERS),
)
