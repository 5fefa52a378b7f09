"""Measure relative poses with unknown focal lengths on pairs with ground truth, beside PoseLib and pycolmap.

    python benchmarks/focal_lengths.py --data DIR [--sets NAME ...] [--pairs 40] [--json FILE]
    python benchmarks/focal_lengths.py --modes absolute [--runs 20] [--json FILE]

DIR has the folder EF in the format of the "RANSAC in 2020" tutorial. Matches are mutual nearest neighbours with an SNN
ratio of at most .85. The focal lengths are withheld; the principal points are given. In the mode "shared" both images
have one focal length. In "one" the focal length of the first image is known. In "both" the second image is scaled by
1.4, so that its focal length differs, and both are unknown.

All methods run in turn on every pair, twice; the shorter time counts. The pose error is the larger one of the angles of
the rotation and of the translation. The focal error is |f / f_true - 1|; its median is over all pairs, with no
estimate counted as infinite. "known" has the true focal lengths. "decomposed" is F with the focal lengths that it
implies; for a shared focal length their geometric mean. bansac estimates the threshold, as by default; "ours-1px" and
PoseLib have 1 px, PoseLib's default. PoseLib has no estimator of two focal lengths: its F is decomposed. pycolmap has
COLMAP's defaults; where it prefers F, it has no focal length, and its pose is that of guesses, 1.2 times the larger
side of an image. Solvers run on exact samples of random scenes, called from Python; a sample is solved if a model has
the focal length, to 1e-6 ("solved") or 1e-10.

The mode "absolute" measures absolute poses of synthetic scenes with a withheld focal length, 600 to 3000 px in images
of 1280 x 960 px. The scene is a cloud at depths of 4 to 12, an object at depths of 4.5 to 5.5, or a plane with a tilt
of 15 to 50 degrees, with 500 points, a noise of .7 px, and uniform outliers. A run is right if the focal length is
within 5 % and the rotation within 1 degree. PoseLib 2.0.5 has the solver, and no estimator, of this problem. Modes
that are not measured stay in the report.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import bansac
from bansac.compiled.jit import kernel
from bansac.geometry import recover_pose, rotation_matrix
from bansac.lab.metrics.averages import auc
from bansac.lab.metrics.errors import pose_error
from bansac.lab.provenance import circumstances
from bansac.solvers import p4pf, shared_focal_6pt
from bansac.solvers.shared_focal_6pt import MAX_MODELS, SCRATCH
from bansac.synthetic import epipolar_matches

SETS = ("fountain-P11", "Herz-Jesus-P8", "entry-P10", "kitti_seq1")
SNN, THRESHOLD, TIMES = 0.85, 1.0, 2
SCALE = 1.4  # of the second image in the mode "both"
MODES = ("shared", "one", "both")
WIDTH, HEIGHT, POINTS, NOISE = 1280, 960, 500, 0.7
SCENES, OUTLIERS = ("cloud", "object", "plane"), (20, 50, 80)
LIMIT = 4.0  # threshold of absolute poses, in pixels
RIGHT = 0.05, 1.0  # relative error of the focal length, degrees


class Pair(NamedTuple):
    """Matches, camera matrices and the pose of two images."""

    x1: np.ndarray
    x2: np.ndarray
    scores: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    R: np.ndarray
    t: np.ndarray


class Answer(NamedTuple):
    """A pose and two focal lengths."""

    R: np.ndarray | None
    t: np.ndarray | None
    f1: float = np.nan
    f2: float = np.nan


def load(folder: Path, most: int) -> list[Pair]:
    """Read at most that many pairs of a set, evenly spaced."""
    names = ("matches", "match_conf", "mutual", "K1_K2", "R", "T")
    files = {name: h5py.File(folder / f"{name}.h5") for name in names}
    keys = sorted(files["matches"])
    pairs = []
    for key in keys[:: max(1, -(-len(keys) // most))]:
        ratio, mutual = files["match_conf"][key][()].ravel(), files["mutual"][key][()].ravel()
        good = (ratio <= SNN) & (mutual > 0)
        matches = files["matches"][key][()][good].astype(float)
        K1, K2 = files["K1_K2"][key][()][0]
        first, second = key.split("-")
        R1, R2 = files["R"][first][()], files["R"][second][()]
        R = R2 @ R1.T
        t = files["T"][second][()].ravel() - R @ files["T"][first][()].ravel()
        pairs.append(Pair(matches[:, :2], matches[:, 2:], 1 - ratio[good], K1, K2, R, t))
    return pairs


def scaled(pair: Pair) -> Pair:
    """Return the pair with the second image scaled."""
    S = np.diag([SCALE, SCALE, 1.0])
    return pair._replace(x2=pair.x2 * SCALE, K2=S @ pair.K2)


def camera(K: np.ndarray) -> bansac.Camera:
    """Return a camera without its focal length; the image is taken to reach twice the principal point."""
    return bansac.Camera("SIMPLE_PINHOLE", (np.nan, K[0, 2], K[1, 2]), round(2 * K[0, 2]), round(2 * K[1, 2]))


def ours(threshold: float | None, mode: str, pair: Pair) -> Answer:
    """Estimate with bansac."""
    first = camera(pair.K1)
    second = {"shared": first, "one": first, "both": camera(pair.K2)}[mode]
    cameras = (pair.K1, camera(pair.K2)) if mode == "one" else (first, second)
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, *cameras, threshold=threshold, scores=pair.scores)
    pose = result.model
    return Answer(None, None) if pose is None else Answer(pose.R, pose.t, pose.K1[0, 0], pose.K2[0, 0])


def known(mode: str, pair: Pair) -> Answer:
    """Estimate with bansac and the true focal lengths."""
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K1, pair.K2, scores=pair.scores)
    pose = result.model
    return Answer(None, None) if pose is None else Answer(pose.R, pose.t, pair.K1[0, 0], pair.K2[0, 0])


def decomposed(mode: str, pair: Pair) -> Answer:
    """Estimate F with bansac, then the focal lengths that it implies."""
    sizes = {f"image_size{k}": (round(2 * K[1, 2]), round(2 * K[0, 2])) for k, K in ((1, pair.K1), (2, pair.K2))}
    result = bansac.estimate_fundamental(pair.x1, pair.x2, scores=pair.scores, **sizes)
    return Answer(None, None) if result.model is None else decompose(result.model, result.inliers, mode, pair)


def decompose(F: np.ndarray, inliers: np.ndarray, mode: str, pair: Pair) -> Answer:
    """Return the pose and the focal lengths that a fundamental matrix implies."""
    f1, f2 = bansac.focals_from_fundamental(F, pair.K1[:2, 2], pair.K2[:2, 2])
    if mode == "shared":
        f1 = f2 = np.sqrt(f1 * f2)
    if mode == "one":
        f1 = pair.K1[0, 0]
    if not (np.isfinite(f1) and np.isfinite(f2)):
        return Answer(None, None)
    K1, K2 = (np.array([[f, 0, K[0, 2]], [0, f, K[1, 2]], [0, 0, 1]]) for f, K in ((f1, pair.K1), (f2, pair.K2)))
    rays = [bansac.geometry.normalize_points(K, x) for K, x in ((K1, pair.x1), (K2, pair.x2))]
    R, t, _ = recover_pose(K2.T @ F @ K1, *rays, inliers)
    return Answer(R, t, f1, f2)


def poselib(mode: str, pair: Pair) -> Answer:
    """Estimate with PoseLib's shared focal length, or decompose its F; with its default limits."""
    import poselib as library

    options = {"max_epipolar_error": THRESHOLD}
    if mode == "both":
        F, details = library.estimate_fundamental(pair.x1, pair.x2, options, {})
        return decompose(F, np.array(details["inliers"]), mode, pair)
    centre = pair.K1[:2, 2]
    found, _ = library.estimate_shared_focal_relative_pose(pair.x1, pair.x2, centre, options, {})
    return Answer(found.pose.R, found.pose.t, found.camera1.focal(), found.camera2.focal())


