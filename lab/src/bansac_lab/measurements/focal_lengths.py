"""Measure poses with unknown focal lengths beside PoseLib and pycolmap.

The pairs are those of the sets in EF below ``--data``, in the format of the "RANSAC in 2020" tutorial. Matches are
mutual nearest neighbours with an SNN ratio below .85. The focal lengths are withheld; the principal points are given.
In the mode "shared" both images have one focal length. In "one" the focal length of the first image is known. In "both"
the second image is scaled by 1.4, so that its focal length differs, and both are unknown.

All methods run in turn on every pair, twice; the shorter time counts. The pose error is the larger one of the angles of
the rotation and of the translation. The focal error is |f / f_true - 1|; its median is over all pairs, with no
estimate counted as infinite. "known" has the true focal lengths. "decomposed" is F with the focal lengths that it
implies; for a shared focal length their geometric mean. bansac estimates the threshold, as by default; "ours-1px" and
PoseLib have 1 px, PoseLib's default. PoseLib has no estimator of two focal lengths: its F is decomposed. pycolmap has
COLMAP's defaults; where it prefers F, it has no focal length, and its pose is that of guesses, 1.2 times the larger
side of an image.

The mode "absolute" measures absolute poses of synthetic scenes with a withheld focal length, 600 to 3000 px in images
of 1280 x 960 px. The scene is a cloud at depths of 4 to 12, an object at depths of 4.5 to 5.5, or a plane with a tilt
of 15 to 50 degrees, with 500 points, a noise of .7 px, and uniform outliers. A run is right if the focal length is
within 5 % and the rotation within 1 degree.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bansac.estimate.result import RelativePose
from bansac.geometry import focals_from_fundamental, normalise_points, recover_pose, rotation_matrix
from bansac.geometry.camera import Camera
from bansac_lab.comparison import calls_of, compare
from bansac_lab.frames import to_frame
from bansac_lab.measurement import DATA, SETS, Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.metrics import auc, pose_error, rotation_error
from bansac_lab.pairs import mutual_matches
from bansac_lab.peers.library import Array, Estimate, Method, Task
from bansac_lab.peers.poselib import POSELIB
from bansac_lab.peers.pycolmap import PYCOLMAP
from bansac_lab.provenance import circumstances
from bansac_lab.sets import PairSet
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.tables import Table, grid

PAIR_SETS = ("fountain-P11", "Herz-Jesus-P8", "entry-P10", "kitti_seq1")
TIMES = 2
SCALE = 1.4  # of the second image in the mode "both"
PAIR_MODES = ("shared", "one", "both")
MODES = (*PAIR_MODES, "absolute")
WIDTH, HEIGHT, POINTS, NOISE = 1280, 960, 500, 0.7
KINDS, OUTLIERS = ("cloud", "object", "plane"), (20, 50, 80)
RIGHT = 0.05, 1.0  # relative error of the focal length, degrees
UNKNOWN = Camera.unknown_focal(WIDTH, HEIGHT)

_POSE_LIMITS = {"threshold": 4.0}
_COLMAP_LIMITS = {"confidence": 0.99999, "min_iterations": 100, "max_iterations": 10_000}  # its defaults for poses
OURS = Method("ours", {"preset": None}, scored=True, label="bansac")
KNOWN = OURS.configured("known", {}, label="focal lengths known")
METHODS = (
    OURS,
    OURS.configured("ours-1px", {"threshold": 1.0}, label="bansac, 1 px"),
    Method("poselib", library=POSELIB, label="PoseLib"),
    Method("pycolmap", library=PYCOLMAP),
    Method("decomposed", {"preset": None}, scored=True, sized=True, label="F, decomposed"),
    KNOWN,
)
ABSOLUTE = (
    OURS,
    OURS.configured("ours-4px", _POSE_LIMITS, label="bansac, 4 px"),
    Method("pycolmap", {**_POSE_LIMITS, **_COLMAP_LIMITS}, PYCOLMAP),
)


def _without_focal(K: Array) -> Camera:
    """Return a camera without its focal length; the image is taken to reach twice the principal point."""
    return Camera("SIMPLE_PINHOLE", (np.nan, K[0, 2], K[1, 2]), round(2 * K[0, 2]), round(2 * K[1, 2]))


def estimate(method: Method, mode: str, task: Task) -> Estimate:
    """Return a method's pose and focal lengths for a task, which has the true cameras."""
    K1, K2 = map(np.asarray, task.cameras)
    if method.name == "known":
        return method.estimate(task)
    if method.name == "decomposed" or (method.name, mode) == ("poselib", "both"):
        found = method.estimate(dataclasses.replace(task, problem="F", cameras=()))
        return found._replace(model=_decompose(found, mode, task))
    first = K1 if mode == "one" else _without_focal(K1)
    second = first if mode == "shared" else _without_focal(K2)
    return method.estimate(dataclasses.replace(task, cameras=(first, second)))


