"""Synthetic two-view matches with ground truth: of a plane, a general scene, a scene with a plane, and a rotation.

The number of matches, the inlier ratio and the noise are given. Outliers are uniformly distributed over both images.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bansac.geometry import apply_transform, homogeneous, rotation_matrix
from bansac.matches.matches import Matches
from bansac.maths.arrays import Bools, Floats
from bansac.synthetic.mask import draw_inliers


@dataclass(frozen=True, eq=False)
class SceneMatches(Matches):
    """Matches of a synthetic rigid scene: :class:`~bansac.matches.Matches` with ground truth of the scene.

    Parameters
    ----------
    points : (N, 3) ndarray or None, optional
        Scene points in the coordinates of camera 1; NaN for outliers.
    on_plane : (N,) ndarray of bool or None, optional
        Mask of inliers on the dominant plane, if the scene has one. ``H`` is the homography of that plane.
    """

    points: Floats | None = None
    on_plane: Bools | None = None

    _PER_MATCH: ClassVar[tuple[str, ...]] = (*Matches._PER_MATCH, "points", "on_plane")


def homography_matches(
    n: int = 500, inlier_ratio: float = 0.5, noise: float = 0.5, seed: int = 0, size: tuple[int, int] = (480, 640)
) -> Matches:
    """Return synthetic matches of a plane in two views.

    The true homography moves each corner of the image by up to a fifth of the image size. Inliers are uniformly
    distributed over the part of image 1 that is visible in image 2. An outlier is a pair of unrelated points.

    Parameters
    ----------
    n : int, optional
        Number of matches.
    inlier_ratio : float, optional
        Fraction of inliers in [0, 1]; their number is rounded.
    noise : float, optional
        Standard deviation of each coordinate of the points of image 2, in pixels.
    seed : int, optional
        Seed of the random numbers.
    size : (int, int), optional
        Height and width of both images.

    Returns
    -------
    Matches
        Matches in random order. ``H`` (with H[2, 2] = 1) and ``inliers`` are the ground truth.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> matches = homography_matches(200, inlier_ratio=0.3, noise=0.0)
    >>> matches.x1.shape, int(matches.inliers.sum())
    ((200, 2), 60)
    """
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    extent = image_extent(size)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * extent
    H = _homography_of_corners(corners, corners + rng.uniform(-0.2, 0.2, (4, 2)) * extent)

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    x2 = rng.uniform(0, 1, (n, 2)) * extent
    # Redraw points that are not visible in image 2. The centre is always visible, so the loop ends.
    hidden = inliers.copy()
    while hidden.any():
        x1[hidden] = rng.uniform(0, 1, (np.count_nonzero(hidden), 2)) * extent
        x2[hidden] = apply_transform(H, x1[hidden])
        hidden &= ((x2 < 0) | (x2 > extent)).any(axis=1)
    x2[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    return Matches(x1, x2, size1=size, size2=size, H=H, inliers=inliers)


def epipolar_matches(
    n: int = 500, inlier_ratio: float = 0.5, noise: float = 0.5, seed: int = 0, size: tuple[int, int] = (480, 640)
) -> SceneMatches:
    """Return synthetic matches of a general scene, seen by two cameras.

    The depth of the scene is 4 to 12 baselines from camera 1. The focal length is the larger side of the image. Camera
    2 is rotated by 3 to 15 degrees and moved by one baseline, more sideways than forwards. An outlier is a pair of
    unrelated points.

    Parameters
    ----------
    n, inlier_ratio, seed, size : optional
        As in :func:`homography_matches`, with the same errors.
    noise : float, optional
        Standard deviation of each coordinate of the points of both images, in pixels.

    Returns
    -------
    SceneMatches
        Matches in random order. ``K``, ``R``, ``t`` (of unit length), ``E``, ``F``, ``points`` and ``inliers`` are the
        ground truth.

    Examples
    --------
    >>> matches = epipolar_matches(100, inlier_ratio=0.5, noise=0.0)
    >>> x1, x2 = homogeneous(matches.x1)[matches.inliers], homogeneous(matches.x2)[matches.inliers]
    >>> bool(np.abs(np.einsum("ni,ij,nj->n", x2, matches.F, x1)).max() < 1e-9)
    True
    """
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    extent = image_extent(size)
    cameras = camera_pair(size, extent, rng)

    # Points may lie outside image 2, because nothing depends on its frame.
    x1 = rng.uniform(0, 1, (n, 2)) * extent
    points = viewing_rays(cameras[0], x1) * rng.uniform(4, 12, n)[:, None]
    return observe(x1, points, cameras, inliers, noise, size, rng)


def planar_scene_matches(
    n: int = 500,
    inlier_ratio: float = 0.5,
    plane_share: float = 0.8,
    noise: float = 0.5,
    seed: int = 0,
    size: tuple[int, int] = (480, 640),
) -> SceneMatches:
    """Return synthetic matches of a scene with a dominant plane, the degenerate case of the fundamental matrix.

    Cameras and outliers are those of :func:`epipolar_matches`. The plane passes 8 baselines in front of camera 1 and is
    tilted by up to 40 degrees. The other inliers are at .5 to .8 or 1.25 to 2 times the depth of the plane, so that
    none of them is on the plane by chance.

    Parameters
    ----------
    n, inlier_ratio, noise, seed, size : optional
        As in :func:`epipolar_matches`, with the same errors.
    plane_share : float, optional
        Fraction of the inliers on the plane, in [0, 1]; their number is rounded.

    Returns
    -------
    SceneMatches
        Matches in random order. The ground truth is that of :func:`epipolar_matches`, ``on_plane``, and the homography
        ``H`` of the plane (with H[2, 2] = 1).

    Examples
    --------
    >>> scene = planar_scene_matches(200, inlier_ratio=0.5, plane_share=0.9)
    >>> int(scene.inliers.sum()), int(scene.on_plane.sum())
    (100, 90)
    """
    if not 0 <= plane_share <= 1:
        raise ValueError(f"plane_share must lie in [0, 1], got {plane_share}")
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    on_plane = np.zeros(n, bool)
    true = np.flatnonzero(inliers)
    on_plane[rng.permutation(true)[: round(plane_share * len(true))]] = True
    extent = image_extent(size)
    cameras = camera_pair(size, extent, rng)
    K, R, t = cameras[:3]

    normal, distance = draw_plane(rng, 40)
    H = K @ (R + np.outer(t, normal) / distance) @ np.linalg.inv(K)

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    rays = viewing_rays(K, x1)
    depth = distance / (rays @ normal)
    factor = rng.uniform(1.25, 2, n)
    factor = np.where(rng.random(n) < 0.5, factor, 1 / factor)
    points = rays * np.where(on_plane, depth, depth * factor)[:, None]
    scene = observe(x1, points, cameras, inliers, noise, size, rng)
    return replace(scene, on_plane=on_plane, H=H / H[2, 2])


def rotation_matches(
    n: int = 500, inlier_ratio: float = 0.5, noise: float = 0.5, seed: int = 0, size: tuple[int, int] = (480, 640)
) -> SceneMatches:
    """Return synthetic matches of a camera that rotates about its centre; they determine no epipolar geometry.

    Camera, rotation and outliers are those of :func:`epipolar_matches`.

    Parameters
    ----------
    n, inlier_ratio, noise, seed, size : optional
        As in :func:`epipolar_matches`, with the same errors.

    Returns
    -------
    SceneMatches
        Matches in random order. ``K1``, ``K2``, ``R``, ``H = K R K^-1`` (with H[2, 2] = 1) and ``inliers`` are the
        ground truth.

    Examples
    --------
    >>> matches = rotation_matches(200, inlier_ratio=0.5, noise=0.0)
    >>> bool(np.allclose(apply_transform(matches.H, matches.x1)[matches.inliers], matches.x2[matches.inliers]))
    True
    """
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    extent = image_extent(size)
    K, R = camera_pair(size, extent, rng)[:2]
    H = K @ R @ np.linalg.inv(K)
    x1 = rng.uniform(0, 1, (n, 2)) * extent
    x2 = apply_transform(H, x1)
    disturb(x1, x2, inliers, noise, extent, rng)
    return SceneMatches(x1, x2, K1=K, K2=K, size1=size, size2=size, R=R, H=H / H[2, 2], inliers=inliers)


def image_extent(size: tuple[int, int]) -> Floats:
    """Return (w - 1, h - 1), the largest x and y of pixel centres."""
    height, width = size
    if height < 2 or width < 2:
        raise ValueError(f"size must be (height, width), both at least 2, got {size}")
    return np.array([width - 1.0, height - 1.0])


Cameras = tuple[Floats, Floats, Floats, Floats, Floats]  # K, R, t, E, F


def camera_pair(
    size: tuple[int, int],
    extent: Floats,
    rng: np.random.Generator,
    *,
    focal_ratio: float = 1.0,
    t: Floats | None = None,
) -> Cameras:
    """Draw K and a motion R, t of 3 to 15 degrees and one baseline; return them with E and F of unit norm.

    The focal length is ``focal_ratio`` times the larger side of the image. A given ``t`` replaces the drawn one.
    """
    focal = focal_ratio * max(size)
    K = np.array([[focal, 0, extent[0] / 2], [0, focal, extent[1] / 2], [0, 0, 1]])
    axis = rng.normal(size=3)
    R = rotation_matrix(axis / np.linalg.norm(axis) * np.radians(rng.uniform(3, 15)))
    t = rng.normal(size=3) * [1.0, 1.0, 0.4] if t is None else t
    t = t / np.linalg.norm(t)
    E = np.cross(t, R.T).T / np.sqrt(2)  # columns t x R[:, j]: E = [t]x R, of unit norm
    K_inv = np.linalg.inv(K)
    F = K_inv.T @ E @ K_inv
    return K, R, t, E, F / np.linalg.norm(F)


def draw_plane(rng: np.random.Generator, max_tilt: float) -> tuple[Floats, float]:
    """Draw a plane normal^T X = distance, 8 baselines in front of camera 1 and tilted by up to ``max_tilt`` degrees."""
    tilt, heading = np.radians(rng.uniform(0, max_tilt)), rng.uniform(0, 2 * np.pi)
    normal = np.array([np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt)])
    return normal, float(8 * normal[2])


def observe(
    x1: Floats,
    points: Floats,
    cameras: Cameras,
    inliers: Bools,
    noise: float,
    size: tuple[int, int],
    rng: np.random.Generator,
) -> SceneMatches:
    """Return the matches of scene points that camera 1 sees at ``x1``, with noise; outliers have no scene point."""
    K, R, t = cameras[:3]
    x2 = apply_transform(K, points @ R.T + t)
    disturb(x1, x2, inliers, noise, image_extent(size), rng)
    return rigid_scene(x1, x2, cameras, points, inliers, size)


def rigid_scene(
    x1: Floats, x2: Floats, cameras: Cameras, points: Floats, inliers: Bools, size: tuple[int, int]
) -> SceneMatches:
    """Combine matches and their ground truth; outliers have no scene point."""
    K, R, t, E, F = cameras
    points[~inliers] = np.nan
    return SceneMatches(x1, x2, K1=K, K2=K, size1=size, size2=size, R=R, t=t, E=E, F=F, inliers=inliers, points=points)


def viewing_rays(K: Floats, x: Floats) -> Floats:
    """Return the points at depth 1 that project to ``x``."""
    return np.asarray(homogeneous(x) @ np.linalg.inv(K).T)


def disturb(x1: Floats, x2: Floats, inliers: Bools, noise: float, extent: Floats, rng: np.random.Generator) -> None:
    """Add noise to the inliers of both images and replace the other matches by outliers, in place."""
    x1[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    x2[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    x2[~inliers] = rng.uniform(0, 1, (np.count_nonzero(~inliers), 2)) * extent


def _homography_of_corners(x1: Floats, x2: Floats) -> Floats:
    """Solve the eight linear equations of four matches for H with H[2, 2] = 1."""
    rows = [[x, y, 1, 0, 0, 0, -u * x, -u * y] for (x, y), (u, _) in zip(x1, x2, strict=True)]
    rows += [[0, 0, 0, x, y, 1, -v * x, -v * y] for (x, y), (_, v) in zip(x1, x2, strict=True)]
    h = np.linalg.solve(np.array(rows), np.concatenate([x2[:, 0], x2[:, 1]]))
    return np.append(h, 1.0).reshape(3, 3)
