"""Lines, circles and polynomials the slow way."""

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray


def line_distances(line: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of ``points`` (N, 2) from a x + b y + c = 0, for any length of the normal."""
    return np.abs(points @ line[:2] + line[2]) / np.linalg.norm(line[:2])


def circle_distances(circle: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of ``points`` (N, 2) from the circle (cx, cy, r)."""
    return np.abs(np.linalg.norm(points - circle[:2], axis=1) - circle[2])


def fit_circle(
    points: NDArray[np.float64], weights: NDArray[np.float64], circle: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise the squared distances by fifty Gauss-Newton steps in (cx, cy, r) from ``circle``."""
    root = np.sqrt(weights)
    for _ in range(50):
        offsets = points - circle[:2]
        distance = np.linalg.norm(offsets, axis=1)
        jacobian = np.column_stack([-offsets / distance[:, None], -np.ones(len(points))])
        step = np.linalg.lstsq(root[:, None] * jacobian, -root * (distance - circle[2]), rcond=None)[0]
        circle = circle + step
    return circle


def polynomial_distances(c: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vertical distances of ``points`` (N, 2) from the curve."""
    return np.abs(Polynomial(c)(points[:, 0]) - points[:, 1])


def fit_polynomial(points: NDArray[np.float64], weights: NDArray[np.float64], degree: int) -> Polynomial:
    """Fit by NumPy, whose weights multiply the residuals before they are squared."""
    return Polynomial.fit(points[:, 0], points[:, 1], degree, w=np.sqrt(weights))