def _decompose(found: Estimate, mode: str, task: Task) -> RelativePose | None:
    """Return the pose and the focal lengths that a fundamental matrix implies."""
    if found.model is None:
        return None
    K1, K2 = map(np.array, task.cameras)
    f1, f2 = focals_from_fundamental(found.model, K1[:2, 2], K2[:2, 2])
    if mode == "shared":
        f1 = f2 = math.sqrt(f1 * f2)
    if mode == "one":
        f1 = K1[0, 0]
    if not (math.isfinite(f1) and math.isfinite(f2)):
        return None
    for K, focal in ((K1, f1), (K2, f2)):
        K[:2, :2] = np.diag([focal, focal])
    rays = normalise_points(K1, task.x1), normalise_points(K2, task.x2)
    R, t, _ = recover_pose(K2.T @ found.model @ K1, *rays, found.inliers)
    return RelativePose(R, t, K1, K2)


def _focal_error(name: str, matrices: Iterable[Array | None], focals: Iterable[float]) -> float:
    """Return the larger relative error of the focal lengths; inf without an estimate, 0 of a method that knows them."""
    if name == "known":
        return 0.0
    found = [math.nan if K is None else K[0, 0] for K in matrices]
    error = max((abs(f / true - 1) for f, true in zip(found, focals, strict=False)), default=math.inf)
    return error if all(map(math.isfinite, found)) else math.inf


def measure_pairs(setup: Setup, mode: str, name: str) -> list[Row]:
    """Return the averages of every method over the pairs of a set."""
    pair_set = PairSet(setup.data / "EF" / name)
    keys = evenly_spaced(pair_set.keys, setup.pairs)
    runs = (row for key in keys for row in _run_pair(mutual_matches(pair_set, key), mode))
    rows: list[Row] = []
    for method, found in to_frame(runs).groupby("method", sort=False):
        focal, seconds = (float(found[column].median()) for column in ("focal", "seconds"))
        accuracy = {"auc10": round(auc(found["error"], 10.0), 4), "focal_median": round(focal, 4)}
        rows.append({"mode": mode, "set": name, "method": method, **accuracy, "ms_median": round(1e3 * seconds, 2)})
    return rows


def _run_pair(pair: Any, mode: str) -> list[Row]:
    scale = SCALE if mode == "both" else 1.0
    K1, K2 = pair.K1, np.diag([scale, scale, 1.0]) @ pair.K2
    sizes = ((round(2 * K[1, 2]), round(2 * K[0, 2])) for K in (K1, K2))
    points, limits = (pair.x1, scale * pair.x2), (1.0, None, None, 0)
    task = Task("relative pose", points, (K1, K2), pair.scores, *limits, *sizes)
    methods = [method for method in METHODS if method.installed and (mode, method.name) != ("one", "poselib")]
    unknown = slice(1, 2) if mode == "one" else slice(2)

    def judge(name: str, found: Estimate) -> Row:
        R, t = found.model or (None, None)
        matrices = () if found.model is None else (found.model.K1, found.model.K2)[unknown]
        focal = _focal_error(name, matrices, (K1[0, 0], K2[0, 0])[unknown])
        return {"error": pose_error(R, t, pair.R, pair.t), "focal": focal}

    calls = {method.name: functools.partial(estimate, method, mode, task) for method in methods}
    return compare(calls, judge, f"{mode}/{pair.key}", TIMES)


