"""Relative poses where most inliers lie on one plane with a repeated pattern.

The plane is 8 to 20 baselines away and has 60 to 95 % of the inliers. Its features are nodes of a lattice with a period
of 20 px. Half of the outliers are further nodes, matched with a neighbouring node, one period away in the plane: to the
left or right ("row"), or in one of four directions ("grid"). In each direction they agree with one homography. The
other outliers are unrelated points. The inliers off the plane are at .5 to .8 or 1.25 to 2 times its depth. The noise
is .5 px.

A pose is wrong if the rotation or the direction of the translation is off by more than 5 degrees. It is claimed if the
result is a success with the configuration "general". PoseLib has no such verdicts: each of its poses is a claim. A
wrong pose is misled if it has more support (matches within three standard deviations) than the true one: no search
avoids it by its score alone.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bansac.geometry import apply_transform, essential_from_pose
from bansac.synthetic import SceneMatches
from bansac.synthetic.two_views import camera_pair, disturb, draw_plane, image_extent, rigid_scene, viewing_rays
from bansac_lab.frames import to_frame
from bansac_lab.measurement import FIRST_SEED, SCENES, Report, Row, Setup, Unit, each, of_module
from bansac_lab.peers.library import Array
from bansac_lab.scenes import OURS, PEER, PEERS, Scene, errors, load_kernels, run_scene, scene_of
from bansac_lab.tables import percent, sectioned
from bansac_lab.task import squared_distances

PATTERNS = {"row": "repeated in a row", "grid": "repeated in a grid"}
_DIRECTIONS = {"step": 1, "row": 2, "grid": 4}
SHARES = (0.6, 0.8, 0.9, 0.95)
RATIOS = (0.4, 0.6)
MATCHES, NOISE, SEEDS = 400, 0.5, 10
WRONG = 5.0  # degrees
_COUNTS = ("wrong", "claimed", "misled")
_SIZE = (480, 640)
_PERIOD = 0.25  # in baselines, of a plane at 8 baselines

_DEFAULT, _, _ACCURATE, _ = OURS

METHODS = tuple(
    method.changed(f"{method.name}{name}", **settings)
    for method in (_DEFAULT, _ACCURATE, PEER)
    for name, settings in (("", {}), (" at 0.5 px", {"threshold": 0.5}), (" at 1 px", {"threshold": 1.0}))
    if (method, name) != (PEER, "")  # its default is 1 px
)


def repeated_plane_matches(
    pattern: str, n: int = MATCHES, inlier_ratio: float = 0.5, plane_share: float = 0.8, seed: int = 0
) -> SceneMatches:
    """Return ``n`` matches of a scene with a repeated pattern on a plane, "row", "grid", or "step": one direction.

    ``plane_share`` is the share of the inliers on the plane. The result also has ``on_plane`` and ``H``.
    """
    rng = np.random.default_rng(seed)
    extent = image_extent(_SIZE)
    cameras = camera_pair(_SIZE, extent, rng)
    K, R, t = cameras[:3]
    normal, distance = draw_plane(rng, 40)
    scale = rng.uniform(1, 2.5)
    distance *= scale
    true = round(inlier_ratio * n)
    on, shifted = round(plane_share * true), (n - true) // 2

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    rays = viewing_rays(K, x1)
    depth = distance / (rays @ normal)
    factor = rng.uniform(1.25, 2, n)
    points = rays * (depth * np.where(rng.random(n) < 0.5, factor, 1 / factor))[:, None]
    nodes, steps = _lattice(K, normal, distance, _PERIOD * scale, extent)
    points[: on + shifted] = nodes[rng.choice(len(nodes), on + shifted, replace=len(nodes) < on + shifted)]
    matched = points.copy()
    directions = steps[: _DIRECTIONS[pattern]]
    matched[on : on + shifted] += directions[rng.integers(0, len(directions), shifted)]

    kind = np.repeat([0, 1, 2, 3], [on, shifted, true - on, n - true - shifted])
    order = rng.permutation(n)
    points, matched, kind = points[order], matched[order], kind[order]
    x1, x2 = apply_transform(K, points), apply_transform(K, matched @ R.T + t)
    disturb(x1, x2, kind < 3, NOISE, extent, rng)
    scene = rigid_scene(x1, x2, cameras, points, np.isin(kind, (0, 2)), _SIZE)
    H = K @ (R + np.outer(t, normal) / distance) @ np.linalg.inv(K)
    return dataclasses.replace(scene, on_plane=kind == 0, H=H / H[2, 2])


def _lattice(K: Array, normal: Array, distance: float, period: float, extent: Array) -> tuple[Array, Array]:
    """Return the nodes of a lattice of the plane that image 1 sees, and the steps to its four neighbours."""
    across = np.cross([0.0, 1.0, 0.0], normal)
    across /= np.linalg.norm(across)
    down = np.cross(normal, across)
    steps = period * np.arange(-40, 41)
    a, b = (grid.ravel()[:, None] for grid in np.meshgrid(steps, steps))
    nodes = distance * normal + a * across + b * down
    nodes = nodes[nodes[:, 2] > 1]
    x = apply_transform(K, nodes)
    return nodes[((x >= 0) & (x <= extent)).all(axis=1)], period * np.array([across, -across, down, -down])


def make_plane_scene(pattern: str, inlier_ratio: float, plane_share: float, seed: int) -> Scene:
    """Return a scene with a repeated pattern."""
    return scene_of("relative pose", repeated_plane_matches(pattern, MATCHES, inlier_ratio, plane_share, seed))


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Run all methods on a scene."""
    pattern, share, ratio, repeat = unit.payload
    seed = setup.seed + repeat
    scene = make_plane_scene(pattern, ratio, share, seed)
    cell: Row = {"pattern": pattern, "plane_share": share, "inlier_ratio": ratio, "seed": seed}
    cell["true_support"] = _support(scene, (scene.truth.R, scene.truth.t))
    return [cell | row for row in run_scene(scene, METHODS, unit.key, seed, _judge)]


