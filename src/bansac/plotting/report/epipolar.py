"""The fundamental matrix whose epipolar lines the page draws."""

from typing import Any

import numpy as np

from bansac.geometry import homogeneous
from bansac.maths.arrays import Bools, Floats


def fundamental_of(model: Any, x1: Floats, x2: Floats, inliers: Bools, threshold: float) -> Floats | None:
    """Return the model if it is a fundamental matrix in the unit of the points; None otherwise.

    Most Sampson distances of its inliers are then within the threshold. Those of a homography, or of an essential
    matrix with points in pixels, are far above it.
    """
    if not isinstance(model, np.ndarray) or model.shape != (3, 3) or not inliers.any():
        return None
    points1, points2 = homogeneous(x1[inliers]), homogeneous(x2[inliers])
    lines2, lines1 = points1 @ model.T, points2 @ model
    gradient = np.sqrt(np.sum(lines1[:, :2] ** 2 + lines2[:, :2] ** 2, axis=1))
    within = np.abs(np.sum(points2 * lines2, axis=1)) <= 2 * threshold * gradient
    return model if np.mean(within) > 0.5 else None
