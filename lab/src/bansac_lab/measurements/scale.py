"""Time and accuracy of a call over the number of data: 1,000 to 1,000,000, with 60, 10 and 1 % inliers.

Homographies (H), essential (E) and fundamental (F) matrices and absolute poses (pose) of synthetic scenes with .5 px
noise, and rigid motions and planes of points in a cube with a side of 10 and noise of .02. There are no scores. Cells
have at least 100 inliers; those of 1,000,000 data have 60 %. The times are processor times of one thread with the
conversion of the input, medians over the seeds. They hold within one run only. PoseLib and OpenCV run up to 100,000
data, there with 60 % only, and Open3D runs planes.
The errors are those of ``bansac_lab.scenes.errors``; of a rigid motion, the distance of true inliers after the motion.
"""

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from bansac.geometry import rotation_matrix
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, SCENES, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Library, Method, Task
from bansac_lab.scenes import OURS, PEERS, Scene, errors, left_out, load_kernels, make_scene, task_of
from bansac_lab.tables import Table, percent, sectioned, stored_table

PROBLEMS = ("H", "E", "F", "pose", "rigid 3d", "plane")
SIZES = (1000, 2000, 10_000, 100_000, 1_000_000)
RATIOS = (0.6, 0.1, 0.01)
NOISE, SEEDS, SIDE, SPATIAL_NOISE = 0.5, 3, 10.0, 0.02

_MANY, _FEWEST_INLIERS = 100_000, 100


class Open3D(Library):
    """``open3d``: planes, with 1,000 samples."""

    package = "open3d"

    def _call(self, task: Task) -> Callable[[], Any]:
        import open3d

        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(task.x1))
        return lambda: (np.asarray(cloud.segment_plane(3 * SPATIAL_NOISE, 3, 1000)[0]), None)


METHODS = (OURS[0], *PEERS[:2], Method("open3d", library=Open3D(), problems=("plane",)))


def spatial_scene(problem: str, n: int, ratio: float, seed: int) -> Scene:
    """Return points of a cube near a plane, or moved by a rigid motion, and uniform outliers."""
    rng, inliers = np.random.default_rng(seed), np.arange(n) < round(ratio * n)
    points, noise = rng.uniform(0, SIDE, (n, 3)), rng.normal(0, SPATIAL_NOISE, (n, 3))
    if problem == "plane":
        normal = np.array([2.0, 3, 9]) / np.linalg.norm([2.0, 3, 9])
        points[inliers] += ((0.6 * SIDE - points @ normal + noise[:, 0])[:, None] * normal)[inliers]
        return Scene(problem, (points,), inliers, np.append(normal, -0.6 * SIDE))
    R, t = rotation_matrix(np.array([0.3, -0.2, 0.5])), np.array([1.0, 2.0, -1.0])
    moved = np.where(inliers[:, None], points @ R.T + t + noise, rng.uniform(0, SIDE, (n, 3)))
    return Scene(problem, (points, moved), inliers, SimpleNamespace(R=R, t=t, size1=None, size2=None))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run the methods on a scene."""
    problem, ratio, n, repeat = unit.payload
    seed = setup.seed + repeat
    spatial = problem in ("rigid 3d", "plane")
    scene = spatial_scene(problem, n, ratio, seed) if spatial else make_scene(problem, n, ratio, NOISE, seed)
    task, rows = task_of(scene, seed), list[Row]()
    for method in METHODS:
        if not (method.installed and _runs(method, problem, n, ratio)):
            continue
        started = time.process_time()
        estimate = method.estimate(replace(task, threshold=None) if method.package == "open3d" else task)
        seconds = time.process_time() - started
        cell: Row = {"problem": problem, "n": n, "inlier_ratio": ratio, "seed": seed, "method": method.name}
        rows.append(cell | {"success": estimate.success, "error": _error(scene, estimate.model), "seconds": seconds})
    return rows


def _runs(method: Method, problem: str, n: int, ratio: float) -> bool:
    """Return whether a method runs on a scene, see the docstring of the module."""
    if method.ours:
        return True
    if method.package == "open3d":
        return problem == "plane"
    return problem not in ("plane", "rigid 3d") and (n < _MANY or (n == _MANY and ratio == RATIOS[0]))


def _error(scene: Scene, model: Any) -> float:
    """Return the error of a model in the unit of the points, degrees or per cent; inf without one."""
    if scene.problem != "rigid 3d":
        return next(iter(errors(scene, model).values()))
    if model is None:
        return np.inf
    points = scene.data[0][scene.inliers]
    moved = points @ model[:, :3].T + model[:, 3]
    return float(np.sqrt(np.mean(np.sum((moved - points @ scene.truth.R.T - scene.truth.t) ** 2, axis=1))))


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile all kernels, also that of the refinement on many data."""
    for problem in dict.fromkeys(unit.payload[0] for unit in units):
        make = spatial_scene if problem in ("rigid 3d", "plane") else functools.partial(make_scene, noise=NOISE)
        load_kernels((make(problem, n, 0.5, seed=0) for n in (200, 10_000)), METHODS[:1])


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the median times, those over the time of 2,000 data, and the median errors."""
    frame = to_frame(rows)
    frame["ms"] = 1e3 * frame["seconds"]
    times = _table("Median processor time of a call [ms]", frame, "ms")
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


def page_table(document: Mapping[str, Any]) -> Table:
    """Return the median times of all methods with 60 % inliers, and of the default with fewer."""
    table = stored_table(document, "scale")
    shown = (f"{percent(RATIOS[0])} % inliers", ", default")
    return replace(table, rows=tuple(row for row in table.rows if any(part in row.label for part in shown)))


def _units(setup: Setup) -> list[Unit]:
    """Return the units with enough inliers; 1,000,000 data have 60 % only, because fewer take seconds to minutes."""
    units = each(dict.fromkeys(setup.get("problems", PROBLEMS)), RATIOS, SIZES, range(setup.repeats or SEEDS))
    return [
        unit for unit in units if (unit.payload[1] * unit.payload[2] >= _FEWEST_INLIERS)
        and (unit.payload[2] <= _MANY or unit.payload[1] == RATIOS[0])
    ]  # fmt: skip


MEASUREMENT = of_module(
    __name__,
    title="Time and accuracy over the number of data",
    units=_units,
    options=(
        SCENES,
        Option("problems", tuple[str, ...], None, "Only these problems, joined by commas.", choices=PROBLEMS),
        FIRST_SEED,
    ),
    tables={"scale": page_table},
    packages=tuple(method.package for method in METHODS[1:]),
)
