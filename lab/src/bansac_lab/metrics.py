"""Errors of poses, homographies and curves, and their averages over many pairs.

A failed estimate is never dropped. Its error is 180 degrees for a pose, inf for a homography, and the diagonal of the
square [-1, 1] x [-1, 1] for a curve. The rotation error, the translation error and the error over the visible area
follow the "RANSAC in 2020" tutorial, the averages are the paper's mAA (Sec. 5) and the area under the recall curve
(AUC).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bansac.geometry import apply_transform
from bansac.maths.arrays import Floats

FAILED_POSE = 180.0
"""Error of a failed pose estimate, in degrees."""


def rotation_error(R: ArrayLike | None, R_gt: ArrayLike) -> float:
    """Return the angle between two rotations in degrees, 0 to 180; 180 if the estimate is None or not finite."""
    true = _truth("R_gt", R_gt, (3, 3))
    estimate = _estimate(R, (3, 3))
    if estimate is None:
        return FAILED_POSE
    between = estimate @ true.T
    # Use both sine and cosine: either one alone loses half the digits at one end of the range.
    twice_sine = np.linalg.norm(between - between.T) / math.sqrt(2)
    return float(np.degrees(np.arctan2(twice_sine, np.trace(between) - 1)))


def translation_error(t: ArrayLike | None, t_gt: ArrayLike) -> float:
    """Return the angle between two directions in degrees, 0 to 90, whatever their signs and lengths.

    An estimate that is None, zero or not finite is a failure: 180.
    """
    true = _truth("t_gt", t_gt, (3,))
    if not true.any():
        raise ValueError("t_gt must not be zero: it has no direction")
    estimate = _estimate(t, (3,))
    if estimate is None or not estimate.any():
        return FAILED_POSE
    estimate, true = estimate / np.abs(estimate).max(), true / np.abs(true).max()
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(estimate, true)), abs(estimate @ true))))


def pose_error(R: ArrayLike | None, t: ArrayLike | None, R_gt: ArrayLike, t_gt: ArrayLike) -> float:
    """Return the larger of the rotation and the translation error in degrees; 180 for a failure.

    >>> identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> pose_error(identity, [1, 1, 0], identity, [1, 0, 0])
    45.0
    """
    return max(rotation_error(R, R_gt), translation_error(t, t_gt))


def corner_error(H: ArrayLike | None, H_gt: ArrayLike, size: tuple[int, int]) -> float:
    """Return the mean distance in pixels between the corners of image 1 (height, width) mapped by two homographies.

    The corners are the centres of the four corner pixels: (0, 0), (w - 1, 0), (w - 1, h - 1) and (0, h - 1). Pixel
    centres have integer coordinates. The error is inf for a failure or a corner mapped to infinity.

    >>> shift = [[1, 0, 3], [0, 1, 4], [0, 0, 1]]
    >>> corner_error(shift, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], (480, 640))
    5.0
    """
    true = _truth("H_gt", H_gt, (3, 3))
    if not np.isfinite(corner_distance(true, true, size)):
        raise ValueError("H_gt sends a corner of the image to infinity")
    estimate = _estimate(H, (3, 3))
    return np.inf if estimate is None else corner_distance(estimate, true, size)


def visible_area_error(
    H: ArrayLike | None,
    H_gt: ArrayLike,
    size1: tuple[int, int],
    size2: tuple[int, int],
    step: int = 1,
) -> float:
    """Return the mean distance in pixels between the visible pixels of image 1 mapped by two homographies.

    Sizes are (height, width). Pixel centres have integer coordinates. A pixel is visible if the true homography maps
    its centre into image 2, that is [-0.5, w - 0.5) by [-0.5, h - 0.5). Every ``step``-th row and column counts. The
    error is inf for a failure or a visible pixel mapped to infinity.
    """
    true = _truth("H_gt", H_gt, (3, 3))
    (height1, width1), (height2, width2) = size1, size2
    estimate = _estimate(H, (3, 3))
    x = np.arange(0.0, width1, step)
    total, visible_pixels = 0.0, 0
    for y in np.arange(0.0, height1, step):  # row by row to limit the memory for large images
        points = np.column_stack([x, np.full_like(x, y), np.ones_like(x)])
        expected = apply_homography(true, points)
        with np.errstate(invalid="ignore"):
            visible = ((expected >= -0.5) & (expected < [width2 - 0.5, height2 - 0.5])).all(axis=1)
        visible_pixels += int(np.count_nonzero(visible))
        if estimate is not None and visible.any():
            total += np.hypot(*(apply_homography(estimate, points[visible]) - expected[visible]).T).sum()
    if not visible_pixels:
        raise ValueError("H_gt maps no pixel of image 1 into image 2: there is no visible area")
    error = total / visible_pixels
    return float(error) if estimate is not None and np.isfinite(error) else np.inf


def apply_homography(H: Floats, points: Floats) -> Floats:
    """Map points by a homography of any scale as :func:`apply_transform` does, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return apply_transform(H / max(np.abs(H).max(), np.finfo(float).tiny), points)


