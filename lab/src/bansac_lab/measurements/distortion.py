"""Measure poses from distorted images, compared with images without distortion and with PoseLib.

*Real pairs*: the sets of ``--data`` in the format of the "RANSAC in 2020" tutorial (EF), with matches of an SNN ratio
below .85. Their points are distorted by a lens with the focal length of the pair. A lens changes no information here:
the noise is that of images without distortion.

*Synthetic pairs*: 400 matches in images of 1600 x 1200 px, 40 % of them inliers, depths from 1 to 6 times, a baseline
of .3, rotations of about 15 degrees. Points are uniform in the distorted image, with a noise of .7 px there. *Synthetic
poses*: 150 points with a noise of 2 px and 60 % outliers.

The fisheyes are equidistant; 120 and 165 degrees are their fields of view from corner to corner. The threshold of
PoseLib is 1.5 px for pairs and 6 px for poses; that of bansac is estimated.
"""

import dataclasses
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac.geometry import homogeneous, rotation_matrix
from bansac.geometry.camera import Camera
from bansac_lab.comparison import calls_of, compare
from bansac_lab.frames import to_frame
from bansac_lab.measurement import DATA, Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.measurements.folders import label
from bansac_lab.metrics import auc, pose_error, rotation_error
from bansac_lab.peers.library import Array, Estimate, Method, Task
from bansac_lab.peers.poselib import POSELIB
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.tables import Table, plain_table
from bansac_lab.task import DEFAULTS, usable_pairs

WIDTH, HEIGHT = 1600, 1200
LENSES = {
    "none": Camera("PINHOLE", (1000, 1000, 800, 600), WIDTH, HEIGHT),
    "OPENCV": Camera("OPENCV", (1000, 1000, 800, 600, -0.25, 0.08, 1e-3, -1e-3), WIDTH, HEIGHT),
    "fisheye, 120 degrees": Camera("OPENCV_FISHEYE", (955, 955, 800, 600, 0, 0, 0, 0), WIDTH, HEIGHT),
    "fisheye, 165 degrees": Camera("OPENCV_FISHEYE", (694, 694, 800, 600, 0, 0, 0, 0), WIDTH, HEIGHT),
}
REAL: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "none": ("PINHOLE", ()),
    "OPENCV": ("OPENCV", (-0.2, 0.05, 1e-3, -1e-3)),
    "fisheye": ("OPENCV_FISHEYE", (0,) * 4),
}
"""Distortions of real pairs."""

EXCLUDED = ("middlebury_dino",)  # its poses are ill-conditioned
THRESHOLDS = {"relative pose": 1.5, "pose": 6.0}
LIMITS = (10, 2)


class _Undistorted(Method):
    """Removes the distortion of the points first; the time includes it."""

    def estimate(self, task: Task, **settings: Any) -> Estimate:
        """Estimate the model of the task with cameras without distortion."""
        started = time.perf_counter()
        cameras: Any = task.cameras
        plain = tuple(Camera("PINHOLE", camera.params[:4]) for camera in cameras)
        others, images = task.points[: -len(plain)], task.points[-len(plain) :]
        straight = (new.project(old.unproject(x)) for new, old, x in zip(plain, cameras, images, strict=True))
        task = dataclasses.replace(task, points=(*others, *straight), cameras=plain)
        seconds = time.perf_counter() - started
        found = super().estimate(task, **settings)
        return found._replace(seconds=found.seconds + seconds)


METHODS = (
    Method("default", {"preset": None}, scored=True),
    _Undistorted("default, undistorted points", {"preset": None}, scored=True),
    Method("poselib", library=POSELIB),
)


class Case(NamedTuple):
    """The set of a real pair, a task of two images or of one, and the true pose."""

    group: str
    task: Task
    truth: RelativePose | AbsolutePose


def _real_sets(setup: Setup) -> list[PairSet]:
    return [one for one in find_sets(setup.data) if one.kind == "EF" and one.name not in EXCLUDED]


def real_pairs(setup: Setup, lens: str) -> Iterator[Case]:
    """Yield pairs of real images, with distorted points."""
    model, coefficients = REAL[lens]
    protocol = dataclasses.replace(DEFAULTS["E"], pairs=setup.pairs)
    pairs = ((of.name, pair) for of in _real_sets(setup) for pair in usable_pairs(of, protocol))
    for name, pair in pairs:
        truth: Any = pair
        plain = [Camera.from_matrix(K) for K in (truth.K1, truth.K2)]
        cameras = tuple(Camera(model, (*camera.params, *coefficients)) for camera in plain)
        images = zip(cameras, plain, (pair.x1, pair.x2), strict=True)
        points = tuple(camera.project(straight.unproject(x)) for camera, straight, x in images)
        task = Task("relative pose", points, cameras, pair.scores, THRESHOLDS["relative pose"])
        yield Case(name, task, RelativePose(truth.R, truth.t))


def _uniform_rays(camera: Camera, n: int, rng: np.random.Generator) -> Array:
    """Return rays of unit length to points that are uniform in an image."""
    rays = homogeneous(camera.unproject(rng.uniform([0, 0], [WIDTH, HEIGHT], (n, 2))))
    return np.asarray(rays / np.linalg.norm(rays, axis=1)[:, None])


