"""Measure errors and times of absolute poses of synthetic scenes, compared with PoseLib and OpenCV.

The camera has 1280 x 960 px and a focal length of 1000 px. The scene is a cloud at depths of 4 to 12, a street at
depths of 2 to 100, an object of size 1 at depth 5, or a plane. The image noise is .5 px for four of five points and
2 px for the others. The noise of 3D points is .1 % of their depth, as for triangulated points. Half of the outliers are
images of other points, the other half are uniform in the image.

All methods run in turn on every scene, three times. The shortest time counts. The errors are the angle of the relative
rotation, and the distance between the camera centres divided by the median depth of the inliers. A run has failed if it
returns no pose, or if an error exceeds 1 degree or 2 %. The threshold is 4 px. The other libraries have limits of 4800
samples and a confidence of .999. PoseLib also runs with its default limits, which include a minimum of 1000 samples.
"""

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bansac.estimate.result import AbsolutePose
from bansac.geometry import homogeneous, normalise_points, rotation_matrix
from bansac_lab.comparison import calls_of, compare
from bansac_lab.frames import to_frame
from bansac_lab.measurement import Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.peers.library import Array, Estimate, Method, Task
from bansac_lab.peers.methods import METHODS
from bansac_lab.peers.opencv import OPENCV
from bansac_lab.peers.poselib import POSELIB
from bansac_lab.scenes import LIMITS, Scene, errors, left_out

WIDTH, HEIGHT, FOCAL = 1280, 960, 1000.0
K = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
THRESHOLD = 4.0
OUTLIERS = (20, 50, 80)
TIMES = 3
# One of five image errors is four times as large as the others.
SIGMA, WIDE, WIDE_SHARE = 0.5, 4.0, 0.2
SIGMA_SPACE = 1e-3

_THRESHOLD = {"threshold": THRESHOLD}
OURS = tuple(METHODS[name].changed(name, **_THRESHOLD) for name in ("default", "fast", "accurate"))
PEERS = (
    Method("poselib", {"min_iterations": 10}, POSELIB),
    Method("poselib-own", _THRESHOLD, POSELIB, own_limits=True),
    Method("opencv-iterative", {"flag": "SOLVEPNP_ITERATIVE"}, OPENCV),
    Method("opencv-p3p", {"flag": "SOLVEPNP_P3P"}, OPENCV),
    Method("opencv-usac", {"flag": "USAC_DEFAULT"}, OPENCV),
    Method("opencv-accurate", {"flag": "USAC_ACCURATE"}, OPENCV),
    Method("opencv-magsac", {"flag": "USAC_MAGSAC"}, OPENCV),
)


# Depths of rays in each kind of scene.
SCENES: Mapping[str, Callable[[Array, np.random.Generator], Array]] = {
    "cloud": lambda rays, rng: rng.uniform(4, 12, len(rays)),
    "street": lambda rays, rng: np.exp(rng.uniform(np.log(2), np.log(100), len(rays))),
    "object": lambda rays, rng: rng.uniform(4.5, 5.5, len(rays)),
    "plane": lambda rays, rng: np.asarray(8 / (rays @ rng.uniform(-0.5, 0.5, 2) + 1.0)),
}


def make_scene(kind: str, n: int, outliers: int, seed: int) -> Scene:
    """Return a kind of scene with the given percentage of outliers."""
    rng = np.random.default_rng(seed)
    size = np.array([WIDTH, HEIGHT])
    span = 200 / size if kind == "object" else np.array([1.0, 1.0])
    x = size * (0.5 + (rng.uniform(size=(n, 2)) - 0.5) * span)
    rays = normalise_points(K, x)
    z = SCENES[kind](rays, rng)
    seen = homogeneous(rays) * z[:, None]
    R, t = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 5
    X = (seen - t) @ R + rng.normal(size=(n, 3)) * (SIGMA_SPACE * z[:, None])
    sigma = np.where(rng.random(n) < WIDE_SHARE, WIDE * SIGMA, SIGMA)
    x = x + rng.normal(size=(n, 2)) * sigma[:, None]
    wrong = rng.permutation(n)[: n * outliers // 100]
    half = wrong[: len(wrong) // 2]
    x[half] = rng.permutation(x)[: len(half)]
    x[wrong[len(half) :]] = rng.uniform(size=(len(wrong) - len(half), 2)) * size
    return Scene("pose", (X, x, K), ~np.isin(np.arange(n), wrong), AbsolutePose(R, t))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the figures of all methods on the scenes with a share of outliers."""
    (outliers,) = unit.payload
    rows: list[Row] = []
    for name, of in to_frame(_runs(setup, outliers)).groupby("method", sort=False):
        failed = (of["rotation_error"] > LIMITS["rotation_error"]) | (of["centre_error"] > LIMITS["centre_error"])
        figures = {"degrees_median": float(of["rotation_error"].median()), "failed": float(failed.mean())}
        rows.append({"outliers": outliers, "method": name, **figures, "ms_mean": 1e3 * float(of["seconds"].mean())})
    return rows


def _runs(setup: Setup, outliers: int) -> Iterator[Row]:
    """Yield the errors and the time of each method on each scene."""
    kinds = (kind for _ in range(setup.runs) for kind in SCENES)
    for seed, kind in enumerate(kinds):
        scene = make_scene(kind, setup.points, outliers, seed // len(SCENES))
        task = Task("pose", scene.data[:2], (K,), None, THRESHOLD, 0.999, 4800, seed)
        judge = functools.partial(_judge, scene)
        yield from compare(calls_of((*OURS, *PEERS), task), judge, f"{outliers}/{seed}", TIMES)


def _judge(scene: Scene, _: str, found: Estimate) -> Row:
    return {**errors(scene, found.model if found.success else None)}


MEASUREMENT = of_module(
    __name__,
    title="Absolute poses of synthetic scenes",
    units=lambda setup: each(OUTLIERS),
    report=lambda setup, rows: Report(
        records={"runs": setup.runs, "points": setup.points, "outliers": nested(rows, "outliers", "method")},
        notes=left_out(PEERS),
    ),
    options=(
        Option("runs", int, 20, "Scenes of a kind.", least=1),
        Option("points", int, 500, "Points of a scene.", least=4),
    ),
    packages=("poselib", "cv2"),
)
