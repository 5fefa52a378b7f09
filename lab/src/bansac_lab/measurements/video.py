"""Measure warm starts on synthetic videos: point tracks of a moving camera, with a cut and an occlusion.

Three problems: the homography from a plane to each frame, the relative pose of frames that are five apart, and the
absolute pose in a map of 3D points. Half of the tracks are outliers, random points that move with the true tracks of
other points. The noise has a standard deviation of 0.7 px. A tenth of the tracks are replaced in every frame. In the
middle of the video is a cut: another scene, and a camera that looks in another direction. From three quarters on, six
frames are occluded: 60 % of the inliers become outliers.

"Cold" are calls without knowledge of the last frame, "warm" calls with ``initial_model`` of the last frame if it was a
success, "warm, priors" also have the beliefs of the last frame as priors, mapped by track. OpenCV is USAC_MAGSAC with a
threshold of 2.5 px, which fits the noise; the others estimate the threshold. The time of a frame is the shortest
processor time of some repetitions. Errors: of a homography the mean transfer error of the image corners in pixels, of a
relative pose the larger error of rotation and direction of translation in degrees, of an absolute pose the mean
distance of the projections of the visible points in pixels.
"""

import statistics
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bansac.geometry import apply_transform, rotation_matrix
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, of_module
from bansac_lab.metrics import corner_error, pose_error
from bansac_lab.peers.library import Array, Method, Task
from bansac_lab.peers.opencv import OPENCV
from bansac_lab.tables import Table, plain_table

WIDTH, HEIGHT, FOCAL = 1280, 720, 1000.0
K = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
NOISE, OUTLIERS, REPLACED, HIDDEN, LENGTH = 0.7, 0.5, 0.1, 0.6, 6
PLANE, NEAR, FAR = 8.0, 5.0, 12.0  # depths of the plane and of the scene
APART = 5
UNKNOWN = 0.5  # prior of a new track

PROBLEMS = {"homography": "H", "relative pose": "relative pose", "absolute pose": "pose"}
_LIMITS = {"threshold": 2.5, "confidence": 0.999, "max_iterations": 10_000}
# USAC_MAGSAC has no local optimisation of poses.
_USAC = {"score": "SCORE_METHOD_MAGSAC", "loMethod": "LOCAL_OPTIM_SIGMA"}
METHODS = (
    *(Method(name, {"preset": None}) for name in ("cold", "warm", "warm, priors")),
    Method("OpenCV", {"flag": "USAC_MAGSAC", **_LIMITS}, OPENCV),
)

Pose = tuple[Array, Array]


class Frame(NamedTuple):
    """The matches of a frame: tracks, where they were, where they are, and the truth."""

    tracks: Array
    first: Array
    second: Array
    truth: Any


def _camera(scene: int, k: int) -> Pose:
    """Return the pose of a camera that moves sideways on a wavy line and sways."""
    rng = np.random.default_rng([scene, 7])
    phase, turn = rng.uniform(0, 2 * np.pi, 6), rng.uniform(-0.4, 0.4, 3)
    s = 0.06 * k
    centre = np.array([1.5 * np.sin(s + phase[0]), 0.8 * np.sin(1.3 * s + phase[1]), 0.6 * np.sin(0.9 * s + phase[2])])
    sway = 0.05 * np.sin(1.1 * s + phase[3:])
    R = rotation_matrix(np.array([0.0, 0.0, turn[2]])) @ rotation_matrix(sway)
    return R, -R @ centre


def _project(pose: Pose, points: Array) -> Array:
    """Return pixels (N x 2); points behind the camera are far outside."""
    x = points @ pose[0].T + pose[1]
    return np.where(x[:, 2:] > 0.1, apply_transform(K, x), 1e6)


def _relative(pose1: Pose, pose2: Pose) -> Pose:
    """Return the motion from one camera to the other."""
    R = pose2[0] @ pose1[0].T
    return R, pose2[1] - R @ pose1[1]


def _plane_map(pose1: Pose, pose2: Pose) -> Array:
    """Return the homography of the plane z = PLANE."""
    (R, t), normal = _relative(pose1, pose2), pose1[0] @ [0, 0, 1.0]
    return np.asarray(K @ (R + np.outer(t, normal) / (PLANE + normal @ pose1[1])) @ np.linalg.inv(K))


def frames_of(kind: str, video: int, frames: int, count: int) -> list[Frame]:
    """Return the frames of a video."""
    rng = np.random.default_rng([video, len(kind)])
    ids, made, cut, occluded = np.arange(count), count, frames // 2, 3 * frames // 4
    found = []
    points, other = _scene_points(kind, rng, count), _scene_points(kind, rng, count)
    outlier = rng.uniform(size=count) < OUTLIERS
    for k in range(frames):
        scene = 2 * video + (k >= cut)
        new = rng.uniform(size=count) < (1.0 if k == cut else REPLACED)
        fresh, number = _scene_points(kind, rng, count), int(np.count_nonzero(new))
        points[new], other[new] = fresh[new], _scene_points(kind, rng, count)[new]
        outlier[new] = rng.uniform(size=number) < OUTLIERS
        ids[new] = made + np.arange(number)
        made += number
        hidden = outlier | (rng.uniform(size=count) < HIDDEN) & (occluded <= k < occluded + LENGTH)
        pose, origin, before = _camera(scene, k), _camera(scene, cut * (k >= cut)), _camera(scene, k - APART)
        seen = np.where(hidden[:, None], _project(pose, other), _project(pose, points))
        seen = seen + rng.normal(0, NOISE, (count, 2))
        inside = (np.abs(seen - K[:2, 2]) < [WIDTH / 2, HEIGHT / 2]).all(axis=1)
        truth: Any = (pose, points[~hidden].copy())
        first = points.copy()
        if kind == "homography":
            first, truth = _project(origin, points), _plane_map(origin, pose)
        elif kind == "relative pose":
            first, truth = _project(before, points) + rng.normal(0, NOISE, (count, 2)), _relative(before, pose)
        if kind != "absolute pose":
            inside &= (np.abs(first - K[:2, 2]) < [WIDTH, HEIGHT]).all(axis=1)
        found.append(Frame(ids[inside].copy(), first[inside], seen[inside], truth))
    return found