def _in_image(camera: Camera, X: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the images of points in front of a camera, and which points have one."""
    front = X[:, 2] > 0.05
    x = np.full((len(X), 2), -1.0)
    x[front] = camera.project(X[front, :2] / X[front, 2:])
    inside = front & (x > 0).all(axis=1) & (x < [WIDTH, HEIGHT]).all(axis=1)
    x[~inside] = 0.0
    again = camera.unproject(x)
    with np.errstate(all="ignore"):
        inside &= np.abs(again - X[:, :2] / X[:, 2:]).max(axis=1) < 1e-6  # false for NaN
    return x, inside


def synthetic_pair(camera: Camera, seed: int, n: int = 400, outliers: int = 240, noise: float = 0.7) -> Case:
    """Return a synthetic pair."""
    rng = np.random.default_rng(seed)
    R, t = rotation_matrix(rng.normal(0, 0.15, 3)), rng.normal(size=3)
    t *= 0.3 / np.linalg.norm(t)
    found: list[Array] = []
    while sum(map(len, found)) < n:
        X = _uniform_rays(camera, n, rng) * np.exp(rng.uniform(0, np.log(6), (n, 1)))
        x1, first = _in_image(camera, X)
        x2, second = _in_image(camera, X @ R.T + t)
        found.append(np.column_stack([x1, x2])[first & second])
    both = np.concatenate(found)[:n] + rng.normal(0, noise, (n, 4))
    both[:outliers, 2:] = rng.uniform([0, 0], [WIDTH, HEIGHT], (outliers, 2))
    kept = both[np.isfinite(camera.unproject(both[:, :2]) + camera.unproject(both[:, 2:])).all(axis=1)]
    points, threshold = (kept[:, :2], kept[:, 2:]), THRESHOLDS["relative pose"]
    return Case("", Task("relative pose", points, (camera, camera), threshold=threshold), RelativePose(R, t))


def synthetic_pose(camera: Camera, seed: int, n: int = 150, outliers: int = 90, noise: float = 2.0) -> Case:
    """Return 3D points and their images."""
    rng = np.random.default_rng(seed)
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
    seen = _uniform_rays(camera, n, rng) * np.exp(rng.uniform(np.log(2), np.log(12), (n, 1)))
    x, inside = _in_image(camera, seen)
    x = x + rng.normal(0, noise, (n, 2))
    x[:outliers] = rng.uniform([0, 0], [WIDTH, HEIGHT], (outliers, 2))
    kept = inside & np.isfinite(camera.unproject(x)).all(axis=1)
    task = Task("pose", (((seen - t) @ R)[kept], x[kept]), (camera,), threshold=THRESHOLDS["pose"])
    return Case("", task, AbsolutePose(R, t))


MAKERS = {"synthetic pairs": synthetic_pair, "synthetic poses": synthetic_pose}


def error(case: Case, pose: tuple[Array, Array] | None) -> float:
    """Return the larger error in degrees; the centre of an absolute pose is compared at a distance of 5."""
    R, t = pose or (None, None)
    if isinstance(case.truth, RelativePose):
        return pose_error(R, t, *case.truth)
    if R is None or t is None:
        return np.inf
    shift = np.linalg.norm(R.T @ t - case.truth.R.T @ case.truth.t) / 5
    return max(rotation_error(R, case.truth.R), float(np.degrees(shift)))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return AUC@10 and AUC@2 (means over the sets) and the mean time of every method."""
    kind, lens = unit.payload
    make, rows = MAKERS.get(kind), []
    cases = real_pairs(setup, lens) if make is None else (make(LENSES[lens], seed) for seed in range(setup.runs))
    runs = (row for k, case in enumerate(cases) for row in _run(case, f"{unit.key}/{k}"))
    for method, of in to_frame(runs).groupby("method", sort=False):
        sets = [errors for _, errors in of.groupby("set")["error"]]
        figures = {f"auc_{limit}": float(np.mean([auc(errors, limit) for errors in sets])) for limit in LIMITS}
        ms = 1e3 * float(of["seconds"].mean())
        rows.append({"kind": kind, "lens": lens, "method": method, **figures, "ms_mean": ms})
    return rows


def _run(case: Case, key: str) -> list[Row]:
    judge = lambda _, found: {"set": case.group, "error": error(case, found.model)}  # noqa: E731
    return compare(calls_of(METHODS, case.task), judge, key)


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile the kernels of pairs and of poses with each lens."""
    for make, camera in itertools.product(MAKERS.values(), LENSES.values()):
        _run(make(camera, 0), "")


def table(document: Document) -> Table:
    """Return the table of the poses from distorted images: AUC@10, AUC@2 and time of every lens."""
    cases = [(kind, lens, found) for kind, lenses in document["tables"].items() for lens, found in lenses.items()]
    rows = []
    for kind, lens, found in cases:
        texts = (f"{of['auc_10']:.4f}, {of['auc_2']:.4f}; {of['ms_mean']:.0f} ms" for of in found.values())
        rows.append([kind, lens, *texts])
    return plain_table(["data", "lens", *map(label, found)], rows)


MEASUREMENT = of_module(
    __name__,
    title="Poses from distorted images",
    units=lambda setup: each(MAKERS, LENSES) + (each(["real pairs"], REAL) if setup.data is not None else []),
    report=lambda setup, rows: Report(
        records={"pairs": setup.pairs, "runs": setup.runs, "tables": nested(rows, "kind", "lens", "method")}
    ),
    options=(
        DATA,
        Option("pairs", int, 43, "Maximum number of pairs of a set."),
        Option("runs", int, 100, "Synthetic scenes of a lens.", least=1),
    ),
    tables={"distortion": table},
    sets=_real_sets,
    packages=("poselib",),
)
