"""Run the protocol of posebench (PoseLib/posebench on GitHub, 2026-02-19) on its files, beside other libraries.

Relative pose and homography: the larger of the angles of the rotation error and of the translation error in degrees,
AUC up to 5, 10 and 20 degrees. The sign of the translation counts. A matrix has several motions: F four with the true
cameras, H up to four. The one with the least sum of both angles counts.

Absolute pose: distance of the camera centres in the unit of the scene, AUC up to .1, 1 and 5; medians of this distance
and of the rotation error in degrees.

A failure counts 180 degrees and an infinite distance. Times are means and medians of one call on one thread.

All points of an instance are used, without scores. Each set has a threshold. All sets have the same weight in a mean.

The methods have posebench's settings: 100 to 1000 iterations, success probability .9999, the threshold of the set.
PoseLib and COLMAP are called as posebench calls them. It has no other libraries. This package has two methods: one with
the same settings, and one with its default threshold and limits. OpenCV's USAC_MAGSAC has no minimum of iterations. It
gets points without lens distortion for poses. The parts of posebench on unknown focal lengths and on depth maps are
left out.
"""

import contextlib
import dataclasses
import functools
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bansac.geometry import decompose_essential, decompose_homography
from bansac_lab.frames import DataFrame, to_frame
from bansac_lab.measurement import DATA, EXCLUDE, SETS, Option, Report, Row, Setup, Unit, choose_sets, of_module
from bansac_lab.metrics import FAILED_POSE, auc, rotation_error
from bansac_lab.peers.library import Array, Method, Task
from bansac_lab.peers.opencv import OPENCV
from bansac_lab.peers.poselib import POSELIB
from bansac_lab.peers.pycolmap import PYCOLMAP
from bansac_lab.scenes import left_out
from bansac_lab.sets.posebench import Instance, PosebenchFile, find_posebench_files
from bansac_lab.tables import Better, Table, sectioned

THRESHOLDS: Mapping[str, float] = {
    **dict.fromkeys((f"scannet1500_{name}" for name in ("sift", "spsg")), 1.5),
    **dict.fromkeys((f"scannet1500_{name}" for name in ("roma", "dkm", "aspanformer")), 2.5),
    "imc": 0.75,
    "eth3d_130_dusmanu": 12.0,
    **dict.fromkeys(("7scenes_heads", "7scenes_stairs"), 5.0),
}
"""posebench's thresholds of sets in pixels, "imc" for all of IMC; the others have those of ``OTHER_THRESHOLDS``."""

OTHER_THRESHOLDS = {"relative": 1.0, "absolute": 6.0, "homography": 1.0}

LIMITS = {"relative": (5.0, 10.0, 20.0), "absolute": (0.1, 1.0, 5.0), "homography": (5.0, 10.0, 20.0)}
"""Limits of the AUC."""

MODELS: Mapping[str, tuple[str, ...]] = {"relative": ("E", "F"), "absolute": ("PnP",), "homography": ("H",)}
"""Models of every problem: relative pose (E), fundamental matrix (F), absolute pose (PnP), homography (H)."""

_EARLIEST = {"min_iterations": 100}

OURS = (
    Method("bansac", {"preset": None, **_EARLIEST}, own_limits=False),
    Method("bansac, its own settings", {"preset": None}),
)
PEERS = (
    Method("poselib", _EARLIEST, POSELIB),
    Method("COLMAP", _EARLIEST, PYCOLMAP),
    Method("OpenCV", {"flag": "USAC_MAGSAC"}, OPENCV),
)

_PROBLEMS = {"E": "relative pose", "PnP": "pose"}
_TITLES = {"relative": "relative poses", "absolute": "absolute poses", "homography": "homographies"}


def task_of(model: str, instance: Instance, threshold: float, seed: int) -> Task:
    """Return the task of a model; a relative pose and an absolute pose have cameras."""
    points = instance.points[::-1] if model == "PnP" else instance.points
    cameras = instance.cameras if model in _PROBLEMS else ()
    return Task(_PROBLEMS.get(model, model), points, cameras, None, threshold, 0.9999, 1000, seed)


def sets(setup: Setup) -> list[PosebenchFile]:
    """Return the files that the setup selects."""
    return choose_sets(find_posebench_files(setup.data), setup.sets, setup.exclude)


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each instance, or for every ``subsample``-th one as posebench counts them."""
    step = setup.get("subsample", 1)
    instances = ((file, key) for file in sets(setup) for key in file.keys()[::step])
    return [Unit(f"{file.problem}/{file.name}/{key}", (str(file.files()[0]), key)) for file, key in instances]


def _methods() -> list[Method]:
    return [method for method in (*OURS, *PEERS) if method.installed]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on an instance, in an order that depends on the unit."""
    path, key = unit.payload
    file, order, methods = _open(path), random.Random(unit.key), _methods()
    instance = file.read(key)
    rows: list[Row] = []
    for model, task in _tasks(file, instance, setup.seed):
        estimates = {method.name: method.estimate(task) for method in order.sample(methods, len(methods))}
        for name in (method.name for method in methods):
            found = {"problem": file.problem, "set": file.name, "instance": key, "method": f"{model} ({name})"}
            rows.append(found | judge(model, estimates[name].model, instance) | {"seconds": estimates[name].seconds})
    return rows


