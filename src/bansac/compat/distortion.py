"""Undistort points by inverting OpenCV's distortion model.

The model (OpenCV documentation, "Camera calibration and 3D reconstruction") maps normalised coordinates (x, y), with
r^2 = x^2 + y^2, to

    x' = x (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6) + 2 p1 x y + p2 (r^2 + 2 x^2),
    y' = y (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6) + p1 (r^2 + 2 y^2) + 2 p2 x y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.geometry import apply_transform, normalize_points
from bansac.numeric.arrays import as_floats

__all__ = ["undistort_points"]

_STEPS = 100
_CONVERGED = 1e-12


def undistort_points(
    x: NDArray[np.float64], K: NDArray[np.float64], name: str, coefficients: ArrayLike | None
) -> NDArray[np.float64]:
    """Return the pixel coordinates of points in a camera without distortion.

    Parameters
    ----------
    x : (N, 2) ndarray
        Distorted points in pixels.
    K : (3, 3) ndarray
        Camera matrix.
    name : str
        Name of the coefficients in error messages.
    coefficients : array_like or None
        (k1, k2, p1, p2[, k3[, k4, k5, k6]]), or 12 or 14 coefficients with zeros after k6. None or empty: no
        distortion.

    Returns
    -------
    (N, 2) ndarray
        Undistorted points in pixels, with the same camera matrix.

    Raises
    ------
    ValueError
        If the number of coefficients is wrong, if they hold NaN or infinity or include thin prisms or a tilted sensor,
        or if the model cannot be inverted at a point of ``x``.

    Examples
    --------
    >>> K = np.diag([100.0, 100.0, 1.0])
    >>> undistort_points(np.array([[105.0, 0.0]]), K, "distCoeffs", [0.05, 0, 0, 0]).round(6)
    array([[100.,   0.]])
    """
    given = np.zeros(0) if coefficients is None else as_floats(name, coefficients).ravel()
    if given.size not in (0, 4, 5, 8, 12, 14) or not np.isfinite(given).all():
        raise ValueError(f"{name} must be 4, 5, 8, 12 or 14 finite numbers, got {given.tolist()}")
    if given[8:].any():
        raise ValueError(
            f"{name} must have no thin prism or tilt: undistort the points first, got {given[8:].tolist()}"
        )
    if not given.any():
        return x
    k1, k2, p1, p2, k3, k4, k5, k6 = np.pad(given[:8], (0, 8 - given[:8].size))
    distorted = normalize_points(K, x)
    found = distorted.copy()
    for _ in range(_STEPS):
        u, v = found.T
        square = u * u + v * v
        radial = (1 + square * (k1 + square * (k2 + square * k3))) / (1 + square * (k4 + square * (k5 + square * k6)))
        dx = 2 * p1 * u * v + p2 * (square + 2 * u * u)
        dy = p1 * (square + 2 * v * v) + 2 * p2 * u * v
        with np.errstate(all="ignore"):
            new = (distorted - np.column_stack([dx, dy])) / radial[:, None]
        change = np.abs(new - found).max(initial=0.0)
        if not change < 1e6:
            break
        found = new
        if change < _CONVERGED:
            return np.ascontiguousarray(apply_transform(K, found))
    raise ValueError(f"{name} cannot be inverted for some of the points, got {given.tolist()}")
