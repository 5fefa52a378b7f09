"""Geometry of one and two views on NumPy arrays.

The notation is that of Hartley and Zisserman, Multiple View Geometry, 2nd ed. A camera maps X to x ~ K (R X + t).
Functions of arrays of points do not check them, because their callers have done so.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.maths.arrays import as_floats

__all__ = [
    "apply_homography",
    "apply_transform",
    "corner_distance",
    "cross_matrix",
    "decompose_essential",
    "decompose_homography",
    "essential_from_pose",
    "focals_from_fundamental",
    "homogeneous",
    "normalize_points",
    "recover_pose",
    "rotation_matrix",
]

_Array = NDArray[np.float64]

# Thresholds on the singular values of a homography: smallest over largest, for a plane through a camera's centre; root
# of the difference of their squares, for a rotation.
_RANK_TWO, _ROTATION = 1e-9, 1e-6


def homogeneous(points: _Array) -> _Array:
    """Append a coordinate of 1 to points.

    Parameters
    ----------
    points : (N, D) ndarray
        Points.

    Returns
    -------
    (N, D + 1) ndarray
        Homogeneous points.

    Examples
    --------
    >>> homogeneous(np.array([[2.0, 3.0]]))
    array([[2., 3., 1.]])
    """
    return np.column_stack([points, np.ones(len(points))])


def apply_transform(matrix: _Array, points: _Array) -> _Array:
    """Map points by a matrix in homogeneous coordinates: a homography, or a camera matrix K.

    Parameters
    ----------
    matrix : (3, 3) ndarray
        The matrix.
    points : (N, 2) or (N, 3) ndarray
        2D points, or homogeneous points such as 3D points in camera coordinates.

    Returns
    -------
    (N, 2) ndarray
        Mapped points; inf or NaN for points that are mapped to infinity.

    Examples
    --------
    >>> apply_transform(np.diag([1.0, 1.0, 2.0]), np.array([[4.0, 6.0]]))
    array([[2., 3.]])
    """
    mapped = (homogeneous(points) if points.shape[1] == 2 else points) @ matrix.T
    return np.asarray(mapped[:, :2] / mapped[:, 2:])


def apply_homography(H: _Array, points: _Array) -> _Array:
    """Map points by a homography of any scale as :func:`apply_transform` does, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return apply_transform(H / max(np.abs(H).max(), np.finfo(float).tiny), points)


def corner_distance(H1: _Array, H2: _Array, size: tuple[float, float]) -> float:
    """Compute the mean distance between the corners of an image mapped by two homographies.

    Parameters
    ----------
    H1, H2 : (3, 3) ndarray
        The homographies.
    size : (h, w)
        Height and width of the image in pixels. The corners are the centres of its four corner pixels: (0, 0),
        (w - 1, 0), (w - 1, h - 1) and (0, h - 1).

    Returns
    -------
    float
        Distance in pixels; inf if a corner is mapped to infinity.

    Examples
    --------
    >>> corner_distance(np.diag([2.0, 1.0, 1.0]), np.eye(3), (5, 4))
    1.5
    """
    height, width = size
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [width - 1, height - 1, 1], [0, height - 1, 1]])
    mapped1, mapped2 = apply_homography(H1, corners), apply_homography(H2, corners)
    if not (np.isfinite(mapped1).all() and np.isfinite(mapped2).all()):
        return math.inf
    return float(np.hypot(*(mapped1 - mapped2).T).mean())


def normalize_points(K: _Array, points: _Array) -> _Array:
    """Apply K^-1 to points in pixels.

    Parameters
    ----------
    K : (3, 3) ndarray
        Camera matrix.
    points : (N, 2) ndarray
        Points in pixels.

    Returns
    -------
    (N, 2) ndarray
        Points in normalised units, on the plane at depth 1.

    Examples
    --------
    >>> normalize_points(np.array([[2.0, 0, 5], [0, 2, 6], [0, 0, 1]]), np.array([[5.0, 8.0]]))
    array([[0., 1.]])
    """
    rays = np.linalg.solve(K, homogeneous(points).T)
    return np.ascontiguousarray((rays[:2] / rays[2]).T)


