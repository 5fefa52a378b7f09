"""Scenes with two structures, by class: the true one, and a wrong one that misleads estimators.

The images have 640 x 480 pixels. Matches of no structure are unrelated points. The numbers of points vary by factors
of up to 2 with the seed, the noise by up to sqrt(2); its mean is in pixels.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import numpy as np

from bansac.estimate.absolute_pose import reprojection_errors
from bansac.estimate.cameras import refine_in_image
from bansac.geometry import apply_transform, essential_from_pose, rotation_matrix
from bansac.geometry.camera import Camera
from bansac.matches.demo import load_demo
from bansac.maths.arrays import Bools
from bansac.synthetic import SceneMatches, epipolar_matches, homography_matches, planar_scene_matches
from bansac.synthetic.two_views import (
    camera_pair,
    disturb,
    draw_plane,
    image_extent,
    observe,
    rigid_scene,
    viewing_rays,
)
from bansac_lab.metrics import rotation_error
from bansac_lab.peers.library import Array
from bansac_lab.scenes import Scene, make_scene, scene_of

SIZE = (480, 640)
LIMIT = 5.0
"""Largest error of a right model: pixels, degrees, or per cent of the depth."""
PLANE_NOISE = 4.0  # the largest error of a right plane, 5, is less than a third of the gap

OVERLAYS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    "stamp": ((0.72, 0.92, 0.97, 0.96),),
    "HUD": ((0.03, 0.03, 0.25, 0.08), (0.75, 0.03, 0.97, 0.08), (0.03, 0.91, 0.2, 0.97), (0.8, 0.86, 0.97, 0.97)),
    "dashboard": ((0.0, 0.83, 1.0, 1.0),),
}
"""Left, upper, right and lower edges of the fields of every overlay, as shares of the image size."""

STATIC_NOISE = 0.1  # pixels

SHARES, RATIOS = (0.6, 0.8, 0.9, 0.95), (0.4, 0.6)
"""Shares of the inliers on dominant planes, and shares of inliers."""

_DIRECTIONS = {"step": 1, "row": 2, "grid": 4}
_PERIOD = 0.25  # in baselines, of a plane at 8 baselines


def vary(seed: int, stream: int, n: int, noise: float) -> tuple[np.random.Generator, int, float]:
    """Return a generator, and the number of points and the noise that vary by its first values."""
    rng = np.random.default_rng([seed, stream])
    return rng, round(n * 2 ** rng.uniform(-1, 1)), float(noise * 2 ** rng.uniform(-0.5, 0.5))


# --- Overlays: static matches ---


def add_overlay(matches: Any, share: float, rng: np.random.Generator, kind: str = "") -> tuple[Any, Bools]:
    """Replace outliers by the static matches of an overlay of any or the given kind; return matches and their mask."""
    mask = ~matches.inliers & (np.cumsum(~matches.inliers) <= round(share * len(matches)))
    fields = rng.choice(OVERLAYS[kind or str(rng.choice(list(OVERLAYS)))], np.count_nonzero(mask))
    x1, x2 = matches.x1.copy(), matches.x2.copy()
    x1[mask] = rng.uniform(fields[:, :2], fields[:, 2:]) * matches.size1[::-1]
    x2[mask] = x1[mask] + rng.normal(0, STATIC_NOISE, x1[mask].shape)
    return dataclasses.replace(matches, x1=x1, x2=x2), mask


def overlaid_pair(pair: Any, fields: Array, rng: np.random.Generator) -> Any:
    """Return a real pair with static matches added in fields of an overlay: 10 to 60 % of the matches."""
    share, n = rng.uniform(0.1, 0.6), len(pair.x1)
    chosen = rng.choice(fields, round(share / (1 - share) * n))
    still = rng.uniform(chosen[:, :2], chosen[:, 2:]) * pair.x1.max(axis=0)
    x1, x2 = np.vstack([pair.x1, still]), np.vstack([pair.x2, still + rng.normal(0, STATIC_NOISE, still.shape)])
    inliers = np.append(pair.inliers, np.zeros(len(still), np.bool_))
    return dataclasses.replace(pair, x1=x1, x2=x2, inliers=inliers)


def _plane(
    seed: int, true: float, static: float, *, n: int = 1000, noise: float = 1.0, kind: str = "", scored: bool = False
) -> Scene:
    """Return a plane with an overlay; if ``scored``, the overlay has the best scores."""
    rng, n, noise = vary(seed, 1, n, noise)
    matches, on_overlay = add_overlay(homography_matches(n, true, noise, seed), static, rng, kind)
    levels = np.where(on_overlay, 2, matches.inliers)
    scores = rng.uniform(np.choose(levels, [0.0, 0.4, 0.8]), np.choose(levels, [0.6, 0.8, 1.0]))
    return scene_of("H", matches, scores if scored else None)


def _overlaid_pose(seed: int) -> Scene:
    """Return a relative pose with 40 to 60 % inliers and a HUD or a dashboard of 20 %."""
    rng, n, noise = vary(seed, 2, 1000, 0.5)
    matches = epipolar_matches(n, rng.uniform(0.4, 0.6), noise, seed)
    return scene_of("relative pose", add_overlay(matches, 0.2, rng, str(rng.choice(["HUD", "dashboard"])))[0])


def _logo(seed: int) -> Scene:
    """Return the demo pair with a logo of 300 matches with the best scores."""
    rng = np.random.default_rng([seed, 3])
    demo = load_demo()
    matches, on_logo = add_overlay(demo, 300 / len(demo), rng)
    return scene_of("H", matches, np.where(on_logo, rng.uniform(0.9, 1.0, len(demo)), demo.scores))  # type: ignore[arg-type]


# --- Wrong matches with a structure of their own ---


def _moving_object(problem: str, seed: int) -> Scene:
    """Return a scene with 35 % inliers and a rigid moving object: 25 % of the matches, in an eighth of the image."""
    rng, n, noise = vary(seed, 4, 800, 0.5)
    matches: Any = epipolar_matches(n, 0.35, noise, seed)
    moving = rng.permutation(np.flatnonzero(~matches.inliers))[: round(0.25 * n)]
    x = (rng.uniform(0.05, 0.6, 2) + rng.uniform(0, 0.35, (len(moving), 2))) * image_extent(SIZE)
    points = viewing_rays(matches.K1, x) * (rng.uniform(4, 8) + rng.uniform(-0.7, 0.7, (len(moving), 1)))
    centre, axis, step = points.mean(axis=0), *(v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
    turned = (points - centre) @ rotation_matrix(axis * np.radians(rng.uniform(3, 10))).T
    points = turned + centre + step * rng.uniform(0.3, 0.6)
    matches.x1[moving] = x + rng.normal(0, noise, x.shape)
    x = apply_transform(matches.K2, points @ matches.R.T + matches.t)
    matches.x2[moving] = x + rng.normal(0, noise, x.shape)
    return scene_of(problem, matches)


def _hardly_moved(
    problem: str, stream: int, n: int, shares: tuple[float, float], widths: tuple[float, float], seed: int
) -> Scene:
    """Return a scene whose outliers are displaced by at most a width along each axis, as in a search window."""
    rng, n, noise = vary(seed, stream, n, 0.5)
    scene = make_scene(problem, n, rng.uniform(*shares), noise, seed)
    (x1, x2), wrong, width = scene.data[:2], ~scene.inliers, rng.uniform(*widths)
    x2[wrong] = x1[wrong] + rng.uniform(-width, width, (int(wrong.sum()), 2))
    return scene


def _symmetric_target(turned: bool, seed: int) -> Scene:
    """Return a plane with a target, 30 to 40 % of whose matches are those of a half-turn or a shift by one period.

    The true matches are .3 to .9 times as many, so that only "ambiguous" is honest.
    """
    rng, n, noise = vary(seed, 12, 400, 1.0)
    twin = rng.uniform(0.3, 0.4)
    matches: Any = homography_matches(n, twin * rng.uniform(0.3, 0.9), noise, seed)
    of_twin = np.flatnonzero(~matches.inliers)[: round(twin * n)]
    half, centre = rng.uniform(80, 160, 2), image_extent(SIZE) * rng.uniform(0.4, 0.6, 2)
    offset = rng.uniform(-1, 1, (len(of_twin), 2)) * half
    matches.x1[of_twin] = centre + offset
    moved = centre - offset if turned else centre + offset + np.array([half[0] / 4, 0])
    matches.x2[of_twin] = apply_transform(matches.H, moved) + rng.normal(0, noise, offset.shape)
    return scene_of("H", matches, undecided=True)


# --- Planes ---


def repeated_plane_matches(
    pattern: str, n: int = 400, inlier_ratio: float = 0.5, plane_share: float = 0.8, seed: int = 0
) -> SceneMatches:
    """Return ``n`` matches of a scene with a repeated pattern on a plane, with a noise of .5 px.

    The plane is 8 to 20 baselines away, its features are nodes of a lattice with a period of 20 px. Half of the
    outliers are nodes matched with a neighbouring node: in one direction ("step"), to the left or right ("row"), or in
    one of four directions ("grid"). In each direction they agree with one homography. ``plane_share`` is the share of
    the inliers on the plane; the others are at .5 to .8 or 1.25 to 2 times its depth. The result has ``on_plane`` and
    ``H``.
    """
    rng = np.random.default_rng(seed)
    extent = image_extent(SIZE)
    cameras = camera_pair(SIZE, extent, rng)
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
    disturb(x1, x2, kind < 3, 0.5, extent, rng)
    scene = rigid_scene(x1, x2, cameras, points, np.isin(kind, (0, 2)), SIZE)
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


def _dominant_plane(seed: int) -> Scene:
    """Return a plane with a repeated pattern; undecided if more matches one period off agree than matches off it."""
    rng = np.random.default_rng([seed, 6])
    pattern, ratio, share = str(rng.choice(["row", "grid"])), *map(float, map(rng.choice, (RATIOS, SHARES)))
    shifted = (1 - ratio) / (2 if pattern == "row" else 4)  # matches along one line agree on an epipole
    matches = repeated_plane_matches(pattern, 400, ratio, share, seed)
    return scene_of("relative pose", matches, undecided=bool(shifted >= (1 - share) * ratio))


def _facade(problem: str, seed: int) -> Scene:
    """Return a facade whose matches, 35 to 40 %, are shifted by one period, and 20 to 30 % true matches off it."""
    rng, n, _ = vary(seed, 5, 800, 0.5)
    return scene_of(problem, repeated_plane_matches("step", n, rng.uniform(0.2, 0.3), 0.0, seed), undecided=True)


def _off_plane(problem: str, seed: int) -> Scene:
    """Return a scene with 80 % inliers; 5 to 15 % of these are off a plane."""
    rng, n, noise = vary(seed, 8, 600, 0.3)
    return scene_of(problem, planar_scene_matches(n, 0.8, rng.uniform(0.85, 0.95), noise, seed))


def _parallel_planes(seed: int) -> Scene:
    """Return points of a cube with 45 % near one plane and 30 % near another one that is 6 to 15 sigma apart."""
    rng, n, _ = vary(seed, 14, 400, 1.0)
    R, centre = rotation_matrix(rng.normal(size=3)), rng.uniform(-100, 100, 3)
    points = rng.uniform(-500, 500, (n, 3))
    which = np.searchsorted([0.45, 0.75], rng.permutation((np.arange(n) + 0.5) / n))
    gap = PLANE_NOISE * rng.uniform(6, 15)
    points[:, 2] = np.where(which < 2, gap * which + rng.normal(0, PLANE_NOISE, n), points[:, 2])
    plane = np.append(R[:, 2], -R[:, 2] @ centre)
    return Scene("plane", (points @ R.T + centre,), which == 0, plane)


def _target(seed: int) -> Scene:
    """Return an absolute pose of a planar target, a square with sides of 1 seen at 20 degrees, 60 to 400 px large.

    60 % of the points are inliers. Two poses explain them, one of them mirrored. The true one is the better after a
    refinement with the true inliers; the scene is undecided if their sums of squared errors differ by less than 4
    variances of the noise.
    """
    rng, n, noise = vary(seed, 7, 30, 1.0)
    focal, extent = 1600.0, image_extent(SIZE)
    K = np.array([[focal, 0, extent[0] / 2], [0, focal, extent[1] / 2], [0, 0, 1]])
    depth = focal * rng.uniform(1 / 400, 1 / 60)
    x, y = rng.uniform(-0.5, 0.5, 2) * np.maximum(extent / focal - 1.4 / depth, 0)  # of the centre, at depth 1
    about_axis, about_centre = np.radians(rng.uniform(0, 360, 2))
    to_ray = rotation_matrix(np.array([-y, x, 0]) / np.hypot(x, y) * np.arctan(np.hypot(x, y)))
    turns = ([0, 0, about_axis], [np.radians(20), 0, 0], [0, 0, about_centre])
    turn = reduce(np.matmul, (rotation_matrix(np.array(vector)) for vector in turns))
    R, t = to_ray @ turn, depth * np.array([x, y, 1])
    points = np.column_stack([rng.uniform(-0.5, 0.5, (n, 2)), np.zeros(n)])
    pixels = apply_transform(K, points @ R.T + t) + rng.normal(0, noise, (n, 2))
    inliers = rng.permutation(n) < round(0.6 * n)
    pixels[~inliers] = rng.uniform(0, 1, (np.count_nonzero(~inliers), 2)) * extent
    mirror = np.diag([1.0, 1.0, -1.0])
    refine = partial(_refine, K, points[inliers], pixels[inliers], t=t)
    minima = [refine(R), refine(to_ray @ mirror @ turn @ mirror)]
    (cost, R, t), (other, mirrored, _) = sorted(minima, key=lambda minimum: minimum[0])
    truth = SceneMatches(pixels, pixels, K1=K, K2=K, R=R, t=t, inliers=inliers)
    undecided = other - cost < 4.0 * noise**2 and rotation_error(mirrored, R) > LIMIT
    return Scene("pose", (points, pixels, K), inliers, truth, undecided=undecided)


def _refine(K: Array, points: Array, pixels: Array, R: Array, t: Array) -> tuple[float, Array, Array]:
    """Return the least sum of squared reprojection errors near a pose, and the pose there."""
    errors = partial(reprojection_errors, camera=Camera.from_matrix(K), points=points.T, pixels=pixels)
    for _ in range(5):
        R, t, residuals = refine_in_image(R, t, np.inf, errors, float(t[2]))
    return float(residuals @ residuals), R, t


# --- Cameras: far points, narrow views, wrong focal lengths ---


def far_scene(far: float, seed: int) -> Scene:
    """Return a scene with 80 to 95 % inliers; the share ``far`` of these is at 1,000 to 10,000 baselines, not 2 to 6.

    A majority of the inliers determines the rotation only.
    """
    rng, n, noise = vary(seed, 10, 500, 0.25)
    is_far = rng.permutation(np.arange(n) < round(far * n))
    depths = np.where(is_far, 10 ** rng.uniform(3, 4, n), rng.uniform(2, 6, n))
    cameras = camera_pair(SIZE, image_extent(SIZE), rng)
    return _observed(cameras, depths, rng.uniform(0.8, 0.95), noise, rng)


def narrow_view(seed: int) -> Scene:
    """Return a scene 20 to 40 baselines away in a narrow view; the camera moves sideways and does not turn.

    The focal length is 8 to 16 image widths, the depth of the scene 20 %. A model with reversed depths explains it
    nearly as well.
    """
    rng, n, noise = vary(seed, 11, 200, 0.25)
    heading = rng.uniform(0, 2 * np.pi)
    t = np.array([np.cos(heading), np.sin(heading), 0.0])
    K, *_ = camera_pair(SIZE, image_extent(SIZE), rng, focal_ratio=rng.uniform(8, 16))
    E, inverse = essential_from_pose(np.eye(3), t), np.linalg.inv(K)
    depths = rng.uniform(20, 40) * rng.uniform(0.9, 1.1, n)
    return _observed((K, np.eye(3), t, E, inverse.T @ E @ inverse), depths, rng.uniform(0.7, 0.9), noise, rng)


def _observed(cameras: Any, depths: Array, inlier_ratio: float, noise: float, rng: np.random.Generator) -> Scene:
    """Return the matches of points that camera 1 sees at random places and given depths."""
    n = len(depths)
    x1 = rng.uniform(0, 1, (n, 2)) * image_extent(SIZE)
    inliers = rng.permutation(np.arange(n) < round(inlier_ratio * n))
    points = viewing_rays(cameras[0], x1) * depths[:, None]
    return scene_of("relative pose", observe(x1, points, cameras, inliers, noise, SIZE, rng))


def _wrong_focal(seed: int) -> Scene:
    """Return a scene with 50 to 80 % inliers whose given focal length is wrong by 20 to 40 %."""
    rng, n, noise = vary(seed, 15, 400, 0.5)
    scene = make_scene("relative pose", n, rng.uniform(0.5, 0.8), noise, seed)
    factor = rng.uniform(1.2, 1.4)
    K = scene.truth.K1 @ np.diag([*[factor if rng.random() < 0.5 else 1 / factor] * 2, 1.0])
    return dataclasses.replace(scene, data=(*scene.data[:2], K, K))


def _wrong_focal_of_pose(seed: int) -> Scene:
    """Return an absolute pose with 50 to 80 % inliers whose given focal length is wrong by 20 to 40 %."""
    rng, n, noise = vary(seed, 16, 200, 1.0)
    scene = make_scene("pose", n, rng.uniform(0.5, 0.8), noise, seed)
    points, pixels, K = scene.data
    factor = rng.uniform(1.2, 1.4) ** rng.choice([-1, 1])
    return dataclasses.replace(scene, data=(points, pixels, K @ np.diag([factor, factor, 1.0])))


_OF_WINDOW = (9, 500, (0.3, 0.5), (8, 20))

CLASSES: Mapping[str, tuple[str, Callable[[int], Scene]]] = {
    "H": ("H, stamp (50 % true, 20 % overlay)", partial(_plane, true=0.5, static=0.2, kind="stamp")),
    "H-small": ("H, small truth (25 % true, 13 % overlay)", partial(_plane, true=0.25, static=0.13)),
    "H-scores": ("H, overlay with the best scores", partial(_plane, true=0.5, static=0.2, scored=True)),
    "H-overlay": ("H, dominant overlay (10 % true, 40 % overlay)", partial(_plane, true=0.1, static=0.4)),
    "start": ("H, initial model = identity", partial(_plane, true=0.4, static=0.03, n=600, noise=1.5)),
    "logo": ("H, demo pair with a logo, with scores", _logo),
    "pose-overlay": ("relative pose, HUD or dashboard", _overlaid_pose),
    "planes": ("relative pose, dominant planes", _dominant_plane),
    "object-E": ("E, moving object", partial(_moving_object, "E")),
    "object-F": ("F, moving object", partial(_moving_object, "F")),
    "facade-E": ("E, facade shifted by a period", partial(_facade, "E")),
    "facade-F": ("F, facade shifted by a period", partial(_facade, "F")),
    "window-pose": ("relative pose, outliers that hardly move", partial(_hardly_moved, "relative pose", *_OF_WINDOW)),
    "window-F": ("F, outliers that hardly move", partial(_hardly_moved, "F", *_OF_WINDOW)),
    "off-plane-E": ("E, few inliers off a plane", partial(_off_plane, "E")),
    "off-plane-F": ("F, few inliers off a plane", partial(_off_plane, "F")),
    "target": ("absolute pose, planar target", _target),
    **{
        f"far-{p}": (f"relative pose, {p} % of the inliers far away", partial(far_scene, p / 100)) for p in (80, 90, 95)
    },
    "narrow": ("relative pose, narrow view, no rotation", narrow_view),
    "half-turn": ("H, symmetric target", partial(_symmetric_target, True)),
    "period": ("H, target shifted by a period", partial(_symmetric_target, False)),
    "window-H": ("H, outliers that hardly move", partial(_hardly_moved, "H", 13, 400, (0.1, 0.3), (4, 8))),
    "focal": ("relative pose, wrong focal length", _wrong_focal),
    "pose-focal": ("absolute pose, wrong focal length", _wrong_focal_of_pose),
    "parallel": ("plane, another one parallel to it", _parallel_planes),
}
"""Title of every class, and the maker of its scenes."""
