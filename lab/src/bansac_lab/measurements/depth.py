"""Measure relative poses with depths on synthetic pairs, beside those without and PoseLib 3.0.

Images have 640 x 480 px, points a noise of 1 px, log depths a noise of 5 % or the given one, independent or smooth in
the image. Narrow views have 100 to 400 matches, a noise of .18 to .35 px and focal lengths of 8 to 16 widths. The pose
error is the larger one of the angles of the rotation and of the translation. PoseLib has limits of 16 px for
reprojections and 2 px for the epipolar distance, and estimates no shift. Older versions use no depths.

The Motorcycle pair (Scharstein et al., GCPR 2014) is real, with a measured disparity d: the depth is f / (d + o)
baselines, where o is the distance of the principal points. Its matches are nearest neighbours without a ratio test.
"""

import functools
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bansac.matches import Matches
from bansac.matches.image_matching import match_images
from bansac.maths.arrays import Floats
from bansac.maths.optional import import_optional
from bansac.synthetic import depth_matches, planar_scene_matches, with_depths
from bansac_lab.comparison import compare
from bansac_lab.frames import to_frame
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.measurements.rival_scenes import narrow_view
from bansac_lab.metrics import auc, pose_error
from bansac_lab.peers.library import OURS, Estimate, Task
from bansac_lab.tables import Table, plain_table

_PIXELS = {"max_errors": [16.0, 2.0], "estimate_shift": False, "bundle": {"loss_type": "TRUNCATED_CAUCHY"}}
# Distance of the principal points of the Motorcycle pair, and its camera matrices.
_OFFSET = 31.086
_K1 = np.array([[994.978, 0.0, 311.193], [0.0, 994.978, 254.877], [0.0, 0.0, 1.0]])
CAMERAS = _K1, _K1 + np.outer([1.0, 0.0, 0.0], [0.0, 0.0, _OFFSET])

METHODS = ("without depths", "ours", "poselib 3.0")


class _Case(NamedTuple):
    n: int
    inliers: float
    errors: dict[str, Any]  # of the depths
    kind: str = ""