def _scene_points(kind: str, rng: np.random.Generator, count: int) -> Array:
    """Return points of the plane or of the volume in front of the camera."""
    z = np.full(count, PLANE) if kind == "homography" else rng.uniform(NEAR, FAR, count)
    return np.column_stack([rng.uniform(-0.8, 0.8, count) * z, rng.uniform(-0.5, 0.5, count) * z, z])


def error_of(kind: str, model: Any, truth: Any) -> float:
    """Return the error of a model, inf without one."""
    if model is None:
        return np.inf
    if kind == "homography":
        return corner_error(model, truth, (HEIGHT, WIDTH))
    if kind == "relative pose":
        return pose_error(*model, *truth)
    pose, points = truth
    return float(np.linalg.norm(_project(model, points) - _project(pose, points), axis=1).mean())


def track(kind: str, method: Method, frames: Iterable[Frame], repeats: int) -> Iterator[Row]:
    """Yield the time, the error and the success of each frame; a method says what its calls know of the last frame."""
    model: Any = None
    beliefs: dict[int, float] = {}
    for frame in frames:
        task = Task(PROBLEMS[kind], (frame.first, frame.second), () if kind == "homography" else (K,))
        settings: dict[str, Any] = {}
        if not method.ours and kind == "absolute pose":
            settings = {"usac": _USAC}
        if method.name.startswith("warm") and model is not None:
            settings["initial_model"] = model
        if method.name == "warm, priors" and beliefs:
            settings["priors"] = np.array([beliefs.get(track, UNKNOWN) for track in frame.tracks.tolist()])
        ms = []
        for _ in range(repeats):
            started = time.thread_time()
            found = method.estimate(task, **settings)
            ms.append(1e3 * (time.thread_time() - started))
        model, beliefs = (found.model if found.success else None), {}
        if found.success and found.result is not None and found.result.beliefs is not None:
            beliefs = dict(zip(frame.tracks.tolist(), found.result.beliefs.tolist(), strict=True))
        error = error_of(kind, found.model, frame.truth)
        rounded = round(error, 4) if np.isfinite(error) else None
        yield {"milliseconds": round(min(ms), 3), "errors": rounded, "success": found.success}


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return one row for each method, with lists by frame."""
    kind, video = unit.payload
    frames = frames_of(kind, video, setup.frames, setup.tracks)
    methods = [method for method in METHODS if method.installed]
    for method in methods:
        next(track(kind, method, frames, 1))  # may compile
    by_frame = zip(*(track(kind, method, frames, setup.repeats) for method in methods), strict=True)  # in turn
    rows: list[Row] = []
    for method, found in zip(methods, zip(*by_frame, strict=True), strict=True):
        columns = {name: [figures[name] for figures in found] for name in found[0]}
        rows.append({"problem": kind, "video": video, "method": method.name, **columns})
    return rows


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Return the rows, and which frames are cut and occluded."""
    occluded = [3 * setup.frames // 4, LENGTH]
    made = {"frames": setup.frames, "tracks": setup.tracks, "cut": setup.frames // 2, "occluded": occluded}
    return Report(records={**made, "rows": list(rows)})


def table(document: Document) -> Table:
    """Return times and errors of warm and cold starts on synthetic videos, also of occluded frames."""
    (start, length), frames, cut = document["occluded"], document["frames"], document["cut"]
    hidden = range(start, min(start + length, frames))
    kinds = {"other": [k for k in range(1, frames) if k not in hidden and k != cut], "occluded": hidden}

    def median(case: tuple[str, str], column: str, kind: str) -> float:
        rows = [row[column] for row in document["rows"] if (row["problem"], row["method"]) == case]
        return statistics.median(np.inf if row[k] is None else row[k] for row in rows for k in kinds[kind])

    rows = []
    for case in dict.fromkeys((row["problem"], row["method"]) for row in document["rows"]):
        times = []
        for kind in kinds:
            ms, cold = (median(of, "milliseconds", kind) for of in (case, (case[0], "cold")))
            times.append(f"{ms:.1f} ms ({ms / cold:.2f})")
        unit = "°" if case[0] == "relative pose" else " px"
        rows.append([*case, *times, *(f"{median(case, 'errors', kind):.2f}{unit}" for kind in kinds)])
    return plain_table(["problem", "method", "time", "time, occluded", "error", "error, occluded"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Warm starts on synthetic videos",
    units=lambda setup: each(PROBLEMS, range(setup.videos)),
    options=(
        Option("videos", int, 3, "Videos of every problem.", least=1),
        Option("frames", int, 60, "Frames of a video.", least=2),
        Option("tracks", int, 1000, "Tracks of a video."),
        Option("repeats", int, 5, "Repetitions of each call; the shortest one counts.", least=1),
    ),
    tables={"video": table},
    packages=("cv2",),
)
