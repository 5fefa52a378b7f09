"""Scenes with a given number of points, inlier ratio and noise, the errors of a model, and methods on a scene.

The unit is the pixel. Two views are those of :mod:`bansac.synthetic`. The scene of an absolute pose is the second view
of :func:`bansac.synthetic.epipolar_matches`: its 3D points are exact, at depths of 4 to 12 baselines. Those of the
outliers are at random depths on the rays of image 1. Circles and lines lie in a square of 1000 px.

The methods are this package's and those of other libraries, all without scores. The other libraries get the thresholds
in ``THRESHOLDS``. PoseLib has its default limits (1000 to 100,000 samples, success probability .9999), OpenCV up to
10,000 samples at a confidence of .999. SupeRANSAC has its default limits (1000 to 5000) with uniform sampling.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.geometry import apply_transform, normalise_points, recover_pose, rotation_matrix
from bansac.matches import Matches
from bansac.maths.arrays import Bools
from bansac.synthetic import circle_points, epipolar_matches, homography_matches, line_points
from bansac.synthetic.two_views import viewing_rays
from bansac_lab.comparison import calls_of, compare
from bansac_lab.metrics import FAILED_POSE, circle_rmse, corner_error, pose_error, rotation_error
from bansac_lab.peers.library import Array, Estimate, Method, Task, require
from bansac_lab.peers.methods import METHODS
from bansac_lab.task import squared_distances

_HALF = 500.0  # half the side of the square of circles and lines


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene of one problem."""

    problem: str  # one of ``PROBLEMS``, "relative pose" or "plane"
    data: tuple[Array, ...]  # positional arguments of this package's estimator: points, and camera matrices
    inliers: Bools  # true mask (N,)
    truth: Any  # :class:`bansac.Matches` with ground truth, for curves the true model
    scores: Array | None = None  # for methods that take scores
    undecided: bool = False  # a false structure has as much support as the true one


PROBLEMS = ("H", "E", "F", "pose", "circle", "line")
"""Problems with scenes."""


def make_scene(problem: str, n: int, inlier_ratio: float, noise: float, seed: int) -> Scene:
    """Return a scene of a problem; ``noise`` is the standard deviation of every inlier coordinate in pixels."""
    if problem in ("circle", "line"):
        curve = (circle_points if problem == "circle" else line_points)(n, inlier_ratio, noise / _HALF, seed)
        scale = np.array([_HALF] * 3 if problem == "circle" else [1, 1, _HALF])
        return Scene(problem, (_HALF * curve.points,), curve.inliers, scale * curve.model)
    matches: Any = (homography_matches if problem == "H" else epipolar_matches)(n, inlier_ratio, noise, seed)
    if problem != "pose":
        return scene_of(problem, matches)
    depths = np.random.default_rng([seed, 1]).uniform(4, 12, (n, 1))
    points = np.where(matches.inliers[:, None], matches.points, depths * viewing_rays(matches.K1, matches.x1))
    return Scene(problem, (points, matches.x2, matches.K1), matches.inliers, matches)


MAPS = ("similarity", "affine", "H")
"""Problems of :func:`map_scene`."""


def map_scene(
    problem: str, right: int, n: int, noise: float, rng: np.random.Generator, *, of_list: bool = False
) -> Scene:
    """Return ``n`` matches of a similarity, an affine map or a homography, whose truth has no noise.

    The first points are in a square with sides of 500 to 2000. Wrong partners are uniform, or other ones of the list.
    """
    side = rng.uniform(500, 2000)
    H = np.eye(3)
    H[:2, :2] = 2 ** rng.uniform(-0.5, 0.5) * rotation_matrix(np.array([0, 0, rng.uniform(-np.pi, np.pi)]))[:2, :2]
    H[:2, 2] = rng.uniform(-0.2, 0.2, 2) * side
    if problem != "similarity":
        H[:2, :2] += rng.uniform(-0.3, 0.3, (2, 2))
    if problem == "H":
        H[2, :2] = rng.uniform(-0.2, 0.2, 2) / side
    x1, inliers = rng.uniform(0, side, (n, 2)), rng.permutation(np.arange(n) < right)
    exact = apply_transform(H, x1)
    x2, wrong = exact + rng.normal(0, noise, (n, 2)), np.flatnonzero(~inliers)
    uniform = rng.uniform(exact.min(axis=0), exact.max(axis=0), (len(wrong), 2))
    x2[wrong] = x2[np.roll(wrong, 1)] if of_list else uniform
    return Scene(problem, (x1, x2), inliers, Matches(x1, exact, H=H, inliers=inliers))