def pycolmap(mode: str, pair: Pair) -> Answer:
    """Estimate with COLMAP's verification; its origin is the corner of the first pixel.

    Where it prefers F to a model with one unknown focal length, the pose is that of F and its guesses of focal lengths.
    """
    import pycolmap as library

    def as_camera(number: int, K: np.ndarray, known: bool) -> Any:
        size = round(2 * K[0, 2]), round(2 * K[1, 2])
        model = library.CameraModelId.PINHOLE if known else library.CameraModelId.SIMPLE_PINHOLE
        made = library.Camera.create_from_model_id(number, model, 1.2 * max(size), *size)
        focals = [K[0, 0], K[1, 1]] if known else [1.2 * max(size)]
        made.params, made.has_prior_focal_length = [*focals, K[0, 2] + 0.5, K[1, 2] + 0.5], known
        return made

    first = as_camera(1, pair.K1, mode == "one")
    second = first if mode == "shared" else as_camera(2, pair.K2, known=False)
    options = library.TwoViewGeometryOptions(compute_relative_pose=True)
    options.ransac.random_seed = 0
    matches = np.repeat(np.arange(len(pair.x1), dtype=np.uint32)[:, None], 2, axis=1)
    found = library.estimate_two_view_geometry(first, pair.x1 + 0.5, second, pair.x2 + 0.5, matches, options)
    if found.cam2_from_cam1 is None:
        return Answer(None, None)
    f1, f2 = (np.nan if camera is None else camera.params[0] for camera in (found.camera1, found.camera2))
    motion = found.cam2_from_cam1
    return Answer(motion.rotation.matrix(), motion.translation, pair.K1[0, 0] if mode == "one" else f1, f2)