def cross_matrix(t: ArrayLike) -> _Array:
    """Return the matrix [t]x of the cross product, [t]x v = t x v.

    Parameters
    ----------
    t : (3,) array_like
        A vector.

    Returns
    -------
    (3, 3) ndarray
        The skew-symmetric matrix.

    Examples
    --------
    >>> cross_matrix([1, 2, 3]) @ [0.0, 0.0, 1.0]
    array([ 2., -1.,  0.])
    """
    x, y, z = np.asarray(t, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation_matrix(vector: ArrayLike) -> _Array:
    """Return the rotation about a vector by an angle equal to its length in radians (Rodrigues' formula).

    Parameters
    ----------
    vector : (3,) array_like
        Axis times angle; not zero.

    Returns
    -------
    (3, 3) ndarray
        The rotation.

    Examples
    --------
    >>> rotation_matrix([0, 0, np.pi / 2]).round(6) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    angle = float(np.linalg.norm(vector))
    A = cross_matrix(np.asarray(vector, dtype=np.float64) / angle)
    return np.asarray(np.eye(3) + np.sin(angle) * A + (1 - np.cos(angle)) * A @ A)


def essential_from_pose(R: _Array, t: ArrayLike) -> _Array:
    """Return the essential matrix E = [t]x R of a motion.

    Parameters
    ----------
    R, t : (3, 3) ndarray and (3,) array_like
        Motion ``X2 = R X1 + t``.

    Returns
    -------
    (3, 3) ndarray
        Essential matrix with the singular values (|t|, |t|, 0).

    Examples
    --------
    >>> essential_from_pose(np.eye(3), [1, 0, 0])
    array([[ 0.,  0.,  0.],
           [ 0.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    return np.asarray(cross_matrix(t) @ R)


def decompose_essential(E: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Decompose an essential matrix into E = [t]x R up to scale, where R is R1 or R2 and t has either sign.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix; any other matrix is replaced by the nearest essential matrix.

    Returns
    -------
    R1, R2 : (3, 3) ndarray
        The two rotations.
    t : (3,) ndarray
        Unit vector of unknown sign.

    Raises
    ------
    ValueError
        If ``E`` is not a finite 3 x 3 matrix.

    Notes
    -----
    Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 9.6.2.

    Examples
    --------
    >>> R1, R2, t = decompose_essential([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    >>> bool(np.allclose(np.abs(t), [1, 0, 0]))
    True
    """
    matrix = as_floats("E", E)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"E must be a finite 3 x 3 matrix, got {matrix.tolist()}")
    U, _, Vt = np.linalg.svd(matrix)
    W = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    R1, R2 = U @ W @ Vt, U @ W.T @ Vt
    # U and V may contain a reflection; E and -E have the same motions.
    sign = 1.0 if R1[0] @ np.cross(R1[1], R1[2]) > 0.0 else -1.0
    return sign * R1, sign * R2, U[:, 2].copy()


def decompose_homography(H: ArrayLike) -> list[tuple[_Array, _Array, _Array]]:
    """Decompose a homography of a plane between calibrated cameras into motions and plane normals.

    The homography is H = R + t n^T up to scale, for the plane n^T X = 1 and the motion X2 = R X1 + t.

    Parameters
    ----------
    H : (3, 3) array_like
        Homography from image 1 to image 2 in normalised coordinates, with ``(H x1)[2] > 0`` for points in front of
        both cameras.

    Returns
    -------
    list of (R, t, n)
        The four solutions. t is in units of the plane's distance from camera 1, and n has unit length. Solutions
        come in pairs that differ in the signs of t and n. For a rotation there is one solution, with t = 0.

    Raises
    ------
    ValueError
        If ``H`` is not a finite 3 x 3 matrix of rank 3.

    Notes
    -----
    The singular vectors of H span the two planes in space that H maps without changing lengths. The n of each solution
    is orthogonal to one of them (Ma, Soatto, Kosecka and Sastry, An Invitation to 3-D Vision, 2004, section 5.3). The
    solutions are the same as those of Faugeras and Lustman (1988) and of Malis and Vargas (2007).

    Examples
    --------
    >>> t, n = np.array([0.2, 0.0, 0.1]), np.array([0.0, 0.6, 0.8])
    >>> found = decompose_homography(5 * (np.eye(3) + np.outer(t, n)))
    >>> any(np.allclose(R, np.eye(3)) and np.allclose(s, t) and np.allclose(m, n) for R, s, m in found)
    True
    """
    matrix = np.asarray(H, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"H must be a finite 3 x 3 matrix, got {matrix.tolist()}")
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
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Choose the motion of an essential matrix with the most points in front of both cameras.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix.
    x1, x2 : (N, 2) array_like
        Matched points in normalised coordinates.
    inliers : (N,) array_like of bool, optional
        Mask of the points to count; by default all.

    Returns
    -------
    R : (3, 3) ndarray
        Rotation from the first camera to the second.
    t : (3,) ndarray
        Direction of the translation, ``X2 = R X1 + t``.
    in_front : int
        Number of points with positive depth in both cameras.

    Raises
    ------
    ValueError
        If ``E`` is not a finite 3 x 3 matrix, or if the other arguments have inconsistent shapes.

    Examples
    --------
    >>> X = np.array([[0, 0, 4], [1, 0, 5], [0, 1, 6.0]])
    >>> Y = X + [1, 0, 0]
    >>> E = [[0, 0, 0], [0, 0, -1], [0, 1, 0]]
    >>> R, t, in_front = recover_pose(E, X[:, :2] / X[:, 2:], Y[:, :2] / Y[:, 2:])
    >>> in_front, bool(np.allclose(R, np.eye(3))), bool(np.allclose(t, [1, 0, 0]))
    (3, True, True)
    """
    first, second, t = decompose_essential(E)
    rays1, rays2 = as_floats("x1", x1), as_floats("x2", x2)
    if rays1.ndim != 2 or rays1.shape[1] != 2:
        raise ValueError(f"x1 must have shape (N, 2), got {rays1.shape}")
    if rays2.shape != rays1.shape:
        raise ValueError(f"x2 must have the shape of x1, {rays1.shape}, got {rays2.shape}")
    # A copy, because a read-only mask would trigger another compilation of the kernel.
    chosen = np.ones(len(rays1), np.bool_) if inliers is None else np.array(inliers, dtype=np.bool_, order="C")
    if chosen.shape != (len(rays1),):
        raise ValueError(f"inliers must have shape ({len(rays1)},), got {chosen.shape}")
    data = np.empty((4, len(rays1)))
    data[:2], data[2:] = rays1.T, rays2.T
    from bansac.geometry.cheirality import count_in_front  # loads Numba

    candidates = []
    for R in (first, second):
        positive, negative = count_in_front(R, t, data, chosen)
        candidates += [(positive, R, t), (negative, R, -t)]
    in_front, R, direction = max(candidates, key=lambda candidate: candidate[0])
    return R, direction, in_front


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
    matrix = np.asarray(F, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"F must be a finite 3 x 3 matrix, got {matrix.tolist()}")
    points = []
    for name, center in (("center1", center1), ("center2", center2)):
        point = np.asarray(center, dtype=np.float64)
        if point.shape != (2,) or not np.isfinite(point).all():
            raise ValueError(f"{name} must be two finite numbers, got {point.tolist()}")
        points.append(point.tolist())
    from bansac.geometry.focal_lengths import squared_focals  # loads Numba

    squares = squared_focals(matrix.flatten(), *points[0], *points[1])
    f1, f2 = (math.sqrt(square) if square > 0.0 else math.nan for square in squares)
    return f1, f2