def make_view(kind: str, n: int, outliers: int, noise: float, seed: int) -> tuple[Task, Array, float]:
    """Return a view with the given percentage of outliers: points, the true rotation and the focal length."""
    rng = np.random.default_rng(seed)
    size = np.array([WIDTH, HEIGHT])
    focal = float(np.exp(rng.uniform(np.log(600), np.log(3000))))
    x = rng.uniform(0, size, (n, 2))
    rays = (x - (size - 1) / 2) / focal
    direction, tilt = rng.uniform(0, 2 * np.pi), np.tan(np.radians(rng.uniform(15, 50)))
    plane = 8 / np.maximum(1 + tilt * rays @ [np.cos(direction), np.sin(direction)], 0.1)
    depths = {"cloud": rng.uniform(4, 12, n), "object": rng.uniform(4.5, 5.5, n), "plane": plane}[kind]
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    X = (np.insert(rays, 2, 1, axis=1) * depths[:, None] - t) @ R
    x = x + rng.normal(0, noise, (n, 2))
    wrong = rng.permutation(n)[: n * outliers // 100]
    x[wrong] = rng.uniform(0, size, (len(wrong), 2))
    return Task("pose", (X, x), (UNKNOWN,)), R, focal


def measure_views(setup: Setup, kind: str, outliers: int) -> list[Row]:
    """Return the share of right runs, errors and times of absolute poses."""
    views = (make_view(kind, POINTS, outliers, NOISE, seed) for seed in range(setup.runs))
    rows, found = [], (row for k, view in enumerate(views) for row in _run_view(*view, f"{kind}/{outliers}/{k}"))
    for method, runs in to_frame(found).groupby("method", sort=False):
        right = float(((runs["focal"] <= RIGHT[0]) & (runs["angle"] <= RIGHT[1])).mean())
        focal, degrees, seconds = (float(runs[column].median()) for column in ("focal", "angle", "seconds"))
        row: Row = {"kind": kind, "outliers": outliers, "method": method, "right": right}
        row |= {"ms_median": round(1e3 * seconds, 2), "degrees_median": float(f"{degrees:.3g}")}
        rows.append(row | {"focal_median": float(f"{focal:.3g}") if math.isfinite(focal) else None})
    return rows


def _run_view(task: Task, R: Array, focal: float, key: str) -> list[Row]:
    known = dataclasses.replace(task, cameras=(UNKNOWN.with_focal(focal),))

    def judge(name: str, found: Estimate) -> Row:
        estimated, K = (None, None) if found.model is None else (found.model.R, found.model.K)
        return {"angle": rotation_error(estimated, R), "focal": _focal_error(name, (K,), (focal,))}

    return compare({**calls_of(ABSOLUTE, task), **calls_of([KNOWN], known)}, judge, key, TIMES)


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each mode and set, and for each kind of scene and share of outliers."""
    modes = [mode for mode in PAIR_MODES if mode in setup.modes]
    if modes and setup.data is None:
        raise ValueError(f"--data must be given for the modes {', '.join(modes)}")
    views = each(["views"], KINDS, OUTLIERS) if "absolute" in setup.modes else []
    return [*each(["pairs"], modes, setup.sets), *views]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the figures of all methods on a set or on scenes."""
    part, *payload = unit.payload
    return (measure_pairs if part == "pairs" else measure_views)(setup, *payload)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the figures of the modes that were measured."""
    records: dict[str, Any] = {}
    if pairs := nested(rows, "mode", "set", "method"):
        records["pairs"] = pairs
    if scenes := nested(rows, "kind", "outliers", "method"):
        records["absolute"] = {"measured": circumstances()["date"][:10], "scenes": scenes}
    return Report(records=records)


def _table(cells: Mapping[str, Mapping[str, Row]], accuracy: Callable[[Row], str], missing: str) -> Table:
    """Return the table of an accuracy, the median error of the focal length and the median time, a row a method."""

    def cell(row: Row) -> str:
        error = row["focal_median"]
        focal = "-" if error == 0 else missing if error in (None, math.inf) else f"{100 * error:.1f} %"
        return f"{accuracy(row)} / {focal} / {row['ms_median']:.0f}"

    return grid("method", cells, cell, {method.name: method.label for method in (*METHODS, *ABSOLUTE)})


def pair_table(document: Document, mode: str) -> Table:
    """Return AUC@10, the median error of the focal length and the median time on the pairs of each set."""
    return _table(document.get("pairs", {}).get(mode, {}), lambda row: f"{row['auc10']:.3f}", "none")


def view_table(document: Document) -> Table:
    """Return the share of right runs, the median error of the focal length and the median time on synthetic scenes."""
    kinds = document.get("absolute", {}).get("scenes", {})
    cells = {f"{kind}, {share} %": rows for kind, shares in kinds.items() for share, rows in shares.items()}
    return _table(cells, lambda row: f"{row['right']:.2f}", "-")


MEASUREMENT = of_module(
    __name__,
    title="Poses with unknown focal lengths",
    options=(
        dataclasses.replace(DATA, help="Folder with the sets EF; the mode absolute needs none."),
        dataclasses.replace(SETS, default=PAIR_SETS),
        Option("modes", tuple[str, ...], MODES, "Only these modes, joined by commas.", choices=MODES),
        Option("pairs", int, 40, "Maximum number of pairs of a set."),
        Option("runs", int, 20, "Scenes of a kind in the mode absolute.", least=1),
    ),
    tables={
        **{f"focal-{mode}": functools.partial(pair_table, mode=mode) for mode in PAIR_MODES},
        "focal-absolute": view_table,
    },
    sets=lambda setup: [PairSet(setup.data / "EF" / name) for name in setup.sets],
    packages=("poselib", "pycolmap"),
)
