"""Further scenes of ``bansac bench rivals``, whose docstring describes them."""

import dataclasses
from typing import Any

import numpy as np

from bansac.geometry import apply_transform, essential_from_pose, rotation_matrix
from bansac.synthetic import epipolar_matches, homography_matches
from bansac.synthetic.two_views import camera_pair, image_extent, observe, viewing_rays
from bansac_lab.peers.library import Array
from bansac_lab.scenes import Scene, make_scene, scene_of

SIZE = (480, 640)
PLANE_NOISE = 4.0  # the largest error of a right plane, 5, is less than a third of the gap


def vary(seed: int, stream: int, n: int, noise: float) -> tuple[np.random.Generator, int, float]:
    """Return a generator, and the number of points and the noise that vary by its first values."""
    rng = np.random.default_rng([seed, stream])
    return rng, round(n * 2 ** rng.uniform(-1, 1)), float(noise * 2 ** rng.uniform(-0.5, 0.5))


def far_scene(far: float, seed: int) -> Scene:
    """Return a scene with 80 to 95 % inliers. The share ``far`` of these is at 1,000 to 10,000 baselines."""
    rng, n, noise = vary(seed, 10, 500, 0.25)
    is_far = rng.permutation(np.arange(n) < round(far * n))
    depths = np.where(is_far, 10 ** rng.uniform(3, 4, n), rng.uniform(2, 6, n))
    cameras = camera_pair(SIZE, image_extent(SIZE), rng)
    return _observed(cameras, depths, rng.uniform(0.8, 0.95), noise, rng)


def narrow_view(seed: int) -> Scene:
    """Return a scene 20 to 40 baselines away in a narrow view; the camera moves sideways and does not turn."""
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


def symmetric_target(turned: bool, seed: int) -> Scene:
    """Return a plane with a target, 30 to 40 % of whose matches are those of a half-turn or a shift by one period."""
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


def search_window(seed: int) -> Scene:
    """Return a plane with 10 to 30 % inliers, whose outliers are displaced by at most 4 to 8 px along each axis."""
    rng, n, noise = vary(seed, 13, 400, 0.5)
    matches: Any = homography_matches(n, rng.uniform(0.1, 0.3), noise, seed)
    wrong, width = ~matches.inliers, rng.uniform(4, 8)
    matches.x2[wrong] = matches.x1[wrong] + rng.uniform(-width, width, (int(wrong.sum()), 2))
    return scene_of("H", matches)


def wrong_focal(seed: int) -> Scene:
    """Return a scene with 50 to 80 % inliers whose given focal length is wrong by 20 to 40 %."""
    rng, n, noise = vary(seed, 15, 400, 0.5)
    scene = scene_of("relative pose", epipolar_matches(n, rng.uniform(0.5, 0.8), noise, seed))
    factor = rng.uniform(1.2, 1.4)
    K = scene.truth.K1.copy()
    K[[0, 1], [0, 1]] *= factor if rng.random() < 0.5 else 1 / factor
    return dataclasses.replace(scene, data=(*scene.data[:2], K, K))


def wrong_focal_of_pose(seed: int) -> Scene:
    """Return an absolute pose with 50 to 80 % inliers whose given focal length is wrong by 20 to 40 %."""
    rng, n, noise = vary(seed, 16, 200, 1.0)
    scene = make_scene("pose", n, rng.uniform(0.5, 0.8), noise, seed)
    points, pixels, K = scene.data
    factor = rng.uniform(1.2, 1.4) ** rng.choice([-1, 1])
    return dataclasses.replace(scene, data=(points, pixels, K @ np.diag([factor, factor, 1.0])))


def overlaid_pair(pair: Any, fields: Array, rng: np.random.Generator) -> Any:
    """Return a real pair with static matches in fields of an overlay: 10 to 60 % of the matches, .1 px noise."""
    share, n = rng.uniform(0.1, 0.6), len(pair.x1)
    chosen = rng.choice(fields, round(share / (1 - share) * n))
    still = rng.uniform(chosen[:, :2], chosen[:, 2:]) * pair.x1.max(axis=0)
    x1, x2 = np.vstack([pair.x1, still]), np.vstack([pair.x2, still + rng.normal(0, 0.1, still.shape)])
    inliers = np.append(pair.inliers, np.zeros(len(still), np.bool_))
    return dataclasses.replace(pair, x1=x1, x2=x2, inliers=inliers)


def parallel_planes(seed: int) -> Scene:
    """Return points of a cube with 45 % near one plane and 30 % near another one that is 6 to 15 sigma apart."""
    rng, n, _ = vary(seed, 14, 400, 1.0)
    R, centre = rotation_matrix(rng.normal(size=3)), rng.uniform(-100, 100, 3)
    points = rng.uniform(-500, 500, (n, 3))
    which = np.searchsorted([0.45, 0.75], rng.permutation((np.arange(n) + 0.5) / n))
    gap = PLANE_NOISE * rng.uniform(6, 15)
    points[:, 2] = np.where(which < 2, gap * which + rng.normal(0, PLANE_NOISE, n), points[:, 2])
    plane = np.append(R[:, 2], -R[:, 2] @ centre)
    return Scene("plane", (points @ R.T + centre,), which == 0, plane)
