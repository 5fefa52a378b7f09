"""Errors of estimated curves and circles in the square [-1, 1] x [-1, 1]."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

FAILED_CURVE = 2 * math.sqrt(2)
"""Error of a failed curve or circle fit: the diagonal of the square [-1, 1] x [-1, 1]."""

# Number of points along the estimated model, and along the true curve to start the search for the nearest point.
_ALONG, _COARSE = 181, 121


def curve_rmse(model: _Array | None, true: _Array) -> float:
    """Return the root mean square distance from a polynomial y = p(x) to the true one.

    The mean runs over points of the estimated curve within the square [-1, 1] x [-1, 1]. The coefficients begin with
    the constant. None, or a curve outside the square, is a failure: :data:`FAILED_CURVE`.

    Examples
    --------
    >>> round(curve_rmse(np.array([0.1, 1.0]), np.array([0.0, 1.0])), 4)  # two lines at 45 degrees
    0.0707
    """
    if model is None:
        return FAILED_CURVE
    x = np.linspace(-1, 1, _ALONG)
    points = np.column_stack([x, np.polynomial.polynomial.polyval(x, model)])
    points = points[np.abs(points[:, 1]) <= 1]
    return _root_mean_square(_distances_to_curve(points, np.asarray(true)))


def circle_rmse(model: _Array | None, true: _Array) -> float:
    """Return the root mean square distance from a circle (centre and radius) to the true one.

    The mean runs over points of the estimated circle within the square [-1, 1] x [-1, 1]. None, or a circle outside the
    square, is a failure: :data:`FAILED_CURVE`.

    Examples
    --------
    >>> round(circle_rmse(np.array([0.0, 0.0, 0.6]), np.array([0.0, 0.0, 0.5])), 4)
    0.1
    """
    if model is None:
        return FAILED_CURVE
    # Only a short arc of a large circle lies in the square. Spread the points over the arc inside the square's
    # circumscribed circle. That arc is centred on the direction from the circle's centre to the origin.
    centre, radius = np.asarray(model[:2]), float(model[2])
    away = math.hypot(*centre)
    half = math.pi
    if away > 1e-9 * radius:
        half = math.acos(min(max((away**2 + radius**2 - 2) / (2 * away * radius), -1.0), 1.0))
    angles = math.atan2(-centre[1], -centre[0]) + np.linspace(-half, half, 2 * _ALONG)
    points = centre + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    points = points[(np.abs(points) <= 1).all(axis=1)]
    return _root_mean_square(np.hypot(points[:, 0] - true[0], points[:, 1] - true[1]) - true[2])


def _distances_to_curve(points: _Array, coefficients: _Array) -> _Array:
    """Return the distance from each point to the nearest point of a polynomial's curve."""
    polyval = np.polynomial.polynomial.polyval
    x, y = points.T
    # The nearest point of the curve may lie outside the square.
    start = np.linspace(-1.5, 1.5, _COARSE)
    squared = (start - x[:, None]) ** 2 + (polyval(start, coefficients) - y[:, None]) ** 2
    foot, nearest = start[squared.argmin(axis=1)], squared.min(axis=1)
    slope, bend = (np.polynomial.polynomial.polyder(coefficients, k) for k in (1, 2))
    for _ in range(4):
        # Newton's method for the zero of half the derivative of the squared distance: (t - x) + (p(t) - y) p'(t).
        height, first = polyval(foot, coefficients) - y, polyval(foot, slope)
        curvature = np.maximum(1 + first**2 + height * polyval(foot, bend), 0.1)
        foot = foot - (foot - x + height * first) / curvature
        nearest = np.minimum(nearest, (foot - x) ** 2 + (polyval(foot, coefficients) - y) ** 2)
    return np.asarray(np.sqrt(nearest))


def _root_mean_square(distances: _Array) -> float:
    return float(np.sqrt(np.mean(distances**2))) if distances.size else FAILED_CURVE
