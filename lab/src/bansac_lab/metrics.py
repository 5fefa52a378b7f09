"""Errors of poses, homographies and curves, and their averages over many pairs.

A failed estimate is never dropped. Its error is 180 degrees for a pose, inf for a homography, and the diagonal of the
square [-1, 1] x [-1, 1] for a curve. The rotation error, the translation error and the error over the visible area
follow the "RANSAC in 2020" tutorial, the averages are the paper's mAA (Sec. 5) and the area under the recall curve
(AUC). The module may import ``geometry``.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.geometry import apply_transform
from bansac.maths.arrays import Floats, as_floats
from bansac.maths.validate import as_integer, as_size

FAILED_POSE = 180.0
"""Error of a failed pose estimate, in degrees."""


def rotation_error(R: ArrayLike | None, R_gt: ArrayLike) -> float:
    """Return the angle between two rotations in degrees, 0 to 180; 180 if the estimate is None or not finite."""
    true = _truth("R_gt", R_gt, (3, 3))
    estimate = _estimate("R", R, (3, 3))
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
    estimate = _estimate("t", t, (3,))
    if estimate is None or not estimate.any():
        return FAILED_POSE
    estimate, true = estimate / np.abs(estimate).max(), true / np.abs(true).max()
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(estimate, true)), abs(estimate @ true))))


def pose_error(R: ArrayLike | None, t: ArrayLike | None, R_gt: ArrayLike, t_gt: ArrayLike) -> float:
    """Compute the larger of the rotation and the translation error.

    Parameters
    ----------
    R, t : (3, 3) and (3,) array_like, or None
        Estimated relative pose; None is a failure.
    R_gt, t_gt : (3, 3) and (3,) array_like
        True relative pose.

    Returns
    -------
    float
        Angle in degrees; 180 for a failure.

    Raises
    ------
    ValueError
        As for :func:`rotation_error` and :func:`translation_error`.

    Examples
    --------
    >>> identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> pose_error(identity, [1, 1, 0], identity, [1, 0, 0])
    45.0
    >>> pose_error(None, None, identity, [1, 0, 0])
    180.0
    """
    return max(rotation_error(R, R_gt), translation_error(t, t_gt))


def corner_error(H: ArrayLike | None, H_gt: ArrayLike, size: tuple[int, int] | ArrayLike) -> float:
    """Compute the mean distance between the corners of image 1 mapped by two homographies.

    The corners are the centres of the four corner pixels: (0, 0), (w - 1, 0), (w - 1, h - 1) and (0, h - 1). Pixel
    centres have integer coordinates.

    Parameters
    ----------
    H : (3, 3) array_like or None
        Estimated homography from image 1 to image 2; None, NaN or inf is a failure.
    H_gt : (3, 3) array_like
        True homography.
    size : (h, w)
        Height and width of image 1 in pixels.

    Returns
    -------
    float
        Distance in pixels of image 2; inf for a failure or a corner mapped to infinity.

    Raises
    ------
    ValueError
        If a matrix is not 3 x 3, the true one is not finite or maps a corner to infinity, or the size is not two
        positive integers.

    Examples
    --------
    >>> shift = [[1, 0, 3], [0, 1, 4], [0, 0, 1]]
    >>> corner_error(shift, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], (480, 640))
    5.0
    """
    shape = as_size("size", size)
    true = _truth("H_gt", H_gt, (3, 3))
    if not np.isfinite(corner_distance(true, true, shape)):
        raise ValueError("H_gt sends a corner of the image to infinity")
    estimate = _estimate("H", H, (3, 3))
    return np.inf if estimate is None else corner_distance(estimate, true, shape)


def visible_area_error(
    H: ArrayLike | None,
    H_gt: ArrayLike,
    size1: tuple[int, int] | ArrayLike,
    size2: tuple[int, int] | ArrayLike,
    step: int = 1,
) -> float:
    """Compute the mean distance between the visible pixels of image 1 mapped by two homographies.

    Pixel centres have integer coordinates. A pixel is visible if the true homography maps its centre into image 2,
    that is [-0.5, w - 0.5) by [-0.5, h - 0.5).

    Parameters
    ----------
    H, H_gt : (3, 3) array_like, or None
        As in :func:`corner_error`.
    size1, size2 : (h, w)
        Height and width of the images in pixels.
    step : int, optional
        Use every ``step``-th row and column of image 1, starting with the first.

    Returns
    -------
    float
        Distance in pixels of image 2; inf for a failure or a visible pixel mapped to infinity.

    Raises
    ------
    ValueError
        If a matrix is not 3 x 3, the true one is not finite, a size is not two positive integers, the step is below 1,
        or no pixel is visible.

    Examples
    --------
    >>> shift = [[1, 0, 3], [0, 1, 4], [0, 0, 1]]
    >>> visible_area_error(shift, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], (48, 64), (48, 64))
    5.0
    """
    true = _truth("H_gt", H_gt, (3, 3))
    height1, width1 = as_size("size1", size1)
    height2, width2 = as_size("size2", size2)
    step = as_integer("step", step, 1)
    estimate = _estimate("H", H, (3, 3))
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


def _truth(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Convert a true value to float64; raise if it is not finite or has another shape."""
    array = _estimate(name, value, shape)
    if array is None:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return array


