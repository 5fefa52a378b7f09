"""Relative poses where most inliers lie on one plane with a repeated pattern.

The features on the plane are nodes of a lattice of the plane (a period of 20 px at its distance). Half of the outliers
are further nodes, matched with a neighbouring node, one period to the left or right in the plane. They agree with each
other: each direction is a homography of its own. The other outliers are unrelated points. The inliers off the plane are
at .5 to .8 or 1.25 to 2 times its depth. The noise is .5 px.

A pose is wrong if the rotation or the direction of the translation is off by more than 5 degrees. It is claimed if the
result is a success with the configuration "general". PoseLib has no such verdicts: each of its poses is a claim.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bansac.batch.journal import Row, Unit
from bansac.batch.versions import installed_versions
from bansac.geometry import apply_transform
from bansac.lab.evaluation.experiment import Experiment, Report, Setup
from bansac.lab.evaluation.hard.estimators import CODE, POSELIB, Estimator, load_kernels, run_scene
from bansac.lab.evaluation.hard.scenes import Array, Scene, errors
from bansac.lab.evaluation.summary import import_pandas
from bansac.lab.evaluation.tables import Section, Table, TableRow, percent
from bansac.synthetic import SceneMatches
from bansac.synthetic.two_views import camera_pair, disturb, draw_plane, image_extent, rigid_scene, viewing_rays

if TYPE_CHECKING:
    from pandas import DataFrame

SHARES = (0.6, 0.8, 0.9, 0.95)
RATIOS = (0.4, 0.6)
MATCHES, NOISE, SEEDS = 400, 0.5, 20
WRONG = 5.0  # degrees
_SIZE = (480, 640)
_PERIOD = 0.25  # in baselines; the plane is at 8 baselines

ESTIMATORS = tuple(
    dataclasses.replace(estimator, name=f"{estimator.name}{name}", settings={**estimator.settings, **settings})
    for estimator in (Estimator("default"), Estimator("accurate", {"preset": "accurate"}), POSELIB)
    for name, settings in (("", {}), (" at 0.5 px", {"threshold": 0.5}), (" at 1 px", {"threshold": 1.0}))
    if (estimator, name) != (POSELIB, "")  # its default is 1 px
)


def repeated_plane_matches(
    n: int = MATCHES, inlier_ratio: float = 0.5, plane_share: float = 0.8, noise: float = NOISE, seed: int = 0
) -> SceneMatches:
    """Return matches of a scene with a repeated pattern on a plane.

    Parameters
    ----------
    n : int
        Number of matches.
    inlier_ratio : float
        Fraction of inliers. Half of the others are off by one period.
    plane_share : float
        Fraction of the inliers on the plane.
    noise : float
        Standard deviation of every coordinate, except of unrelated points.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    SceneMatches
        Matches in random order, with ``inliers``, ``on_plane`` and the poses of the cameras.

    Examples
    --------
    >>> scene = repeated_plane_matches(100, 0.6, 0.9)
    >>> int(scene.inliers.sum()), int(scene.on_plane.sum())
    (60, 54)
    """
    rng = np.random.default_rng(seed)
    extent = image_extent(_SIZE)
    cameras = camera_pair(_SIZE, extent, rng)
    K, R, t = cameras[:3]
    normal, distance = draw_plane(rng, 40)
    true = round(inlier_ratio * n)
    on, shifted = round(plane_share * true), (n - true) // 2

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    rays = viewing_rays(K, x1)
    depth = distance / (rays @ normal)
    factor = rng.uniform(1.25, 2, n)
    points = rays * (depth * np.where(rng.random(n) < 0.5, factor, 1 / factor))[:, None]
    nodes, step = _lattice(K, normal, distance, extent)
    points[: on + shifted] = nodes[rng.choice(len(nodes), on + shifted, replace=len(nodes) < on + shifted)]
    matched = points.copy()
    matched[on : on + shifted] += rng.choice([-1.0, 1.0], (shifted, 1)) * step

    kind = np.repeat([0, 1, 2, 3], [on, shifted, true - on, n - true - shifted])
    order = rng.permutation(n)
    points, matched, kind = points[order], matched[order], kind[order]
    x1, x2 = apply_transform(K, points), apply_transform(K, matched @ R.T + t)
    disturb(x1, x2, kind < 3, noise, extent, rng)
    scene = rigid_scene(x1, x2, cameras, points, np.isin(kind, (0, 2)), _SIZE)
    return dataclasses.replace(scene, on_plane=kind == 0)


def _lattice(K: Array, normal: Array, distance: float, extent: Array) -> tuple[Array, Array]:
    """Return the nodes of a lattice of the plane that image 1 sees, and the step to the neighbour on the right."""
    across = np.cross([0.0, 1.0, 0.0], normal)
    across /= np.linalg.norm(across)
    down = np.cross(normal, across)
    steps = _PERIOD * np.arange(-40, 41)
    a, b = (grid.ravel()[:, None] for grid in np.meshgrid(steps, steps))
    nodes = distance * normal + a * across + b * down
    nodes = nodes[nodes[:, 2] > 1]
    x = apply_transform(K, nodes)
    return nodes[((x >= 0) & (x <= extent)).all(axis=1)], _PERIOD * across


def make_plane_scene(n: int, inlier_ratio: float, plane_share: float, seed: int) -> Scene:
    """Return a scene for :class:`.Estimator`."""
    matches = repeated_plane_matches(n, inlier_ratio, plane_share, seed=seed)
    assert matches.K1 is not None
    assert matches.inliers is not None
    return Scene("relative pose", (matches.x1, matches.x2, matches.K1), matches.inliers, matches)


def _estimators() -> list[Estimator]:
    return [estimator for estimator in ESTIMATORS if estimator.installed]


def units(setup: Setup) -> list[Unit]:
    """Return one unit for each scene."""
    return [
        Unit(f"{percent(share)}/{percent(ratio)}/{seed}", (share, ratio, seed))
        for share in SHARES
        for ratio in RATIOS
        for seed in range(SEEDS if setup.repeats is None else setup.repeats)
    ]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all estimators on a scene."""
    share, ratio, repeat = unit.payload
    seed = setup.seed + repeat
    scene = make_plane_scene(MATCHES, ratio, share, seed)
    cell: Row = {"plane_share": share, "inlier_ratio": ratio, "seed": seed}
    judge = functools.partial(_judge, scene)
    return [cell | row for row in run_scene(scene, _estimators(), unit.key, seed, judge)]


