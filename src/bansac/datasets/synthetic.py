"""Made-up data with exact truth: points on a model with Gaussian noise, and outliers spread evenly.

Every generator is a function of its arguments alone: the same seed gives the same data, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CurvePoints",
    "EpipolarMatches",
    "HomographyMatches",
    "PlanarSceneMatches",
    "circle_points",
    "epipolar_matches",
    "homography_matches",
    "line_points",
    "planar_scene_matches",
    "polynomial_points",
]

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HomographyMatches:
    """Matches of a plane seen twice.

    Parameters
    ----------
    x1, x2 : (N, 2) ndarray
        Points in pixels.
    H : (3, 3) ndarray
        True homography from image 1 to image 2, H[2, 2] = 1.
    inliers : (N,) ndarray of bool
        Which matches come from the plane.
    size : (int, int)
        Height and width of both images.
    """

    x1: _Array
    x2: _Array
    H: _Array
    inliers: NDArray[np.bool_]
    size: tuple[int, int]


@dataclass(frozen=True, eq=False)
class EpipolarMatches:
    """Matches of a rigid scene seen by two cameras.

    Parameters
    ----------
    x1, x2 : (N, 2) ndarray
        Points in pixels.
    K : (3, 3) ndarray
        Camera matrix of both cameras.
    R, t : (3, 3) and (3,) ndarray
        True motion, ``X2 = R X1 + t``, t of unit length.
    E, F : (3, 3) ndarray
        True essential and fundamental matrix, of unit norm: ``x2^T F x1 = 0``.
    points : (N, 3) ndarray
        Scene points in the coordinates of camera 1; NaN for outliers.
    inliers : (N,) ndarray of bool
        Which matches are true.
    size : (int, int)
        Height and width of both images.
    """

    x1: _Array
    x2: _Array
    K: _Array
    R: _Array
    t: _Array
    E: _Array
    F: _Array
    points: _Array
    inliers: NDArray[np.bool_]
    size: tuple[int, int]


@dataclass(frozen=True, eq=False)
class PlanarSceneMatches(EpipolarMatches):
    """Matches of a rigid scene most of which lies in one plane, seen by two cameras.

    The fields of :class:`EpipolarMatches`, and these:

    Parameters
    ----------
    on_plane : (N,) ndarray of bool
        Which matches are true and of the plane.
    H : (3, 3) ndarray
        True homography of the plane from image 1 to image 2, H[2, 2] = 1.
    """

    on_plane: NDArray[np.bool_]
    H: _Array


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Points of a curve in the plane.

    Parameters
    ----------
    points : (N, 2) ndarray
        The points.
    model : ndarray
        The true curve; see the generator.
    inliers : (N,) ndarray of bool
        Which points come from the curve.
    """

    points: _Array
    model: _Array
    inliers: NDArray[np.bool_]


