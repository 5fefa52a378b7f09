"""Errors of poses, homographies and curves, and their averages over many pairs.

A failed estimate is never dropped. Its error is 180 degrees for a pose, inf for a homography, and the diagonal of the
square [-1, 1] x [-1, 1] for a curve. The package may import ``geometry``.
"""

from __future__ import annotations

from bansac.lab.metrics.averages import accuracies, auc, mean_average_accuracy
from bansac.lab.metrics.curve_errors import FAILED_CURVE, circle_rmse, curve_rmse
from bansac.lab.metrics.errors import (
    FAILED_POSE,
    corner_error,
    pose_error,
    rotation_error,
    translation_error,
    visible_area_error,
)

__all__ = [
    "FAILED_CURVE",
    "FAILED_POSE",
    "accuracies",
    "auc",
    "circle_rmse",
    "corner_error",
    "curve_rmse",
    "mean_average_accuracy",
    "pose_error",
    "rotation_error",
    "translation_error",
    "visible_area_error",
]
