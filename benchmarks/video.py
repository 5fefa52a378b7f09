"""Measure warm starts on synthetic videos: point tracks of a moving camera, with a cut and an occlusion.

    python benchmarks/video.py [--videos 3] [--frames 60] [--tracks 1000] [--repeats 5] [--json FILE]

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

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

import bansac
from bansac.geometry import apply_homography, rotation_matrix
from bansac.lab.provenance import circumstances

WIDTH, HEIGHT, FOCAL = 1280, 720, 1000.0
K = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
CORNERS = np.array([[0.0, 0], [WIDTH, 0], [WIDTH, HEIGHT], [0, HEIGHT]])
NOISE, OUTLIERS, REPLACED, HIDDEN, LENGTH = 0.7, 0.5, 0.1, 0.6, 6
PLANE, NEAR, FAR = 8.0, 5.0, 12.0  # depths of the plane and of the scene
APART = 5
MAGSAC = 2.5
CONFIDENCE, ITERATIONS = 0.999, 10_000
UNKNOWN = 0.5  # prior of a new track
METHODS = "cold", "warm", "warm, priors", "OpenCV"

Array = np.ndarray
Pose = tuple[Array, Array]


class Frame(NamedTuple):
    """The matches of a frame: tracks, where they were, where they are, and the truth."""

    tracks: Array
    first: Array
    second: Array
    truth: Any


def camera(scene: int, k: int) -> Pose:
    """Return the pose of a camera that moves sideways on a wavy line and sways."""
    rng = np.random.default_rng([scene, 7])
    phase, turn = rng.uniform(0, 2 * np.pi, 6), rng.uniform(-0.4, 0.4, 3)
    s = 0.06 * k
    centre = np.array([1.5 * np.sin(s + phase[0]), 0.8 * np.sin(1.3 * s + phase[1]), 0.6 * np.sin(0.9 * s + phase[2])])
    sway = 0.05 * np.sin(1.1 * s + phase[3:])
    R = rotation_matrix(np.array([0.0, 0.0, turn[2]])) @ rotation_matrix(sway)
    return R, -R @ centre


def project(pose: Pose, points: Array) -> Array:
    """Return pixels (N x 2); points behind the camera are far outside."""
    x = points @ pose[0].T + pose[1]
    return np.where(x[:, 2:] > 0.1, x[:, :2] / x[:, 2:] * FOCAL + K[:2, 2], 1e6)


def relative(pose1: Pose, pose2: Pose) -> Pose:
    """Return the motion from one camera to the other."""
    R = pose2[0] @ pose1[0].T
    return R, pose2[1] - R @ pose1[1]


def plane_map(pose1: Pose, pose2: Pose) -> Array:
    """Return the homography of the plane z = PLANE."""
    R, t = relative(pose1, pose2)
    normal = pose1[0] @ [0, 0, 1.0]
    depth = PLANE + normal @ pose1[1]
    return K @ (R + np.outer(t, normal) / depth) @ np.linalg.inv(K)


def tracks_of(kind: str, video: int, frames: int, count: int) -> list[Frame]:
    """Return the frames of a video."""
    rng = np.random.default_rng([video, len(kind)])
    ids, made, cut, occluded = np.arange(count), count, frames // 2, 3 * frames // 4
    found = []
    points, other = scene_points(kind, rng, count), scene_points(kind, rng, count)
    outlier = rng.uniform(size=count) < OUTLIERS
    for k in range(frames):
        scene = 2 * video + (k >= cut)
        new = rng.uniform(size=count) < (1.0 if k == cut else REPLACED)
        fresh, number = scene_points(kind, rng, count), np.count_nonzero(new)
        points[new], other[new] = fresh[new], scene_points(kind, rng, count)[new]
        outlier[new] = rng.uniform(size=number) < OUTLIERS
        ids[new] = made + np.arange(number)
        made += number
        hidden = outlier | (rng.uniform(size=count) < HIDDEN) & (occluded <= k < occluded + LENGTH)
        pose, origin = camera(scene, k), camera(scene, cut * (k >= cut))
        before = camera(scene, k - APART)
        seen = np.where(hidden[:, None], project(pose, other), project(pose, points)) + rng.normal(0, NOISE, (count, 2))
        if kind == "homography":
            first, truth = project(origin, points), plane_map(origin, pose)
        elif kind == "relative pose":
            first, truth = project(before, points) + rng.normal(0, NOISE, (count, 2)), relative(before, pose)
        else:
            first, truth = points.copy(), (pose, points[~hidden].copy())
        inside = (np.abs(seen - K[:2, 2]) < [WIDTH / 2, HEIGHT / 2]).all(axis=1)
        if kind != "absolute pose":
            inside &= (np.abs(first - K[:2, 2]) < [WIDTH, HEIGHT]).all(axis=1)
        found.append(Frame(ids[inside].copy(), first[inside], seen[inside], truth))
    return found


def scene_points(kind: str, rng: np.random.Generator, count: int) -> Array:
    """Return points of the plane or of the volume in front of the camera."""
    z = np.full(count, PLANE) if kind == "homography" else rng.uniform(NEAR, FAR, count)
    return np.column_stack([rng.uniform(-0.8, 0.8, count) * z, rng.uniform(-0.5, 0.5, count) * z, z])


def angle(a: Array, b: Array) -> float:
    """Return the angle between two vectors in degrees."""
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))


def turned(R1: Array, R2: Array) -> float:
    """Return the angle between two rotations in degrees."""
    return float(np.degrees(np.arccos(np.clip((np.trace(R1.T @ R2) - 1) / 2, -1, 1))))


def error_of(kind: str, model: Any, truth: Any) -> float:
    """Return the error of a model; inf without a model."""
    if model is None:
        return np.inf
    if kind == "homography":
        return float(np.linalg.norm(apply_homography(model, CORNERS) - apply_homography(truth, CORNERS), axis=1).mean())
    if kind == "relative pose":
        return max(turned(model[0], truth[0]), angle(model[1], truth[1]))
    pose, points = truth
    return float(np.linalg.norm(project(model, points) - project(pose, points), axis=1).mean())


CALLS: dict[str, Callable[..., bansac.Result]] = {
    "homography": bansac.estimate_homography,
    "relative pose": lambda x1, x2, **more: bansac.estimate_relative_pose(x1, x2, K, **more),
    "absolute pose": lambda X, x, **more: bansac.estimate_absolute_pose(X, x, K, **more),
}


def by_opencv(kind: str, frame: Frame) -> Any:
    """Return the model of OpenCV; None if there is none."""
    first, second, _ = frame.first, frame.second, cv2.setRNGSeed(0)
    if kind == "homography":
        return cv2.findHomography(first, second, cv2.USAC_MAGSAC, MAGSAC, maxIters=ITERATIONS, confidence=CONFIDENCE)[0]
    if kind == "relative pose":
        E, mask = cv2.findEssentialMat(first, second, K, cv2.USAC_MAGSAC, CONFIDENCE, MAGSAC, ITERATIONS)
        if E is None or E.shape != (3, 3):
            return None
        _, R, t, _ = cv2.recoverPose(E, first, second, K, mask=mask)
        return R, t.ravel()
    params = cv2.UsacParams()
    params.score, params.threshold = cv2.SCORE_METHOD_MAGSAC, MAGSAC
    params.loMethod, params.confidence, params.maxIterations = cv2.LOCAL_OPTIM_SIGMA, CONFIDENCE, ITERATIONS
    good, _, rotation, t, _ = cv2.solvePnPRansac(first, second, K.copy(), np.zeros(4), params=params)
    return (cv2.Rodrigues(rotation)[0], t.ravel()) if good else None


class Tracker:
    """Calls for one frame after the other; a method says what they know of the frames before."""

    def __init__(self, kind: str, method: str) -> None:
        self.kind, self.method = kind, method
        self.model: Any = None
        self.beliefs: dict[int, float] = {}

    def arguments(self, frame: Frame) -> dict[str, Any]:
        """Return the arguments that come from the last frame."""
        more = {} if self.method == "cold" or self.model is None else {"initial_model": self.model}
        if self.method == "warm, priors" and self.beliefs:
            more["priors"] = np.array([self.beliefs.get(track, UNKNOWN) for track in frame.tracks.tolist()])
        return more

    def estimate(self, frame: Frame, repeats: int) -> tuple[float, float, bool]:
        """Return the time, the error and the success of a frame."""
        seconds = []
        for _ in range(repeats):
            started = time.thread_time()
            if self.method == "OpenCV":
                model, result = by_opencv(self.kind, frame), None
            else:
                result = CALLS[self.kind](frame.first, frame.second, **self.arguments(frame))
                model = result.model
            seconds.append(time.thread_time() - started)
        if result is not None:
            self.model = result.model if result.success else None
            beliefs = result.beliefs if result.success and result.beliefs is not None else np.empty(0)
            self.beliefs = dict(zip(frame.tracks.tolist(), beliefs.tolist(), strict=False))
        success = model is not None if result is None else result.success
        return min(seconds), error_of(self.kind, model, frame.truth), success


def measure(kind: str, videos: int, frames: int, count: int, repeats: int) -> list[dict[str, Any]]:
    """Return one row for each method and video, with lists by frame."""
    rows = []
    for video in range(videos):
        data = tracks_of(kind, video, frames, count)
        found: dict[str, list[tuple[float, float, bool]]] = {method: [] for method in METHODS}
        trackers = {method: Tracker(kind, method) for method in METHODS}
        for method in METHODS:
            Tracker(kind, method).estimate(data[0], 1)  # may compile
        for frame in data:
            for method, tracker in trackers.items():
                found[method].append(tracker.estimate(frame, repeats))
        for method, frames_found in found.items():
            seconds, errors, success = zip(*frames_found, strict=True)
            rows.append(
                {"problem": kind, "video": video, "method": method}
                | {"milliseconds": [round(1e3 * s, 3) for s in seconds]}
                | {"errors": [round(e, 4) if np.isfinite(e) else None for e in errors], "success": list(success)}
            )
            print(
                f"{kind:14} {video} {method:13} {1e3 * np.median(seconds):7.2f} ms, error {np.median(errors):.3f}, "
                f"largest {np.max(errors):.3f}, success {np.mean(success):.2f}",
                flush=True,
            )
    return rows


def as_text(document: dict[str, Any]) -> str:
    """Return the report as JSON with one line for each row."""
    head = json.dumps({name: value for name, value in document.items() if name != "rows"}, indent=1)
    rows = ",\n".join("  " + json.dumps(row) for row in document["rows"])
    return head.removesuffix("\n}") + f',\n "rows": [\n{rows}\n ]\n}}\n'


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=3)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--tracks", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each call; the shortest one counts")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    document: dict[str, Any] = circumstances(("cv2",))
    size = {"frames": arguments.frames, "tracks": arguments.tracks}
    document |= size | {"cut": arguments.frames // 2, "occluded": [3 * arguments.frames // 4, LENGTH], "rows": []}
    for kind in CALLS:
        document["rows"] += measure(kind, arguments.videos, *size.values(), arguments.repeats)
    if arguments.json is not None:
        arguments.json.write_text(as_text(document))


if __name__ == "__main__":
    main()