METHODS: dict[str, Callable[[str, Pair], Answer]] = {
    "ours": functools.partial(ours, None),
    "ours-1px": functools.partial(ours, THRESHOLD),
    "poselib": poselib,
    "pycolmap": pycolmap,
    "decomposed": decomposed,
    "known": known,
}


def measure(pairs: list[Pair], mode: str) -> dict[str, Any]:
    """Return errors and times of the methods over the pairs of a set."""
    pairs = [scaled(pair) for pair in pairs] if mode == "both" else pairs
    methods = {name: method for name, method in METHODS.items() if mode != "one" or name != "poselib"}
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for method in methods.values():
        method(mode, pairs[0])
    for pair in pairs:
        for name, method in methods.items():
            seconds = np.inf
            for _ in range(TIMES):
                started = time.perf_counter()
                answer = method(mode, pair)
                seconds = min(seconds, time.perf_counter() - started)
            focal = max(abs(answer.f1 / pair.K1[0, 0] - 1), abs(answer.f2 / pair.K2[0, 0] - 1))
            error = pose_error(answer.R, answer.t, pair.R, pair.t)
            rows[name].append((error, focal if np.isfinite(focal) else np.inf, 1e3 * seconds))
    return {name: summary(np.array(found)) for name, found in rows.items()}