def scene_of(problem: str, matches: Any, scores: Array | None = None, *, undecided: bool = False) -> Scene:
    """Return the scene of the matches of two views with ground truth."""
    cameras = (matches.K1, matches.K2) if problem in ("E", "relative pose") else ()
    return Scene(problem, (matches.x1, matches.x2, *cameras), matches.inliers, matches, scores, undecided)


def errors(scene: Scene, model: Any) -> dict[str, float]:
    """Return the errors of a model; the first one measures its accuracy. None is a failure.

    They are ``corner_error`` in pixels (H), ``pose_error`` in degrees (two views; F with the true cameras and inliers),
    ``centre_error`` in per cent of the median depth and ``rotation_error`` in degrees (pose), ``distance`` in pixels
    (curves, planes).
    """
    truth = scene.truth
    if scene.problem == "H":
        return {"corner_error": corner_error(model, truth.H, truth.size1)}
    if scene.problem == "pose":
        if model is None:
            return {"centre_error": math.inf, "rotation_error": FAILED_POSE}
        R, t = model
        depth = np.median((scene.data[0][scene.inliers] @ truth.R.T + truth.t)[:, 2])
        distance = np.linalg.norm(R.T @ t - truth.R.T @ truth.t)
        return {"centre_error": float(100 * distance / depth), "rotation_error": rotation_error(R, truth.R)}
    if scene.problem == "circle":
        return {"distance": _HALF * circle_rmse(None if model is None else model / _HALF, truth / _HALF)}
    if scene.problem == "plane":
        if model is None:
            return {"distance": math.inf}
        points = scene.data[0][scene.inliers]
        exact = points - np.outer(points @ truth[:3] + truth[3], truth[:3])
        return {"distance": float(np.sqrt(np.mean((exact @ model[:3] + model[3]) ** 2)))}
    if scene.problem == "line":
        if model is None:
            return {"distance": math.inf}
        normal, c = truth[:2], truth[2]  # compare at points along the true line
        along = np.linspace(-_HALF, _HALF, 101)[:, None] * [-normal[1], normal[0]] - c * normal
        return {"distance": float(np.sqrt(np.mean((along @ model[:2] + model[2]) ** 2)))}
    if scene.problem != "relative pose" and model is not None:
        E = truth.K2.T @ model @ truth.K1 if scene.problem == "F" else model
        rays = (normalise_points(truth.K1, x[scene.inliers]) for x in (truth.x1, truth.x2))
        model = recover_pose(E, *rays)[:2]
    R, t = model or (None, None)
    return {"pose_error": pose_error(R, t, truth.R, truth.t)}


LIMITS = {"corner_error": 3.0, "pose_error": 2.0, "rotation_error": 1.0, "centre_error": 2.0}
"""Largest errors of a right model: pixels, degrees, degrees, per cent."""

INLIER_SHARE = 0.8
"""Smallest share of the true inliers near a right model."""


def is_right(scene: Scene, model: Any, distance: float) -> bool:
    """Return whether errors are below ``LIMITS``, and ``INLIER_SHARE`` of the inliers within ``distance`` pixels."""
    found = errors(scene, model)
    if any(not value < LIMITS[name] for name, value in found.items()):
        return False
    return float(np.mean(distances(scene, model)[scene.inliers] <= distance)) >= INLIER_SHARE


def mean_distance(scene: Scene, model: Any) -> float:
    """Return the mean distance of the true inliers of ``scene.truth`` to a model; inf without one."""
    return math.inf if model is None else float(np.mean(distances(scene, model)[scene.inliers]))


def distances(scene: Scene, model: Any) -> Array:
    """Return the distance of every match of ``scene.truth`` to a model of two views or a pose."""
    truth = scene.truth
    if scene.problem == "pose":
        R, t = model
        return np.asarray(np.hypot(*(apply_transform(truth.K2, scene.data[0] @ R.T + t) - truth.x2).T))
    if scene.problem in MAPS:
        return np.asarray(np.sqrt(squared_distances(np.vstack([model, [0, 0, 1]])[:3], truth, "H")))
    F = model
    if scene.problem == "E":
        F = np.linalg.inv(truth.K2).T @ model @ np.linalg.inv(truth.K1)
    return np.asarray(np.sqrt(squared_distances(F, truth, "F")))


