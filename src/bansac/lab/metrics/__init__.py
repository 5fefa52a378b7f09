"""Errors of poses, homographies and curves, and the averages for tables of them.

A failed estimate counts: as 180 degrees, as an infinite distance, or as the diagonal of the square that a curve lies
in. May import ``geometry``.
"""

from __future__ import annotations

from bansac.lab.metrics.averages import auc, mean_average_accuracy
from bansac.lab.metrics.curves import FAILED_CURVE, circle_rmse, curve_rmse
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
