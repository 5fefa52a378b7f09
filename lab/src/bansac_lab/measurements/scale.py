"""Time and accuracy of a call over the number of data: 1,000 to 1,000,000, with 10 and 60 % inliers.

Homographies (H), essential (E) and fundamental (F) matrices, absolute poses (pose) and lines of synthetic scenes, with
.5 px noise and no scores. One thread. The times of a scene are medians over the seeds, and the errors those of
``bansac_lab.scenes.errors``. Times hold within one run only. Other libraries run up to 100,000 data.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, SCENES, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.scenes import OURS, PEERS, Scene, errors, left_out, load_kernels, make_scene, run_scene
from bansac_lab.tables import Table, percent, sectioned, stored_table

PROBLEMS = ("H", "E", "F", "pose", "line")
SIZES = (1000, 2000, 10_000, 100_000, 1_000_000)
RATIOS = (0.6, 0.1)
NOISE, SEEDS = 0.5, 5
METHODS = (OURS[0], *PEERS[:2])

_MOST_OF_PEERS = 100_000


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run the methods on a scene."""
    problem, ratio, n, repeat = unit.payload
    seed = setup.seed + repeat
    scene = make_scene(problem, n, ratio, NOISE, seed)
    cell: Row = {"problem": problem, "n": n, "inlier_ratio": ratio, "seed": seed}
    methods = METHODS if n <= _MOST_OF_PEERS and problem != "line" else METHODS[:1]
    return [cell | row for row in run_scene(scene, methods, unit.key, seed, _judge)]


def _judge(scene: Scene, model: Any) -> Row:
    return {"error": next(iter(errors(scene, model).values()))}


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile all kernels, also that of the refinement on many data."""
    problems = dict.fromkeys(unit.payload[0] for unit in units)
    load_kernels((make_scene(problem, n, 0.5, NOISE, 0) for problem in problems for n in (200, 10_000)), METHODS[:1])


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the median times and errors."""
    frame = to_frame(rows)
    frame["ms"] = 1e3 * frame["seconds"]
    times = _table("Median time of a call [ms]", frame, "ms")
    return Report(
        tables={"scale": times, "scale-errors": _table("Median error of the model", frame, "error")},
        notes=left_out(METHODS),
    )


def _table(title: str, frame: Any, column: str) -> Table:
    """Return the medians of a column by problem, inlier ratio, method and number of data."""
    sections: dict[str, dict[str, list[float]]] = {}
    for (problem, ratio), cells in frame.groupby(["problem", "inlier_ratio"], sort=False):
        rows = sections[f"{problem}, {percent(ratio)} % inliers"] = {}
        for method, runs in cells.groupby("method", sort=False):
            medians = runs.groupby("n")[column].median()
            rows[str(method)] = [float(medians.get(n, np.nan)) for n in SIZES]
    return sectioned(title, "method", [f"{n:,}" for n in SIZES], sections)


MEASUREMENT = of_module(
    __name__,
    title="Time and accuracy over the number of data",
    units=lambda setup: each(
        dict.fromkeys(setup.get("problems", PROBLEMS)), RATIOS, SIZES, range(setup.repeats or SEEDS)
    ),
    options=(
        SCENES,
        Option("problems", tuple[str, ...], None, "Only these problems, joined by commas.", choices=PROBLEMS),
        FIRST_SEED,
    ),
    tables={"scale": functools.partial(stored_table, name="scale")},
    packages=tuple(peer.package for peer in PEERS[:2]),
)
