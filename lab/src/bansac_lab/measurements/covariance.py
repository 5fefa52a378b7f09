"""Check covariances by simulation: normalised squared errors and the coverage of 95 % regions.

Every run has new data, see ``known_scene``, with a noise of .5. The error of the estimate is expressed in the
parameters of ``bansac.covariance``. Its square, normalised by the covariance, has a chi-square distribution if the
covariance is right. Divided by the number of parameters, its mean is then 1, and 95 % of the runs lie below the 95 %
quantile. Runs without success, and those whose inliers do not determine the model, do not count.

Some cases are awkward: matches that occur three times, few matches or few inliers, a corridor along the optical axis,
a long lens, and depths. They have a second table, with the share of the covariances that are doubted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import bansac
from bansac.geometry import apply_transform
from bansac.synthetic import epipolar_matches, with_depths
from bansac.synthetic.mask import draw_inliers
from bansac.synthetic.two_views import camera_pair, image_extent, observe, viewing_rays
from bansac_lab.known_scenes import FUNCTIONS, SCENES, KnownScene, known_scene
from bansac_lab.measurement import Document, Option, Report, Row, Setup, Unit, each, nested, of_module
from bansac_lab.reports import share
from bansac_lab.tables import Table, plain_table

NOISE, COVERED = 0.5, 0.95
_SIZE = (480, 640)
_FORWARD = np.array([0.05, 0.02, 1.0])

Draw = Callable[[str, int], KnownScene]


def _plain(n: int, inlier_ratio: float) -> Draw:
    return lambda name, seed: known_scene(name, n, inlier_ratio, NOISE, seed)


def _repeated(name: str, seed: int, *, own: float = 0.0) -> KnownScene:
    """Return 300 matches, half of them inliers, three times; each image point has an error of its own, too."""
    scene, rng = known_scene(name, 300, 0.5, NOISE, seed), np.random.default_rng([seed, 1])
    copies = rng.permutation(np.tile(np.arange(300), 3))
    moved = [x[copies] + (x.shape[1] == 2) * rng.normal(0, own, (900, x.shape[1])) for x in scene.arguments[:2]]
    return KnownScene((*moved, *scene.arguments[2:]), scene.inliers[copies], scene.model)


def _views(
    name: str,
    seed: int,
    *,
    inlier_ratio: float,
    focal_ratio: float = 1.0,
    depths: tuple[float, float] | None = None,
) -> KnownScene:
    """Return 500 matches of points with random depths, without them of the walls of a corridor along the motion."""
    rng, inliers = draw_inliers(500, inlier_ratio, NOISE, seed)
    extent = image_extent(_SIZE)
    motion = _FORWARD if depths is None else None
    K, R, t, *_ = cameras = camera_pair(_SIZE, extent, rng, focal_ratio=focal_ratio, t=motion)
    if depths is None:
        depth, along, wall = 4 * 25 ** rng.random(500), rng.uniform(-1, 1, 500), rng.integers(0, 4, 500)
        x, y = np.where(wall < 2, [along, 2 * wall - 1], [2 * wall - 5, along])
        points = np.column_stack([2 * x, 1.5 * y, depth])
        x1 = apply_transform(K, points)
    else:
        x1 = rng.uniform(0, 1, (500, 2)) * extent
        points = viewing_rays(K, x1) * rng.uniform(*depths, (500, 1))
    scene = observe(x1, points, cameras, inliers, NOISE, _SIZE, rng)
    return KnownScene((scene.x1, scene.x2, K, K), inliers, np.append(R, t))


def _depths(name: str, seed: int, *, inlier_ratio: float, **errors: Any) -> KnownScene:
    """Return 200 matches with depths; t is in the unit of the first ones, and the scale is a number of the model."""
    scene: Any = epipolar_matches(200, inlier_ratio, NOISE, seed)
    measured = with_depths(scene, seed=seed, **errors)
    exact: Any = with_depths(scene, seed=seed, **(errors | {"depth_noise": 0.0, "shift": 0.0}))
    k = np.argmax(scene.inliers)
    first = exact.depth1[k] / scene.points[k, 2]
    second = exact.depth2[k] / (scene.R @ scene.points[k] + scene.t)[2]
    numbers = np.concatenate([scene.R.ravel(), first * scene.t, [second / first]])
    depths: Any = {"depth1": measured.depth1, "depth2": measured.depth2}
    return KnownScene((scene.x1, scene.x2, scene.K, scene.K), scene.inliers, numbers, depths)


CASES = {"300 points": _plain(300, 1.0), "300 points, half outliers": _plain(300, 0.5), "60 points": _plain(60, 1.0)}
"""Cases of all estimators."""

_MATCHES, _POSE = ("homography", "fundamental", "relative_pose", "absolute_pose"), ("relative_pose",)
_WITH_DEPTHS = {
    "depths, noise of 2 %": partial(_depths, inlier_ratio=0.5, depth_noise=0.02),
    "depths, noise of 5 %": partial(_depths, inlier_ratio=0.5),
    "depths, noise of 5 %, smooth": partial(_depths, inlier_ratio=0.5, smooth=True),
    "depths, noise of 5 %, smooth, 20% inliers": partial(_depths, inlier_ratio=0.2, smooth=True),
    "depths, noise of 5 %, shift of 0.5": partial(_depths, inlier_ratio=0.5, shift=0.5),
    "depths, noise of 20 %, smooth": partial(_depths, inlier_ratio=0.5, depth_noise=0.2, smooth=True),
}
AWKWARD: dict[str, tuple[tuple[str, ...], Draw]] = {
    "every match three times": (_MATCHES, _repeated),
    "three detections of every point": (_MATCHES, partial(_repeated, own=0.1)),
    "6 matches": (("absolute_pose",), _plain(6, 1.0)),
    **{f"500 matches, {ratio:.0%} inliers": (("essential",), _plain(500, ratio)) for ratio in (0.2, 0.3)},
    **{f"corridor, {ratio:.0%} inliers": (_POSE, partial(_views, inlier_ratio=ratio)) for ratio in (0.3, 0.5)},
    "long lens": (_POSE, partial(_views, inlier_ratio=0.5, focal_ratio=4.0, depths=(4, 12))),
    "long lens, distant points": (_POSE, partial(_views, inlier_ratio=0.5, focal_ratio=8.0, depths=(40, 60))),
    **{case: (_POSE, draw) for case, draw in _WITH_DEPTHS.items()},
}
"""Awkward cases, with their estimators."""


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each estimator and case."""
    problems = dict.fromkeys(setup.problems)
    return [*each(problems, CASES), *(u for u in each(problems, AWKWARD) if u.payload[0] in AWKWARD[u.payload[1]][0])]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Return the mean of the normalised errors over that of chi-square, the coverage, and the share of doubts."""
    from scipy.stats import chi2  # type: ignore[import-untyped]

    name, case = unit.payload
    draw = CASES[case] if case in CASES else AWKWARD[case][1]
    runs = (normalised_error(name, draw(name, seed), seed) for seed in range(setup.runs))
    errors = [run for run in runs if run is not None]
    if not errors:
        raise ValueError("no run has success")
    squares, (parameters, *_), doubted = map(np.array, zip(*errors, strict=True))
    inside = squares <= chi2.ppf(COVERED, parameters)
    cell: Row = {"problem": name, "case": case, "parameters": int(parameters), "runs": len(squares)}
    return [
        {
            **cell,
            "mean": float(squares.mean() / parameters),
            "coverage": float(inside.mean()),
            "doubted": float(doubted.mean()),
            "coverage_without_doubt": float(inside[~doubted].mean()) if not doubted.all() else None,
        }
    ]


def normalised_error(name: str, scene: KnownScene, seed: int) -> tuple[float, int, bool] | None:
    """Return the normalised squared error, the number of parameters, and whether there is a doubt; None without."""
    result = FUNCTIONS[name](*scene.arguments, seed=seed, **scene.depths)
    if not result.success or (scene.depths and result.model.scale is None):
        return None
    try:
        covariance = bansac.covariance(name, result, *scene.arguments, **scene.depths)
    except ValueError:  # undetermined
        return None
    numbers, true = np.concatenate([np.ravel(part) for part in result.model]), scene.model.ravel()
    change = true - (np.append(numbers, result.model.scale) if scene.depths else numbers)
    if name in ("line", "plane", "essential", "fundamental"):  # of either sign
        change = min(change, -true - numbers, key=np.linalg.norm)
    if name == "ellipse":
        change[4] = (change[4] + np.pi / 2) % np.pi - np.pi / 2
    error = np.linalg.lstsq(covariance.basis.T, change, rcond=None)[0]
    return float(error @ np.linalg.pinv(covariance.matrix) @ error), error.size, bool(covariance.doubt)


def table(document: Document) -> Table:
    """Return the table of the mean normalised errors and of the coverage."""
    rows = []
    for name, of in document["problems"].items():
        cells = (f"{of[case]['mean']:.2f}, {share(of[case]['coverage'])}" for case in CASES)
        rows.append([f"`{name}`", str(next(iter(of.values()))["parameters"]), *cells])
    return plain_table(["estimator", "parameters", *CASES], rows)


def awkward_table(document: Document) -> Table:
    """Return the table of the cases with depths or with doubts: coverage, doubts, and the coverage of the others."""
    rows = []
    for case, name in ((case, name) for case, (names, _) in AWKWARD.items() for name in names):
        cell = document["problems"].get(name, {}).get(case)
        if cell is not None and (case in _WITH_DEPTHS or cell["doubted"] >= 1.0 - COVERED):
            rest = cell["coverage_without_doubt"]
            figures = (share(cell["coverage"]), share(cell["doubted"]), "" if rest is None else share(rest))
            rows.append([case, f"`{name}`", *figures])
    return plain_table(["data", "estimator", "coverage", "doubted", "coverage without doubt"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Errors and coverage of the covariances",
    units=units,
    report=lambda setup, rows: Report(records={"runs": setup.runs, "problems": nested(rows, "problem", "case")}),
    options=(
        Option("runs", int, 300, "Runs of an estimator and a case.", least=1),
        Option("problems", tuple[str, ...], SCENES, "Only these, joined by commas.", choices=SCENES),
    ),
    tables={"covariances": table, "awkward-covariances": awkward_table},
    packages=("scipy",),
)