def homography_matches(
    n: int = 500,
    inlier_ratio: float = 0.5,
    noise: float = 0.5,
    seed: int = 0,
    size: tuple[int, int] = (480, 640),
) -> HomographyMatches:
    """Make matches of a plane in two views.

    The true homography moves each corner of the image by up to a fifth of its sides. Inliers are spread evenly over
    that part of image 1 which image 2 sees; outliers are two unrelated points.

    Parameters
    ----------
    n : int, optional
        Number of matches.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole matches.
    noise : float, optional
        Standard deviation of the points of image 2, in pixels per coordinate.
    seed : int, optional
        Seed of the random numbers.
    size : (int, int), optional
        Height and width of both images.

    Returns
    -------
    HomographyMatches
        Matches in random order, and the truth.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> matches = homography_matches(200, inlier_ratio=0.3, noise=0.0)
    >>> matches.x1.shape, int(matches.inliers.sum())
    ((200, 2), 60)
    """
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    extent = _extent(size)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * extent
    H = _homography_of_corners(corners, corners + rng.uniform(-0.2, 0.2, (4, 2)) * extent)

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    x2 = rng.uniform(0, 1, (n, 2)) * extent
    # Redraw what image 2 does not see. The middle is always seen, so this ends.
    hidden = inliers.copy()
    while hidden.any():
        x1[hidden] = rng.uniform(0, 1, (np.count_nonzero(hidden), 2)) * extent
        x2[hidden] = _transform(H, x1[hidden])
        hidden &= ((x2 < 0) | (x2 > extent)).any(axis=1)
    x2[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    return HomographyMatches(x1, x2, H, inliers, size)


def epipolar_matches(
    n: int = 500,
    inlier_ratio: float = 0.5,
    noise: float = 0.5,
    seed: int = 0,
    size: tuple[int, int] = (480, 640),
) -> EpipolarMatches:
    """Make matches of a scene with depth, seen by two cameras.

    The scene lies 4 to 12 baselines in front of camera 1, which has a focal length of the image's larger side. Camera 2
    is turned by up to 15 degrees and one baseline away, more aside than ahead. Outliers are two unrelated points.

    Parameters
    ----------
    n : int, optional
        Number of matches.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole matches.
    noise : float, optional
        Standard deviation of the points of both images, in pixels per coordinate.
    seed : int, optional
        Seed of the random numbers.
    size : (int, int), optional
        Height and width of both images.

    Returns
    -------
    EpipolarMatches
        Matches in random order, and the truth.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> matches = epipolar_matches(100, inlier_ratio=0.5, noise=0.0)
    >>> x1 = np.column_stack([matches.x1, np.ones(100)])[matches.inliers]
    >>> x2 = np.column_stack([matches.x2, np.ones(100)])[matches.inliers]
    >>> bool(np.abs(np.einsum("ni,ij,nj->n", x2, matches.F, x1)).max() < 1e-9)
    True
    """
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    extent = _extent(size)
    K, R, t, E, F = _camera_pair(size, extent, rng)

    # Draw depths and points of image 1; image 2 need not see all of them: nothing depends on its frame.
    x1 = rng.uniform(0, 1, (n, 2)) * extent
    depth = rng.uniform(4, 12, n)
    points = _rays(K, x1) * depth[:, None]
    x2 = _transform(K, points @ R.T + t)
    _disturb(x1, x2, inliers, noise, extent, rng)
    points[~inliers] = np.nan
    return EpipolarMatches(x1, x2, K, R, t, E, F, points, inliers, size)


def planar_scene_matches(
    n: int = 500,
    inlier_ratio: float = 0.5,
    plane_share: float = 0.8,
    noise: float = 0.5,
    seed: int = 0,
    size: tuple[int, int] = (480, 640),
) -> PlanarSceneMatches:
    """Make matches of a scene with a dominant plane, the degenerate case of the fundamental matrix, in two views.

    Cameras and outliers are those of :func:`epipolar_matches`. The plane passes 8 baselines in front of camera 1,
    tilted by up to 40 degrees; the other points lie before or behind it, at .5 to .8 or 1.25 to 2 times its depth, so
    that none of them is on the plane by chance.

    Parameters
    ----------
    n : int, optional
        Number of matches.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole matches.
    plane_share : float, optional
        Share of the inliers that lie on the plane, 0 to 1, rounded to whole matches.
    noise : float, optional
        Standard deviation of the points of both images, in pixels per coordinate.
    seed : int, optional
        Seed of the random numbers.
    size : (int, int), optional
        Height and width of both images.

    Returns
    -------
    PlanarSceneMatches
        Matches in random order, and the truth.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> scene = planar_scene_matches(200, inlier_ratio=0.5, plane_share=0.9)
    >>> int(scene.inliers.sum()), int(scene.on_plane.sum())
    (100, 90)
    """
    if not 0 <= plane_share <= 1:
        raise ValueError(f"plane_share must lie in [0, 1], got {plane_share}")
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    on_plane = np.zeros(n, bool)
    true = np.flatnonzero(inliers)
    on_plane[rng.permutation(true)[: round(plane_share * len(true))]] = True
    extent = _extent(size)
    K, R, t, E, F = _camera_pair(size, extent, rng)

    # The plane is normal^T X = distance; within 40 degrees of the image plane all of the image sees it.
    tilt, heading = np.radians(rng.uniform(0, 40)), rng.uniform(0, 2 * np.pi)
    normal = np.array([np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt)])
    distance = 8 * normal[2]
    H = K @ (R + np.outer(t, normal) / distance) @ np.linalg.inv(K)

    x1 = rng.uniform(0, 1, (n, 2)) * extent
    rays = _rays(K, x1)
    depth = distance / (rays @ normal)
    factor = rng.uniform(1.25, 2, n)
    factor = np.where(rng.random(n) < 0.5, factor, 1 / factor)
    points = rays * np.where(on_plane, depth, depth * factor)[:, None]
    x2 = _transform(K, points @ R.T + t)
    _disturb(x1, x2, inliers, noise, extent, rng)
    points[~inliers] = np.nan
    return PlanarSceneMatches(x1, x2, K, R, t, E, F, points, inliers, size, on_plane, H / H[2, 2])