def _estimate(name: str, value: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Convert an estimate to float64; return None if it is missing or not finite."""
    if value is None:
        return None
    array = as_floats(name, value)
    if len(shape) == 1 and array.size == shape[0]:
        array = array.reshape(shape)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array if np.isfinite(array).all() else None


FAILED_CURVE = 2 * math.sqrt(2)
"""Error of a failed curve or circle fit: the diagonal of the square [-1, 1] x [-1, 1]."""

# Number of points along the estimated model, and along the true curve to start the search for the nearest point.
_ALONG, _COARSE = 181, 121


def curve_rmse(model: NDArray[np.float64] | None, true: NDArray[np.float64]) -> float:
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


def circle_rmse(model: NDArray[np.float64] | None, true: NDArray[np.float64]) -> float:
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


def _distances_to_curve(points: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _root_mean_square(distances: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(distances**2))) if distances.size else FAILED_CURVE


def mean_average_accuracy(errors: ArrayLike, threshold: float, steps: int = 100) -> float:
    """Compute the mean average accuracy (the paper's mAA).

    It is the share of errors within a threshold, averaged over evenly spaced thresholds from 1 to ``threshold``.

    Parameters
    ----------
    errors : (N,) array_like
        Errors, in the unit of the threshold; inf and NaN are failures.
    threshold : float
        Largest threshold, at least 1.
    steps : int, optional
        Number of thresholds.

    Returns
    -------
    float
        Accuracy in [0, 1].

    Raises
    ------
    ValueError
        If there are no errors, one is negative, or the threshold or the number of steps is below 1.

    Examples
    --------
    >>> mean_average_accuracy([0.5, 2.0, 3.0, 200.0], threshold=2, steps=2)  # shares 1/4, 2/4
    0.375
    """
    values = _errors(errors)
    if not threshold >= 1 or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number of at least 1, got {threshold}")
    return float(accuracies(values, threshold, as_integer("steps", steps, 1)).mean())


def accuracies(errors: ArrayLike, threshold: float, steps: int = 100) -> NDArray[np.float64]:
    """Return the part of each error in :func:`mean_average_accuracy`: the share of thresholds that it is within."""
    beyond = np.searchsorted(np.linspace(1, threshold, steps), np.asarray(errors, np.float64))
    return (steps - beyond) / steps


def auc(errors: ArrayLike, threshold: float) -> float:
    """Compute the area under the recall curve (AUC) up to a threshold, divided by that threshold.

    Recall at e is the share of errors <= e. The curve is piecewise linear: it starts at (0, 0) and passes through the
    points (error, recall). This is the usual definition for pose errors (Sarlin et al., SuperGlue, CVPR 2020).

    Parameters
    ----------
    errors : (N,) array_like
        Errors, in the unit of the threshold; inf and NaN are failures.
    threshold : float
        Upper limit of the integral.

    Returns
    -------
    float
        Area in [0, 1].

    Raises
    ------
    ValueError
        If there are no errors, one is negative, or the threshold is not positive.

    Examples
    --------
    >>> round(auc([0.0, 5.0, 180.0], threshold=10), 4)
    0.5833
    """
    values = _errors(errors)
    if not threshold > 0 or not np.isfinite(threshold):
        raise ValueError(f"threshold must be positive and finite, got {threshold}")
    below = values[values < threshold]
    recall = np.arange(1, len(below) + 1) / len(values)
    x = np.concatenate([[0.0], below, [threshold]])
    y = np.concatenate([[0.0], recall, [len(below) / len(values)]])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / (2 * threshold))


def _errors(errors: ArrayLike) -> NDArray[np.float64]:
    """Check the errors and sort them; failures become inf."""
    values = as_floats("errors", errors)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"errors must be a non-empty list of numbers, got an array of shape {values.shape}")
    values = np.sort(np.where(np.isnan(values), np.inf, values))
    if values[0] < 0:
        raise ValueError(f"errors must not be negative, got {values[0]:g}")
    return values
