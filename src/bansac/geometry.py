"""Geometry of one and two views, on NumPy arrays.

Notation: Hartley and Zisserman, Multiple View Geometry, 2nd ed.; cameras map X to x ~ K (R X + t).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.numeric.jit import fast_kernel

__all__ = ["decompose_essential", "recover_pose"]


def decompose_essential(E: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Take an essential matrix apart: E = [t]x R1 up to scale, and the same with R2 and with -t.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix; of another matrix the nearest essential one is meant.

    Returns
    -------
    R1, R2 : (3, 3) ndarray
        The two rotations.
    t : (3,) ndarray
        Unit vector; its sign is not determined.

    Raises
    ------
    ValueError
        If ``E`` is not a finite 3 x 3 matrix.

    Notes
    -----
    Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 9.6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.geometry import decompose_essential
    >>> R1, R2, t = decompose_essential([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    >>> bool(np.allclose(np.abs(t), [1, 0, 0]))
    True
    """
    matrix = np.asarray(E, dtype=np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"E must be a finite 3 x 3 matrix, got {matrix.tolist()}")
    U, _, Vt = np.linalg.svd(matrix)
    W = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    R1, R2 = U @ W @ Vt, U @ W.T @ Vt
    # U and V may contain a reflection; -E has the same motions as E.
    sign = 1.0 if R1[0] @ np.cross(R1[1], R1[2]) > 0.0 else -1.0
    return sign * R1, sign * R2, U[:, 2].copy()


def recover_pose(
    E: ArrayLike, x1: ArrayLike, x2: ArrayLike, inliers: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Choose the motion of an essential matrix that puts most points in front of both cameras.

    Parameters
    ----------
    E : (3, 3) array_like
        An essential matrix.
    x1, x2 : (N, 2) array_like
        Matched points in normalised coordinates.
    inliers : (N,) array_like of bool, optional
        The points to look at; all by default.

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
        If ``E`` is not a finite 3 x 3 matrix, or the other arguments do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.geometry import recover_pose
    >>> X = np.array([[0, 0, 4], [1, 0, 5], [0, 1, 6.0]])
    >>> Y = X + [1, 0, 0]
    >>> E = [[0, 0, 0], [0, 0, -1], [0, 1, 0]]
    >>> R, t, in_front = recover_pose(E, X[:, :2] / X[:, 2:], Y[:, :2] / Y[:, 2:])
    >>> in_front, bool(np.allclose(R, np.eye(3))), bool(np.allclose(t, [1, 0, 0]))
    (3, True, True)
    """
    first, second, t = decompose_essential(E)
    rays1, rays2 = np.asarray(x1, dtype=np.float64), np.asarray(x2, dtype=np.float64)
    if rays1.ndim != 2 or rays1.shape[1] != 2:
        raise ValueError(f"x1 must have shape (N, 2), got {rays1.shape}")
    if rays2.shape != rays1.shape:
        raise ValueError(f"x2 must have the shape of x1, {rays1.shape}, got {rays2.shape}")
    chosen = np.ones(len(rays1), np.bool_) if inliers is None else np.ascontiguousarray(inliers, dtype=np.bool_)
    if chosen.shape != (len(rays1),):
        raise ValueError(f"inliers must have shape ({len(rays1)},), got {chosen.shape}")
    data = np.empty((4, len(rays1)))
    data[:2], data[2:] = rays1.T, rays2.T
    candidates = []
    for R in (first, second):
        positive, negative = _count_in_front(R, t, data, chosen)
        candidates += [(positive, R, t), (negative, R, -t)]
    in_front, R, direction = max(candidates, key=lambda candidate: candidate[0])
    return R, direction, in_front


@fast_kernel
def _count_in_front(
    R: NDArray[np.float64], t: NDArray[np.float64], data: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[int, int]:
    """Count the points with positive depths in both cameras for the translations t and -t.

    The depths d1, d2 solve d2 (x2, 1) = d1 R (x1, 1) + t in the least-squares sense. -t turns both signs around.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    positive, negative = 0, 0
    for i in range(chosen.size):
        a0 = R[0, 0] * x1[i] + R[0, 1] * y1[i] + R[0, 2]
        a1 = R[1, 0] * x1[i] + R[1, 1] * y1[i] + R[1, 2]
        a2 = R[2, 0] * x1[i] + R[2, 1] * y1[i] + R[2, 2]
        aa, bb = a0 * a0 + a1 * a1 + a2 * a2, x2[i] * x2[i] + y2[i] * y2[i] + 1.0
        ab = a0 * x2[i] + a1 * y2[i] + a2
        at, bt = a0 * t[0] + a1 * t[1] + a2 * t[2], x2[i] * t[0] + y2[i] * t[1] + t[2]
        d1, d2 = ab * bt - bb * at, aa * bt - ab * at
        positive += 1 if chosen[i] and d1 > 0.0 and d2 > 0.0 else 0
        negative += 1 if chosen[i] and d1 < 0.0 and d2 < 0.0 else 0
    return positive, negative
