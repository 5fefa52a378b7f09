"""Averages of errors over many pairs: the paper's mAA (Sec. 5) and the area under the recall curve (AUC)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.maths.arrays import as_floats


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
    >>> mean_average_accuracy([0.5, 2.0, 3.0, 200.0], threshold=3, steps=3)  # shares 1/4, 2/4, 3/4
    0.5
    """
    values = _errors(errors)
    if not threshold >= 1 or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number of at least 1, got {threshold}")
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    return float(_count_within(values, threshold, steps).mean() / steps)


def accuracies(errors: ArrayLike, threshold: float, steps: int = 100) -> NDArray[np.float64]:
    """Return the part of each error in :func:`mean_average_accuracy`: the share of thresholds that it is within."""
    return _count_within(errors, threshold, steps) / steps


def _count_within(errors: ArrayLike, threshold: float, steps: int) -> NDArray[np.int64]:
    """Return the number of thresholds that each error is within."""
    return steps - np.searchsorted(np.linspace(1, threshold, steps), np.asarray(errors, np.float64))


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
    below = np.sort(values[values < threshold])
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