THRESHOLDS: Mapping[str, float] = {"H": 2.0, "E": 1.0, "F": 1.0, "relative pose": 1.0, "pose": 4.0}
"""Thresholds of other libraries in pixels."""

OURS = (
    *(replace(METHODS[name], sized=False) for name in ("default", "fast", "accurate")),
    METHODS["default"].configured("uniform", {"sampler": "uniform"}, sized=False, label="uniform"),
)
PEERS = (
    replace(METHODS["poselib-own"], name="poselib"),
    METHODS["opencv-magsac"].changed("opencv-magsac", confidence=0.999, max_iterations=10_000),
    Method("superansac", {"sampler": "Uniform"}, METHODS["superansac"].library, sized=True),
)
PEER = PEERS[0]
"""The other library of all tables."""


def task_of(scene: Scene, seed: int) -> Task:
    """Return the task of a scene: its points and scores, and its camera matrices where the problem needs them."""
    count = 1 if scene.problem in ("circle", "line", "plane") else 2
    known = {} if count == 1 else {"size1": scene.truth.size1, "size2": scene.truth.size2}
    threshold = THRESHOLDS.get(scene.problem)
    points, cameras = scene.data[:count], scene.data[count:]
    return Task(scene.problem, points, cameras, scene.scores, threshold, seed=seed, **known)


def choose(names: Sequence[str] | None) -> tuple[list[Method], list[str]]:
    """Return the named methods and no notes, or all that are installed and notes on the others."""
    known = {method.name: method for method in (*OURS, *PEERS)}
    methods = [known[name] for name in (known if names is None else dict.fromkeys(names))]
    require(methods if names is not None else ())
    return [method for method in methods if method.installed], left_out(methods)


def left_out(methods: Iterable[Method]) -> list[str]:
    """Return notes on the methods that are not installed."""
    missing = (method for method in methods if not method.installed)
    return [f"{method.name} is left out: {method.package} is not installed" for method in missing]


def run_scene(
    scene: Scene, methods: Iterable[Method], key: str, seed: int, judge: Callable[[Scene, Any], Row]
) -> list[Row]:
    """Compare the installed methods on a scene; ``judge`` returns columns of a row from a model.

    A result with a second hypothesis has these columns for it, too, with the prefix "rival_".
    """

    def judged(_: str, estimate: Estimate) -> Row:
        row: Row = {"found": estimate.model is not None, "success": estimate.success}
        if (result := estimate.result) is not None:
            row |= {of: getattr(result, of) for of in ("configuration", "stop_reason", "iterations", "threshold")}
            if (rival := getattr(result, "rival", None)) is not None:
                row |= {f"rival_{name}": value for name, value in judge(scene, rival.model).items()}
        return {**row, **judge(scene, estimate.model)}

    return compare(calls_of(methods, task_of(scene, seed)), judged, key)


def run_on_scenes(
    columns: Sequence[str],
    make: Callable[..., Scene],
    methods: Callable[..., Iterable[Method]],
    judge: Callable[[Scene, Any], Row],
) -> Callable[[Any, Unit], list[Row]]:
    """Return the function ``run_unit`` of a comparison on scenes, whose units have values of columns and a repeat.

    ``make(*values, seed)`` returns a scene, ``methods(setup, *values)`` its methods.
    """
    return functools.partial(_run_on_scenes, columns, make, methods, judge)


def _run_on_scenes(columns: Any, make: Any, methods: Any, judge: Any, setup: Any, unit: Unit) -> list[Row]:
    *values, repeat = unit.payload
    seed = setup.seed + repeat
    cell: Row = {**dict(zip(columns, values, strict=True)), "seed": seed}
    return [cell | row for row in run_scene(make(*values, seed), methods(setup, *values), unit.key, seed, judge)]


def load_kernels(scenes: Iterable[Scene], methods: Iterable[Method]) -> None:
    """Load or compile all kernels of our methods by calls on every scene, with right and with wrong matches."""
    tasks = [task for scene in scenes for task in (task_of(scene, 0), task_of(scene, 0).mismatched())]
    for method, task in itertools.product((method for method in methods if method.ours), tasks):
        method.estimate(task)