def _judge(scene: Scene, model: Any) -> Row:
    return {**errors(scene, model)}


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile all kernels."""
    scenes = (make_plane_scene(MATCHES, ratio, share, 0) for ratio, share in ((0.6, 1.0), (0.4, 0.6), (0.0, 0.0)))
    load_kernels(scenes, [estimator for estimator in ESTIMATORS if estimator.package == "bansac"])


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the wrong poses and those claimed as general successes; cells are a record."""
    frame = import_pandas().DataFrame(list(rows))
    general = frame["configuration"].fillna("general") == "general"
    frame["wrong"] = frame["pose_error"] > WRONG
    frame["claimed"] = frame["wrong"] & frame["success"].astype(bool) & general
    groups = frame.groupby(["plane_share", "inlier_ratio", "method"], sort=False)
    cells = groups.agg(runs=("wrong", "size"), wrong=("wrong", "sum"), claimed=("claimed", "sum"))
    cells = cells.join(groups["seconds"].mean()).reset_index()
    return Report(tables={"planes": _table(frame)}, records={"cells": cells.to_dict("records")})


def _table(frame: DataFrame) -> Table:
    lines: list[TableRow | Section] = []
    for title, column in (("Wrong poses", "wrong"), ("Wrong poses claimed as general success", "claimed")):
        lines.append(Section(title))
        for method, runs in frame.groupby("method", sort=False):
            counts = [f"{int(chosen.sum())}" for chosen in (runs[column][runs["plane_share"] == s] for s in SHARES)]
            lines.append(TableRow((str(method),), (*counts, f"{int(runs[column].sum())} of {len(runs)}")))
    columns = (*(f"{percent(share)} % on the plane" for share in SHARES), "all")
    return Table("Repeated pattern on a dominant plane: relative poses", ("method",), columns, tuple(lines))


EXPERIMENT = Experiment(
    name="planes",
    title="Relative poses with a repeated pattern on a dominant plane",
    reference="",
    needs_data=False,
    defaults=f"{SEEDS} seeds",
    units=units,
    run_unit=run_unit,
    report=report,
    settings=("repeats",),
    warm_up=warm_up,
    values=(CODE, installed_versions([POSELIB.package])),
)