def corner_distance(H1: Floats, H2: Floats, size: tuple[float, float]) -> float:
    """Return the mean distance between the corner pixels of an image (height, width) mapped by two homographies.

    The distance is inf if a corner is mapped to infinity.
    """
    height, width = size
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [width - 1, height - 1, 1], [0, height - 1, 1]])
    mapped1, mapped2 = apply_homography(H1, corners), apply_homography(H2, corners)
    if not (np.isfinite(mapped1).all() and np.isfinite(mapped2).all()):
        return math.inf
    return float(np.hypot(*(mapped1 - mapped2).T).mean())


def _truth(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Convert a true value to float64; raise a ValueError if it is not finite."""
    array = _estimate(value, shape)
    if array is None:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return array


def _estimate(value: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    """Convert an estimate to float64; return None if it is missing or not finite."""
    array = None if value is None else np.asarray(value, np.float64).reshape(shape)
    return array if array is not None and np.isfinite(array).all() else None


FAILED_CURVE = 2 * math.sqrt(2)
"""Error of a failed curve or circle fit: the diagonal of the square [-1, 1] x [-1, 1]."""

# Number of points along the estimated model, and along the true curve to start the search for the nearest point.
_ALONG, _COARSE = 181, 121


def curve_rmse(model: Floats | None, true: Floats) -> float:
    """Return the root mean square distance from a polynomial y = p(x) to the true one.

    The mean runs over points of the estimated curve within the square [-1, 1] x [-1, 1]. None, or a curve outside the
    square, is a failure: :data:`FAILED_CURVE`.
    """
    if model is None:
        return FAILED_CURVE
    x = np.linspace(-1, 1, _ALONG)
    points = np.column_stack([x, np.polynomial.polynomial.polyval(x, model)])
    points = points[np.abs(points[:, 1]) <= 1]
    return _root_mean_square(_distances_to_curve(points, np.asarray(true)))


def circle_rmse(model: Floats | None, true: Floats) -> float:
    """Return the root mean square distance from a circle (centre and radius) to the true one, as :func:`curve_rmse`."""
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


def _distances_to_curve(points: Floats, coefficients: Floats) -> Floats:
    """Return the distance from each point to the nearest point of a polynomial's curve."""
    polyval = np.polynomial.polynomial.polyval
    x, y = points.T
    # The nearest point may lie outside the square, but no further away than the point of the curve at the same x.
    start = x[:, None] + np.linspace(-1.0, 1.0, _COARSE) * np.abs(polyval(x, coefficients) - y)[:, None]
    squared = (start - x[:, None]) ** 2 + (polyval(start, coefficients) - y[:, None]) ** 2
    nearest = squared.min(axis=1)
    foot = np.take_along_axis(start, squared.argmin(axis=1)[:, None], axis=1)[:, 0]
    slope, bend = (np.polynomial.polynomial.polyder(coefficients, k) for k in (1, 2))
    for _ in range(4):
        # Newton's method for the zero of half the derivative of the squared distance: (t - x) + (p(t) - y) p'(t).
        height, first = polyval(foot, coefficients) - y, polyval(foot, slope)
        curvature = np.maximum(1 + first**2 + height * polyval(foot, bend), 0.1)
        foot = foot - (foot - x + height * first) / curvature
        nearest = np.minimum(nearest, (foot - x) ** 2 + (polyval(foot, coefficients) - y) ** 2)
    return np.asarray(np.sqrt(nearest))


def _root_mean_square(distances: Floats) -> float:
    return float(np.sqrt(np.mean(distances**2))) if distances.size else FAILED_CURVE


def accuracies(errors: ArrayLike, threshold: float, steps: int = 100) -> Floats:
    """Return the share of thresholds that each error is within: evenly spaced ones from 1 to ``threshold``.

    Their mean is the mean average accuracy (the paper's mAA). Errors of inf and NaN are failures.
    """
    beyond = np.searchsorted(np.linspace(1, threshold, steps), np.asarray(errors, np.float64))
    return (steps - beyond) / steps


def auc(errors: ArrayLike, threshold: float) -> float:
    """Return the area under the recall curve (AUC) up to a threshold, divided by that threshold.

    Recall at e is the share of errors <= e. The curve is piecewise linear: it starts at (0, 0) and passes through the
    points (error, recall). This is the usual definition for pose errors (Sarlin et al., SuperGlue, CVPR 2020). Errors
    of inf and NaN are failures.

    >>> round(auc([0.0, 5.0, 180.0], threshold=10), 4)
    0.5833
    """
    values = np.sort(np.asarray(errors, np.float64))
    below = values[values < threshold]
    recall = np.arange(1, len(below) + 1) / len(values)
    x = np.concatenate([[0.0], below, [threshold]])
    y = np.concatenate([[0.0], recall, [len(below) / len(values)]])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / (2 * threshold))
