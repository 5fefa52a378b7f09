"""Synthetic points on 2D curves, with ground truth."""

from dataclasses import dataclass

import numpy as np

from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_integer
from bansac.synthetic.mask import draw_inliers


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Points (N, 2) of a 2D curve, the true model (see the generator), and the mask of inliers."""

    points: Floats
    model: Floats
    inliers: Bools


def line_points(n: int = 200, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0) -> CurvePoints:
    """Return synthetic points of a straight line across the square [-1, 1] x [-1, 1], and outliers in the square.

    Parameters
    ----------
    n : int, optional
        Number of points.
    inlier_ratio : float, optional
        Fraction of inliers in [0, 1]; their number is rounded.
    noise : float, optional
        Standard deviation perpendicular to the line.
    seed : int, optional
        Seed of the random numbers.

    Returns
    -------
    CurvePoints
        Points in random order. The model is (a, b, c) with a x + b y + c = 0 and a^2 + b^2 = 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> line = line_points(10, inlier_ratio=1.0, noise=0.0)
    >>> bool(np.allclose(line.points @ line.model[:2] + line.model[2], 0))
    True
    """
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    angle = rng.uniform(0, np.pi)
    normal = np.array([np.cos(angle), np.sin(angle)])
    along = np.array([-normal[1], normal[0]])
    offset = rng.uniform(-0.4, 0.4)
    on_line = offset * normal + rng.uniform(-0.9, 0.9, (n, 1)) * along + rng.normal(0, noise, (n, 1)) * normal
    points = np.where(inliers[:, None], on_line, rng.uniform(-1, 1, (n, 2)))
    return CurvePoints(points, np.array([*normal, -offset]), inliers)


def circle_points(n: int = 200, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0) -> CurvePoints:
    """Return synthetic points of a circle inside the square [-1, 1] x [-1, 1], and outliers in the square.

    Parameters
    ----------
    n, inlier_ratio, seed : optional
        As in :func:`line_points`, with the same errors.
    noise : float, optional
        Standard deviation of the distance from the centre.

    Returns
    -------
    CurvePoints
        Points in random order. The model is (x, y, radius).

    Examples
    --------
    >>> circle = circle_points(10, inlier_ratio=1.0, noise=0.0)
    >>> bool(np.allclose(np.hypot(*(circle.points - circle.model[:2]).T), circle.model[2]))
    True
    """
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    centre, radius = rng.uniform(-0.3, 0.3, 2), rng.uniform(0.3, 0.6)
    angles = rng.uniform(0, 2 * np.pi, n)
    distance = radius + rng.normal(0, noise, n)
    on_circle = centre + distance[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.where(inliers[:, None], on_circle, rng.uniform(-1, 1, (n, 2)))
    return CurvePoints(points, np.array([*centre, radius]), inliers)


def polynomial_points(
    n: int = 200, degree: int = 3, inlier_ratio: float = 0.5, noise: float = 0.01, seed: int = 0
) -> CurvePoints:
    """Return synthetic points of a polynomial y = p(x) over [-1, 1], and outliers in the square [-1, 1] x [-1, 1].

    Parameters
    ----------
    n, inlier_ratio, seed : optional
        As in :func:`line_points`, with the same errors.
    degree : int, optional
        Degree of the polynomial, >= 0.
    noise : float, optional
        Standard deviation of y.

    Returns
    -------
    CurvePoints
        Points in random order. The model is the degree + 1 coefficients, the constant first.

    Examples
    --------
    >>> curve = polynomial_points(10, degree=2, inlier_ratio=1.0, noise=0.0)
    >>> x, y = curve.points.T
    >>> bool(np.allclose(np.polynomial.polynomial.polyval(x, curve.model), y))
    True
    """
    as_integer("degree", degree, 0)
    rng, inliers = draw_inliers(n, inlier_ratio, noise, seed)
    # The magnitudes of the coefficients sum to 0.8, so the curve stays in the square.
    coefficients = rng.uniform(0.3, 1, degree + 1) * rng.choice([-1.0, 1.0], degree + 1)
    coefficients *= 0.8 / np.abs(coefficients).sum()
    x = rng.uniform(-1, 1, n)
    y = np.polynomial.polynomial.polyval(x, coefficients) + rng.normal(0, noise, n)
    points = np.column_stack([x, np.where(inliers, y, rng.uniform(-1, 1, n))])
    return CurvePoints(points, coefficients, inliers)
