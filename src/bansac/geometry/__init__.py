"""Cameras, the geometry of two views, and cheirality; the functions here take NumPy arrays and do not load Numba.

The notation is that of Hartley and Zisserman, Multiple View Geometry, 2nd ed. A camera maps X to x ~ K (R X + t).
Functions of arrays of points do not check them, because their callers have done so.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_numbers, as_points

# Thresholds on the singular values of a homography: smallest over largest, for a plane through a camera's centre; root
# of the difference of their squares, for a rotation.
_RANK_TWO, _ROTATION = 1e-9, 1e-6


def homogeneous(points: Floats) -> Floats:
    """Append a coordinate of 1 to points (N, D)."""
    return np.column_stack([points, np.ones(len(points))])


def apply_transform(matrix: Floats, points: Floats) -> Floats:
    """Map points (N, 2) by a homography or a camera matrix; homogeneous points (N, 3) are also accepted.

    Points that are mapped to infinity become inf or NaN, with a warning.
    """
    mapped = (homogeneous(points) if points.shape[1] == 2 else points) @ matrix.T
    return np.asarray(mapped[:, :2] / mapped[:, 2:])


def normalise_points(K: Floats, points: Floats) -> Floats:
    """Return K^-1 x, the points (N, 2) in normalised units, for points in pixels (N, 2)."""
    rays = np.linalg.solve(K, homogeneous(points).T)
    return np.ascontiguousarray((rays[:2] / rays[2]).T)


def cross_matrix(t: ArrayLike) -> Floats:
    """Return the matrix [t]x of the cross product, [t]x v = t x v."""
    x, y, z = np.asarray(t, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def orthogonal_axes(direction: Floats) -> Floats:
    """Return two orthonormal rows that are orthogonal to a direction."""
    return np.asarray(np.linalg.svd(direction[None])[2][1:])


def rotation_matrix(vector: ArrayLike) -> Floats:
    """Return the rotation about a vector by its length in radians (Rodrigues' formula)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    A = cross_matrix(np.asarray(vector, dtype=np.float64) / angle)
    return np.asarray(np.eye(3) + np.sin(angle) * A + (1 - np.cos(angle)) * A @ A)


def essential_from_pose(R: Floats, t: ArrayLike) -> Floats:
    """Return E = [t]x R of the motion X2 = R X1 + t; its singular values are (|t|, |t|, 0)."""
    return np.asarray(cross_matrix(t) @ R)


def decompose_essential(E: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the rotations R1, R2 and the unit vector t of E = [t]x R up to scale, with R1 or R2 and either sign of t.

    Any other matrix is replaced by the nearest essential matrix. A matrix that is not finite or not 3 x 3 raises a
    ValueError (Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 9.6.2).
    """
    U, _, Vt = np.linalg.svd(as_numbers("E", E, (3, 3)))
    W = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    R1, R2 = U @ W @ Vt, U @ W.T @ Vt
    # U and V may contain a reflection; E and -E have the same motions.
    sign = 1.0 if R1[0] @ np.cross(R1[1], R1[2]) > 0.0 else -1.0
    return sign * R1, sign * R2, U[:, 2].copy()


def decompose_homography(H: ArrayLike) -> list[tuple[Floats, Floats, Floats]]:
    """Return the motions (R, t) and plane normals n of a homography between calibrated cameras, as a list of (R, t, n).

    The homography is H = R + t n^T up to scale, for the plane n^T X = 1 and the motion X2 = R X1 + t. ``H`` maps image
    1 to image 2 in normalised coordinates, with ``(H x1)[2] > 0`` for points in front of both cameras. A matrix that is
    not finite, not 3 x 3 or not of rank 3 raises a ValueError.

    There are four solutions, in pairs that differ in the signs of t and n; for a rotation there is one, with t = 0. t
    is in units of the plane's distance from camera 1, and n has unit length. The singular vectors of H span the two
    planes in space that H maps without changing lengths. The n of each solution is orthogonal to one of them (Ma,
    Soatto, Kosecka and Sastry, An Invitation to 3-D Vision, 2004, section 5.3). The solutions are the same as those of
    Faugeras and Lustman (1988) and of Malis and Vargas (2007).
    """
    matrix = as_numbers("H", H, (3, 3))
    U, (s1, s2, s3), Vt = np.linalg.svd(matrix)
    if not s3 > _RANK_TWO * s1:
        raise ValueError(f"H must have rank 3, got the singular values {[float(s1), float(s2), float(s3)]}")
    matrix = matrix / s2
    a, b = np.sqrt(max(1.0 - (s3 / s2) ** 2, 0.0)), np.sqrt(max((s1 / s2) ** 2 - 1.0, 0.0))
    length = np.hypot(a, b)
    if not length > _ROTATION:
        return [(np.asarray(U @ Vt), np.zeros(3), Vt[2])]
    solutions = []
    for sign in (1.0, -1.0):
        u = (a * Vt[0] + sign * b * Vt[2]) / length
        n = np.cross(Vt[1], u)
        x, y = matrix @ Vt[1], matrix @ u
        R = np.column_stack([x, y, np.cross(x, y)]) @ np.column_stack([Vt[1], u, n]).T
        t = (matrix - R) @ n
        solutions += [(R, t, n), (R, -t, -n)]
    return solutions


def recover_pose(
    E: ArrayLike, x1: ArrayLike, x2: ArrayLike, inliers: ArrayLike | None = None
) -> tuple[Floats, Floats, Bools]:
    """Return the motion (R, t) of an essential matrix with the most points in front of both cameras, and their mask.

    ``x1`` and ``x2`` (N, 2) are matched points in normalised coordinates, ``inliers`` (N,) is a mask of the points to
    count, by default all. The motion is X2 = R X1 + t with |t| = 1. Invalid shapes raise a ValueError.
    """
    from bansac.geometry.cheirality import sides  # loads Numba

    R1, R2, t = decompose_essential(E)
    rays1 = as_points("x1", x1, 2, finite=False)
    rays2 = as_points("x2", x2, 2, len(rays1), finite=False)
    mask = np.ones(len(rays1), np.bool_) if inliers is None else np.asarray(inliers, dtype=np.bool_)
    if mask.shape != (len(rays1),):
        raise ValueError(f"inliers must have shape ({len(rays1)},), got {mask.shape}")
    data = np.ascontiguousarray(np.concatenate([rays1.T, rays2.T]))
    motions = []
    for R in (R1, R2):
        side = sides(R, t, data)
        motions += [(R, t, mask & (side == 1)), (R, -t, mask & (side == -1))]
    return max(motions, key=lambda motion: np.count_nonzero(motion[2]))


def focals_from_fundamental(F: ArrayLike, center1: ArrayLike, center2: ArrayLike) -> tuple[float, float]:
    """Compute the focal lengths of two cameras from their fundamental matrix.

    The cameras have square pixels without skew and known principal points, usually the centres of the images.

    Parameters
    ----------
    F : (3, 3) array_like
        Fundamental matrix, ``x2^T F x1 = 0``, of any scale.
    center1, center2 : (2,) array_like
        Principal points in pixels.

    Returns
    -------
    f1, f2 : float
        Focal lengths in pixels. NaN if the squared focal length is negative because of noise, or if the focal length is
        not determined because the optical axes intersect.

    Raises
    ------
    ValueError
        If an argument has the wrong shape or holds NaN or infinity.

    Notes
    -----
    The method is by Bougnoux, "From projective to Euclidean space under any practical situation", ICCV 1998. Noise in F
    has a large effect if the optical axes nearly intersect, for example if both cameras look at the same point.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> from bansac.synthetic import epipolar_matches
    >>> scene = epipolar_matches(50, inlier_ratio=1.0, noise=0.0, seed=1)
    >>> F = bansac.estimate_fundamental(scene.x1, scene.x2).model
    >>> f1, f2 = bansac.focals_from_fundamental(F, scene.K[:2, 2], scene.K[:2, 2])
    >>> bool(np.allclose([f1, f2], scene.K[0, 0]))
    True
    """
    matrix, centers = as_numbers("F", F, (3, 3)), (("center1", center1), ("center2", center2))
    (x1, y1), (x2, y2) = (as_numbers(name, center, (2,)).tolist() for name, center in centers)
    from bansac.geometry.focal_lengths import squared_focals  # loads Numba

    squares = squared_focals(matrix.flatten(), x1, y1, x2, y2)
    f1, f2 = (math.sqrt(square) if square > 0.0 else math.nan for square in squares)
    return f1, f2


def __dir__() -> list[str]:
    """Return the names that this module defines, without those that it imports."""
    return [name for name, value in globals().items() if getattr(value, "__module__", "") == __name__]