CASES = {
    "60 matches, 30 %": _Case(60, 0.3, {}),
    "200, 50 %": _Case(200, 0.5, {}),
    "200, 20 %": _Case(200, 0.2, {}),
    "200, 10 %": _Case(200, 0.1, {}),
    "1,000, 5 %": _Case(1000, 0.05, {}),
    "1,000, 3 %": _Case(1000, 0.03, {}),
    "200, 30 %, noise of 2 %": _Case(200, 0.3, {"depth_noise": 0.02}),
    "200, 30 %, noise of 20 %": _Case(200, 0.3, {"depth_noise": 0.2}),
    "200, 30 %, smooth": _Case(200, 0.3, {"smooth": True}),
    "2,000, 50 %, smooth, 20 %": _Case(2000, 0.5, {"smooth": True, "depth_noise": 0.2}),
    "200, 30 %, 10 %, shift of 1": _Case(200, 0.3, {"depth_noise": 0.1, "shift": 1.0}),
    "200, 30 %, 10 %, shift of 4": _Case(200, 0.3, {"depth_noise": 0.1, "shift": 4.0}),
    "200, 50 %, plane": _Case(200, 0.5, {}, "plane"),
    "narrow view, smooth": _Case(0, 0.8, {"smooth": True}, "narrow"),
    "narrow view, smooth, 15 %": _Case(0, 0.8, {"smooth": True, "depth_noise": 0.15}, "narrow"),
    "300, 30 %, 10 % of the depths": _Case(300, 0.3, {}, "few"),
    "200, 20 %, permuted": _Case(200, 0.2, {}, "permuted"),
    "200, 20 %, constant": _Case(200, 0.2, {}, "constant"),
    "Motorcycle, 300, image 1": _Case(300, 0.37, {}, "Motorcycle, image 1"),
    "Motorcycle, 300": _Case(300, 0.37, {}, "Motorcycle"),
    "Motorcycle, 60": _Case(60, 0.37, {}, "Motorcycle"),
}


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return AUC, the share of small errors, success and the time of each method for a case."""
    (name,) = unit.payload
    runs = to_frame(row for seed in range(setup.runs) for row in _run(CASES[name], seed))
    rows = []
    for method, group in runs.groupby("method"):
        small, ms = float((group["error"] < 10.0).mean()), 1e3 * float(group["seconds"].mean())
        wrong = int((group["claimed"] & (group["error"] > 10.0)).sum())
        rows.append(
            {"case": name, "method": method, "auc5": round(auc(group["error"], 5.0), 3), "within10": round(small, 3)}
            | {"ms_mean": round(ms, 1), "claimed": int(group["claimed"].sum()), "wrong_claimed": wrong}
        )
    return rows


def load_motorcycle() -> tuple[Any, Any, Floats]:
    """Return both photographs of the Motorcycle pair and its disparity, NaN where it is unknown; downloaded once."""
    data = import_optional("skimage.data", "the Motorcycle pair comes with scikit-image", "scikit-image pooch")
    left, right, disparity = data.stereo_motorcycle()
    return left, right, np.where(np.isfinite(disparity), disparity, np.nan).astype(np.float64)


def depths_at(x: Floats, disparity: Floats) -> Floats:
    """Return the depths of pixels in baselines, NaN where the disparity is not finite."""
    column, row = np.round(x).astype(int).T
    values = disparity[row, column]
    return np.where(np.isfinite(values), _K1[0, 0] / (values + _OFFSET), np.nan)


@functools.cache
def _motorcycle() -> Matches:
    """Return the one-way nearest neighbours of the Motorcycle pair, with depths in baselines and the motion."""
    left, right, measured = load_motorcycle()
    matches = match_images(left, right, ratio=1.0, mutual=False)
    row, column = np.nonzero(np.isfinite(measured))
    disparity = measured[row, column]
    seen = np.round(column - disparity).astype(int)
    shown = seen >= 0
    other = np.full_like(measured, -np.inf)  # seen from camera 2, the nearest of the points on a ray
    np.maximum.at(other, (row[shown], seen[shown]), disparity[shown])
    depth1, depth2 = depths_at(matches.x1, measured), depths_at(matches.x2, other)
    (K1, K2), t = CAMERAS, np.array([-1.0, 0.0, 0.0])
    return replace(matches, K1=K1, K2=K2, R=np.eye(3), t=t, depth1=depth1, depth2=depth2)


def _scene(case: _Case, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    scene: Any
    if case.kind.startswith("Motorcycle"):
        matches = _motorcycle()
        scene = matches.select(np.isin(np.arange(len(matches)), rng.choice(len(matches), case.n, replace=False)))
        return scene if case.kind == "Motorcycle" else replace(scene, depth2=None)
    if case.kind == "plane":
        return with_depths(planar_scene_matches(case.n, case.inliers, 1.0, 1.0, seed), seed=seed, **case.errors)
    if case.kind == "narrow":
        return with_depths(narrow_view(seed).truth, seed=seed, **case.errors)
    scene = depth_matches(case.n, case.inliers, 1.0, seed, **case.errors)
    if case.kind == "permuted":
        return replace(scene, depth1=rng.permutation(scene.depth1), depth2=rng.permutation(scene.depth2))
    if case.kind == "constant":
        return replace(scene, depth1=np.ones(case.n), depth2=np.ones(case.n))
    if case.kind == "few":
        unknown = rng.random(case.n) > 0.1
        return replace(
            scene, **{name: np.where(unknown, np.nan, getattr(scene, name)) for name in ("depth1", "depth2")}
        )
    return scene


def _run(case: _Case, seed: int) -> list[Row]:
    scene = _scene(case, seed)
    depths = {"depth1": scene.depth1, "depth2": scene.depth2}
    task = Task("relative pose", (scene.x1, scene.x2), (scene.K1, scene.K2))
    known: dict[str, dict[str, Any]] = {"without depths": {"seed": seed}, "ours": {"seed": seed, **depths}}
    calls = {name: functools.partial(OURS.estimate, task, settings) for name, settings in known.items()}
    if (peer := _find_poselib()) is not None and scene.depth2 is not None:
        calls["poselib 3.0"] = functools.partial(_poselib, peer, scene)

    def judge(_: str, found: Estimate) -> Row:
        R, t = found.model or (None, None)
        return {"error": pose_error(R, t, scene.R, scene.t), "claimed": found.success}

    return compare(calls, judge, str(seed))


def _find_poselib() -> Any:
    """Return PoseLib's estimator of poses with depths; None if it has none."""
    try:
        import poselib
    except ImportError:
        return None
    return getattr(poselib, "estimate_monodepth_relative_pose", None)


def _poselib(peer: Any, scene: Any) -> Estimate:
    scene = scene.select(np.isfinite(scene.depth1) & np.isfinite(scene.depth2))
    height, width = scene.size
    size = {"model": "PINHOLE", "width": width, "height": height}
    cameras = [size | {"params": [K[0, 0], K[1, 1], K[0, 2], K[1, 2]]} for K in (scene.K1, scene.K2)]
    start = time.perf_counter()
    geometry, _ = peer(scene.x1, scene.x2, scene.depth1, scene.depth2, *cameras, _PIXELS)
    return Estimate((geometry.pose.R, geometry.pose.t), None, time.perf_counter() - start)


def table(document: Document) -> Table:
    """Return AUC@5, the share of errors below 10 degrees and the mean time of each method by the case."""
    rows = []
    for case, cells in document["poses"].items():
        shown = (cells.get(method) for method in METHODS)
        texts = ("-" if c is None else f"{c['auc5']:.2f}, {c['within10']:.2f}, {c['ms_mean']:.0f}" for c in shown)
        rows.append([case, *texts])
    return plain_table(["matches, inliers", *METHODS], rows)


MEASUREMENT = of_module(
    __name__,
    title="Relative poses with depths",
    units=lambda setup: each(CASES),
    report=lambda setup, rows: Report(records={"runs": setup.runs, "poses": nested(rows, "case", "method")}),
    options=(Option("runs", int, 100, "Pairs of every case.", least=1),),
    tables={"depth": table},
)