def line_points(n: int = 200, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0) -> CurvePoints:
    """Make points of a straight line across the square [-1, 1] x [-1, 1], and outliers in that square.

    Parameters
    ----------
    n : int, optional
        Number of points.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole points.
    noise : float, optional
        Standard deviation at right angles to the line.
    seed : int, optional
        Seed of the random numbers.

    Returns
    -------
    CurvePoints
        Points in random order; the model is (a, b, c) with a x + b y + c = 0 and a^2 + b^2 = 1.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> line = line_points(10, inlier_ratio=1.0, noise=0.0)
    >>> bool(np.allclose(line.points @ line.model[:2] + line.model[2], 0))
    True
    """
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    angle = rng.uniform(0, np.pi)
    normal = np.array([np.cos(angle), np.sin(angle)])
    along = np.array([-normal[1], normal[0]])
    offset = rng.uniform(-0.4, 0.4)
    on_line = offset * normal + rng.uniform(-0.9, 0.9, (n, 1)) * along + rng.normal(0, noise, (n, 1)) * normal
    points = np.where(inliers[:, None], on_line, rng.uniform(-1, 1, (n, 2)))
    return CurvePoints(points, np.array([*normal, -offset]), inliers)


def circle_points(n: int = 200, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0) -> CurvePoints:
    """Make points of a circle inside the square [-1, 1] x [-1, 1], and outliers in that square.

    Parameters
    ----------
    n : int, optional
        Number of points.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole points.
    noise : float, optional
        Standard deviation of the distance to the centre.
    seed : int, optional
        Seed of the random numbers.

    Returns
    -------
    CurvePoints
        Points in random order; the model is (x, y, radius).

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> circle = circle_points(10, inlier_ratio=1.0, noise=0.0)
    >>> bool(np.allclose(np.hypot(*(circle.points - circle.model[:2]).T), circle.model[2]))
    True
    """
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    centre, radius = rng.uniform(-0.3, 0.3, 2), rng.uniform(0.3, 0.6)
    angles = rng.uniform(0, 2 * np.pi, n)
    distance = radius + rng.normal(0, noise, n)
    on_circle = centre + distance[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.where(inliers[:, None], on_circle, rng.uniform(-1, 1, (n, 2)))
    return CurvePoints(points, np.array([*centre, radius]), inliers)


def polynomial_points(
    n: int = 200, degree: int = 3, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0
) -> CurvePoints:
    """Make points of a polynomial y = p(x) over [-1, 1], and outliers in the square [-1, 1] x [-1, 1].

    Parameters
    ----------
    n : int, optional
        Number of points.
    degree : int, optional
        Degree of the polynomial, at least 0.
    inlier_ratio : float, optional
        Share of inliers, 0 to 1, rounded to whole points.
    noise : float, optional
        Standard deviation of y.
    seed : int, optional
        Seed of the random numbers.

    Returns
    -------
    CurvePoints
        Points in random order; the model is its degree + 1 coefficients, the constant first.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> curve = polynomial_points(10, degree=2, inlier_ratio=1.0, noise=0.0)
    >>> x, y = curve.points.T
    >>> bool(np.allclose(np.polynomial.polynomial.polyval(x, curve.model), y))
    True
    """
    if degree < 0:
        raise ValueError(f"degree must be at least 0, got {degree}")
    rng = np.random.default_rng(seed)
    inliers = _inlier_mask(n, inlier_ratio, noise, rng)
    # Coefficients of at most 0.8 in total, so that the curve stays in the square.
    coefficients = rng.uniform(0.3, 1, degree + 1) * rng.choice([-1.0, 1.0], degree + 1)
    coefficients *= 0.8 / np.abs(coefficients).sum()
    x = rng.uniform(-1, 1, n)
    y = np.polynomial.polynomial.polyval(x, coefficients) + rng.normal(0, noise, n)
    points = np.column_stack([x, np.where(inliers, y, rng.uniform(-1, 1, n))])
    return CurvePoints(points, coefficients, inliers)


def _inlier_mask(n: int, inlier_ratio: float, noise: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Check the common arguments and say, in random order, which points are inliers."""
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    if not 0 <= inlier_ratio <= 1:
        raise ValueError(f"inlier_ratio must lie in [0, 1], got {inlier_ratio}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a finite number of at least 0, got {noise}")
    return rng.permutation(np.arange(n) < round(inlier_ratio * n))


def _extent(size: tuple[int, int]) -> _Array:
    """Return (w - 1, h - 1), the largest x and y of pixel centres."""
    height, width = size
    if height < 2 or width < 2:
        raise ValueError(f"size must be (height, width), both at least 2, got {size}")
    return np.array([width - 1.0, height - 1.0])


def _camera_pair(
    size: tuple[int, int], extent: _Array, rng: np.random.Generator
) -> tuple[_Array, _Array, _Array, _Array, _Array]:
    """Draw K and a motion R, t of 3 to 15 degrees and one baseline; return them with E and F of unit norm."""
    focal = float(max(size))
    K = np.array([[focal, 0, extent[0] / 2], [0, focal, extent[1] / 2], [0, 0, 1]])
    axis = rng.normal(size=3)
    R = _rotation(axis / np.linalg.norm(axis) * np.radians(rng.uniform(3, 15)))
    t = rng.normal(size=3) * [1.0, 1.0, 0.4]
    t /= np.linalg.norm(t)
    E = np.cross(t, R.T).T / np.sqrt(2)  # columns t x R[:, j]: E = [t]x R, of unit norm
    K_inv = np.linalg.inv(K)
    F = K_inv.T @ E @ K_inv
    return K, R, t, E, F / np.linalg.norm(F)


def _rays(K: _Array, x: _Array) -> _Array:
    """Return the points of depth 1 that are seen at ``x``."""
    return np.asarray(np.column_stack([x, np.ones(len(x))]) @ np.linalg.inv(K).T)


def _disturb(
    x1: _Array, x2: _Array, inliers: NDArray[np.bool_], noise: float, extent: _Array, rng: np.random.Generator
) -> None:
    """Add noise to the inliers of both images and make outliers of the others, in place."""
    x1[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    x2[inliers] += rng.normal(0, noise, (np.count_nonzero(inliers), 2))
    x2[~inliers] = rng.uniform(0, 1, (np.count_nonzero(~inliers), 2)) * extent


def _transform(M: _Array, points: _Array) -> _Array:
    """Map points, homogeneous (N, 3) or not (N, 2), by a 3 x 3 matrix."""
    if points.shape[1] == 2:
        points = np.column_stack([points, np.ones(len(points))])
    mapped = points @ M.T
    return np.asarray(mapped[:, :2] / mapped[:, 2:])


def _homography_of_corners(x1: _Array, x2: _Array) -> _Array:
    """Solve the eight linear equations of four matches for H with H[2, 2] = 1."""
    rows = [[x, y, 1, 0, 0, 0, -u * x, -u * y] for (x, y), (u, _) in zip(x1, x2, strict=True)]
    rows += [[0, 0, 0, x, y, 1, -v * x, -v * y] for (x, y), (_, v) in zip(x1, x2, strict=True)]
    h = np.linalg.solve(np.array(rows), np.concatenate([x2[:, 0], x2[:, 1]]))
    return np.append(h, 1.0).reshape(3, 3)


def _rotation(vector: _Array) -> _Array:
    """Return the rotation about ``vector`` by its length in radians (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector / angle
    A = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * A + (1 - np.cos(angle)) * A @ A)