def exact_sample(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return six exact matches of a random scene, in half diagonals, and the focal length."""
    rng = np.random.default_rng(seed)
    scene = epipolar_matches(6, inlier_ratio=1.0, noise=0.0, seed=seed)
    # Other focal lengths: the images are those of a camera that is narrower or wider.
    focal = np.exp(rng.uniform(np.log(0.7), np.log(4.0)))
    rays1, rays2 = (bansac.geometry.normalize_points(scene.K, x) for x in (scene.x1, scene.x2))
    spread = 0.7 / np.abs(np.vstack([rays1, rays2])).max() / focal
    R, t = scene.R, scene.t
    X = np.insert(rays1 * spread, 2, 1.0, axis=1) * rng.uniform(4, 12, (6, 1))
    Y = X @ R.T + t
    return focal * X[:, :2] / X[:, 2:], focal * Y[:, :2] / Y[:, 2:], focal


def measure_solvers(count: int = 1000) -> dict[str, dict[str, float]]:
    """Return the share of samples whose focal length is found, numbers of models, and microseconds of a call."""
    import poselib as library

    samples = [exact_sample(seed) for seed in range(count)]
    models, scratch, order = np.empty((MAX_MODELS, 10)), np.empty(SCRATCH), np.arange(6)
    inputs = [
        (np.ascontiguousarray(np.hstack(sample[:2]).T), *(np.insert(x, 2, 1.0, axis=1) for x in sample[:2]))
        for sample in samples
    ]
    solver = kernel(shared_focal_6pt.solve)

    def ours(data: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> list[float]:
        return [float(f) for f in models[: solver(data, order, models, scratch), 9]]

    def theirs(data: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> list[Any]:
        return library.shared_focal_relpose_6pt(h1, h2)  # type: ignore[no-any-return]

    focals = [focal for _, _, focal in samples]
    return {
        "ours": measure_solver(ours, inputs, focals),
        "poselib": measure_solver(theirs, inputs, focals, lambda pair: pair.camera1.focal()),
    }


def measure_solver(
    method: Callable[..., list[Any]],
    inputs: list[tuple[np.ndarray, ...]],
    focals: list[float],
    focal_of: Callable[[Any], float] = float,
) -> dict[str, float]:
    """Return the share of samples whose focal length a solver finds, its number of models, and microseconds of a call.

    ``focals`` are the true ones; ``focal_of`` returns the focal length of a model.
    """
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        found = [method(*given) for given in inputs]
        best = min(best, time.perf_counter() - started)
    errors = np.array(
        [
            min((abs(focal_of(model) / focal - 1) for model in row), default=np.inf)
            for row, focal in zip(found, focals, strict=True)
        ]
    )
    return {
        "solved": round(float(np.mean(errors < 1e-6)), 4),
        "solved_exactly": round(float(np.mean(errors < 1e-10)), 4),
        "models": round(float(np.mean([len(row) for row in found])), 2),
        "us": round(1e6 * best / len(inputs), 1),
    }


class View(NamedTuple):
    """3D points, their images, and the camera."""

    X: np.ndarray
    x: np.ndarray
    R: np.ndarray
    focal: float


def make_view(kind: str, n: int, outliers: int, noise: float, seed: int) -> View:
    """Return a view of a kind of scene with the given percentage of outliers."""
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
    return View(X, x, R, focal)


UNKNOWN = bansac.Camera.unknown_focal(WIDTH, HEIGHT)


def our_view(threshold: float | None, view: View) -> Answer:
    """Estimate an absolute pose with bansac."""
    model = bansac.estimate_absolute_pose(view.X, view.x, UNKNOWN, threshold=threshold).model
    return Answer(None, None) if model is None else Answer(model.R, model.t, model.K[0, 0])


def known_view(view: View) -> Answer:
    """Estimate an absolute pose with bansac and the true focal length."""
    model = bansac.estimate_absolute_pose(view.X, view.x, UNKNOWN.with_focal(view.focal)).model
    return Answer(None, None) if model is None else Answer(model.R, model.t, view.focal)


def pycolmap_view(view: View) -> Answer:
    """Estimate an absolute pose and the focal length with pycolmap; its origin is the corner of the first pixel."""
    import pycolmap as library

    camera = library.Camera.create_from_model_id(1, library.CameraModelId.SIMPLE_PINHOLE, 1.2 * WIDTH, WIDTH, HEIGHT)
    options = library.AbsolutePoseEstimationOptions()
    options.estimate_focal_length = True
    options.ransac.max_error = LIMIT
    refinement = library.AbsolutePoseRefinementOptions()
    refinement.refine_focal_length = True
    found = library.estimate_and_refine_absolute_pose(view.x + 0.5, view.X, camera, options, refinement)
    if found is None:
        return Answer(None, None)
    pose = found["cam_from_world"]
    return Answer(pose.rotation.matrix(), pose.translation, camera.focal_length)


ABSOLUTE: dict[str, Callable[[View], Answer]] = {
    "ours": functools.partial(our_view, None),
    "ours-4px": functools.partial(our_view, LIMIT),
    "pycolmap": pycolmap_view,
    "known": known_view,
}


def measure_views(runs: int) -> dict[str, Any]:
    """Return the share of right runs, errors and times of absolute poses by scene and share of outliers."""
    found: dict[str, Any] = {}
    for kind in SCENES:
        for outliers in OUTLIERS:
            views = [make_view(kind, POINTS, outliers, NOISE, seed) for seed in range(runs)]
            rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ABSOLUTE}
            for method in ABSOLUTE.values():
                method(views[0])
            for view in views:
                for name, method in ABSOLUTE.items():
                    seconds = np.inf
                    for _ in range(TIMES):
                        started = time.perf_counter()
                        answer = method(view)
                        seconds = min(seconds, time.perf_counter() - started)
                    R = np.full((3, 3), np.inf) if answer.R is None else answer.R
                    angle = np.degrees(2 * np.arcsin(min(np.linalg.norm(R - view.R) / np.sqrt(8), 1.0)))
                    focal = abs(answer.f1 / view.focal - 1)
                    rows[name].append((focal if np.isfinite(focal) else np.inf, angle, 1e3 * seconds))
            for name, errors in rows.items():
                focals, angles, ms = np.array(errors).T
                row = {
                    "right": float(np.mean((focals <= RIGHT[0]) & (angles <= RIGHT[1]))),
                    "focal_median": float(f"{np.median(focals):.3g}") if np.isfinite(np.median(focals)) else None,
                    "degrees_median": float(f"{np.median(angles):.3g}"),
                    "ms_median": round(float(np.median(ms)), 2),
                }
                found.setdefault(kind, {}).setdefault(str(outliers), {})[name] = row
                print(f"absolute {kind:7} {outliers} % {name:9}", row, flush=True)
    return found


def measure_p4pf(count: int = 1000) -> dict[str, dict[str, dict[str, float]]]:
    """Return the share of samples whose focal length is found, numbers of models, and microseconds of a call."""
    import poselib as library

    solver, models, scratch = kernel(p4pf.solve), np.empty((p4pf.MAX_MODELS, 8)), np.empty(p4pf.SCRATCH)

    def ours(x: np.ndarray, X: np.ndarray, data: np.ndarray) -> list[float]:
        return [float(f) for f in models[: solver(data, np.arange(4), models, scratch), 7]]

    def theirs(x: np.ndarray, X: np.ndarray, data: np.ndarray) -> list[float]:
        return list(library.p4pf(x, X, True)[1])

    report: dict[str, dict[str, dict[str, float]]] = {}
    for kind in SCENES:
        views = [make_view(kind, 4, 0, 0.0, seed) for seed in range(count)]
        images = [(view.x - np.array(UNKNOWN.params[1:])) / 800 for view in views]  # in half diagonals
        inputs = [
            (x, view.X, np.ascontiguousarray(np.hstack([x, view.X]).T)) for x, view in zip(images, views, strict=True)
        ]
        focals = [view.focal / 800 for view in views]
        for name, method in (("ours", ours), ("poselib", theirs)):
            report.setdefault(kind, {})[name] = measure_solver(method, inputs, focals)
            print("solver P4Pf", kind, name, report[kind][name], flush=True)
    return report


def summary(rows: np.ndarray) -> dict[str, float]:
    """Return the averages of pose errors, focal errors and milliseconds."""
    errors, focals, ms = rows.T
    return {
        "auc5": round(float(auc(errors, 5.0)), 4),
        "auc10": round(float(auc(errors, 10.0)), 4),
        "focal_median": round(float(np.median(focals)), 4),
        "focal_within_10": round(float(np.mean(focals <= 0.1)), 4),
        "ms_mean": round(float(ms.mean()), 2),
        "ms_median": round(float(np.median(ms)), 2),
        "pairs": len(rows),
    }


def main() -> None:
    """Measure all modes on all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="not needed by the mode absolute")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--modes", nargs="*", default=(*MODES, "absolute"), choices=(*MODES, "absolute"))
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--runs", type=int, default=20, help="scenes of a kind in the mode absolute")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    modes = [mode for mode in arguments.modes if mode != "absolute"]
    if modes and arguments.data is None:
        parser.error(f"the modes {', '.join(modes)} need --data")
    report: dict[str, Any] = {}
    if arguments.json and arguments.json.exists():
        report = json.loads(arguments.json.read_text())
    if "absolute" in arguments.modes:
        report["absolute"] = {
            "measured": circumstances()["date"][:10],
            "solvers": measure_p4pf(),
            "scenes": measure_views(arguments.runs),
        }
    if modes:
        report |= {**circumstances(("poselib", "pycolmap")), "solvers": measure_solvers(), "pairs": {}}
        for solver, row in report["solvers"].items():
            print("solver", solver, row, flush=True)
    for mode in modes:
        for name in arguments.sets:
            found = measure(load(arguments.data / "EF" / name, arguments.pairs), mode)
            report["pairs"].setdefault(mode, {})[name] = found
            for method, row in found.items():
                print(f"{mode:7} {name:14} {method:11}", row, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