def _tasks(file: PosebenchFile, instance: Instance, seed: int) -> Iterator[tuple[str, Task]]:
    name = "imc" if file.name.startswith("imc_") else file.name
    threshold = THRESHOLDS.get(name, OTHER_THRESHOLDS[file.problem])
    for model in MODELS[file.problem]:
        yield model, task_of(model, instance, threshold, seed)


_open = functools.lru_cache(maxsize=1)(PosebenchFile)


def judge(model: str, answer: Any, instance: Instance) -> Row:
    """Return the errors of a model: ``rotation`` in degrees, and ``translation`` in degrees or ``centre`` (PnP)."""
    if model == "PnP":
        if answer is None:
            return {"rotation": FAILED_POSE, "centre": math.inf}
        R, t = answer
        centre = float(np.linalg.norm(instance.R.T @ instance.t - R.T @ t))
        return {"rotation": rotation_error(R, instance.R), "centre": centre}
    motions = [answer] if isinstance(answer, tuple) else _motions(model, answer, instance)
    errors = [(rotation_error(R, instance.R), _angle(t, instance.t)) for R, t in motions]
    rotation, translation = min(errors, key=sum, default=(FAILED_POSE, FAILED_POSE))
    return {"rotation": rotation, "translation": translation}


def _motions(model: str, matrix: Array | None, instance: Instance) -> list[tuple[Array, Array]]:
    """Return the motions that agree with a matrix in pixels; none if it is missing or not finite."""
    if matrix is None or matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        return []
    K1, K2 = (camera.K for camera in instance.cameras)
    if model == "F":
        R1, R2, t = decompose_essential(K2.T @ matrix @ K1)
        return [(R, sign * t) for R in (R1, R2) for sign in (1, -1)]
    H = np.linalg.inv(K2) @ matrix @ K1
    try:
        return [(R, t) for R, t, _ in decompose_homography(H * np.sign(np.linalg.det(H)))]
    except ValueError:  # a matrix of rank 2 has no motions
        return []


def _angle(t: Array, true: Array) -> float:
    """Return the angle between two directions in degrees; 180 if one is zero or not finite."""
    if not np.isfinite(t).all() or not t.any():
        return FAILED_POSE
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(t, true)), t @ true)))


def metrics(problem: str, runs: DataFrame) -> dict[str, float]:
    """Return posebench's metrics of the runs of one method on one set."""
    absolute = problem == "absolute"
    errors = runs["centre"] if absolute else np.maximum(runs["rotation"], runs["translation"])
    found = {f"AUC {limit:g}": auc(errors, limit) for limit in LIMITS[problem]}
    if absolute:
        found |= {"median rotation [°]": float(runs["rotation"].median()), "median position": float(errors.median())}
    seconds = runs["seconds"]
    return found | {"mean [ms]": float(1e3 * seconds.mean()), "median [ms]": float(1e3 * seconds.median())}


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the metrics of every set and their means over the sets; one table for each problem."""
    tables, records = {}, []
    for problem, of_problem in to_frame(rows).groupby("problem", sort=False):
        sections: dict[str, dict[str, dict[str, float]]] = {}
        for name, of_set in of_problem.groupby("set", sort=False):
            count = of_set["instance"].nunique()
            figures = {str(method): metrics(problem, runs) for method, runs in of_set.groupby("method", sort=False)}
            sections[f"{name} ({count} instances)"] = figures
            for method, values in figures.items():
                records.append({"problem": problem, "set": name, "instances": count, "method": method} | values)
        tables[problem] = _table(problem, sections)
    return Report(tables=tables, records={"metrics": records}, notes=left_out(PEERS))


def _table(problem: str, sets: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    sections = {title: {method: list(of.values()) for method, of in figures.items()} for title, figures in sets.items()}
    if len(sets) > 1:
        of_sets = list(sections.values())
        means = {method: np.mean([figures[method] for figures in of_sets], axis=0).tolist() for method in of_sets[0]}
        sections[f"mean over {len(sets)} sets"] = means
    columns = next(iter(next(iter(sets.values())).values()))
    better: list[Better | None] = ["higher" if column.startswith("AUC") else "lower" for column in columns]
    return sectioned(f"posebench: {_TITLES[problem]}", "method", columns, sections, tuple(better))


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels by runs on the first instance of each set, with right and with wrong matches."""
    for path, key in {unit.payload[0]: unit.payload for unit in reversed(units)}.values():
        with contextlib.suppress(OSError, ValueError):  # the unit itself will report the error
            for _, task in _tasks(_open(path), _open(path).read(key), setup.seed):
                for method in _methods():
                    method.estimate(task)
                    method.estimate(task.mismatched())


MEASUREMENT = of_module(
    __name__,
    title="Protocol of posebench",
    options=(
        dataclasses.replace(DATA, help="The folder with posebench's relative, absolute and homography.", argument=True),
        SETS,
        EXCLUDE,
        Option("subsample", int, None, "Run every N-th instance of a set. Default: 1.", least=1),
        Option("seed", int, 0, "Seed of every call."),
    ),
    packages=tuple(method.package for method in PEERS),
)