def _judge(scene: Scene, model: Any) -> Row:
    return {**errors(scene, model), "support": 0 if model is None else _support(scene, model)}


def _support(scene: Scene, pose: Any) -> int:
    """Return the number of matches within three standard deviations of a pose."""
    R, t = pose
    inverse = np.linalg.inv(scene.truth.K1)
    squared = squared_distances(inverse.T @ essential_from_pose(R, t) @ inverse, scene.truth, "F")
    return int(np.count_nonzero(squared <= (3 * NOISE) ** 2))


def warm_up(setup: Setup, units: Sequence[Unit]) -> None:
    """Load or compile all kernels."""
    load_kernels((make_plane_scene("row", ratio, share, 0) for ratio, share in ((0.6, 1.0), (0.4, 0.6))), METHODS)


def report(setup: Setup, rows: Iterable[Row]) -> Report:
    """Report the wrong poses and those claimed as general successes."""
    frame = to_frame(rows)
    general = frame["configuration"].fillna("general") == "general"
    frame["wrong"] = frame["pose_error"] > WRONG
    frame["misled"] = frame["wrong"] & (frame["support"] > frame["true_support"])
    frame["claimed"] = frame["wrong"] & frame["success"].astype(bool) & general
    chosen = {f"{percent(share)} % of the inliers on the plane": frame["plane_share"] == share for share in SHARES}
    sections: dict[str, dict[str, list[int]]] = {}
    for title, which in {**chosen, "all": frame["plane_share"] > 0}.items():
        cells = sections[title] = {}
        for method, runs in frame[which].groupby("method", sort=False):
            counts = (runs[runs["pattern"] == pattern][list(_COUNTS)].sum() for pattern in PATTERNS)
            cells[str(method)] = [int(count) for of_pattern in counts for count in of_pattern]
    scenes = len(frame) // (frame["method"].nunique() * len(SHARES) * len(PATTERNS))
    title = "Relative poses on a dominant plane with a repeated pattern: wrong ones"
    title += f" ({scenes} scenes a share and pattern)"
    groups = ((pattern, len(_COUNTS)) for pattern in PATTERNS.values())
    return Report(tables={"planes": sectioned(title, "method", _COUNTS * len(PATTERNS), sections, groups=groups)})


MEASUREMENT = of_module(
    __name__,
    title="Relative poses with a repeated pattern on a dominant plane",
    units=lambda setup: each(PATTERNS, SHARES, RATIOS, range(setup.repeats or SEEDS)),
    options=(SCENES, FIRST_SEED),
    packages=tuple(peer.package for peer in PEERS),
)
