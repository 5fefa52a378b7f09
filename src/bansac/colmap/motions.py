"""Split the matches of two images by the rigid motions that they follow.

Each motion has a fundamental matrix of its own (:mod:`bansac.estimate.multiple`). As in COLMAP, no match belongs to two
motions.
"""

from __future__ import annotations

import numpy as np

from bansac.colmap.options import VerificationOptions
from bansac.estimate.multiple import estimate_multiple
from bansac.estimate.presets import Options
from bansac.maths.arrays import Bools, Floats

__all__ = ["find_motions"]


def find_motions(x1: Floats, x2: Floats, options: VerificationOptions, estimation: Options) -> list[Bools]:
    """Return the mask of the matches of each motion, the motion with most matches first.

    A match belongs to the motion with the smallest residual, if that is at most ``max_error``. Motions with fewer
    matches than ``min_num_inliers``, or with a smaller fraction than ``min_inlier_ratio`` of the matches that earlier
    motions do not have, are dropped.
    """
    results = estimate_multiple("F", np.hstack([x1, x2]), options=estimation).results
    if not results:
        return []
    residuals = np.array([result.residuals for result in results])
    nearest = np.where(residuals.min(axis=0) <= options.max_error, residuals.argmin(axis=0), len(results))
    masks = [nearest == k for k in range(len(results))]
    motions, left = [], len(x1)
    for mask in sorted(masks, key=np.count_nonzero, reverse=True):
        count = int(np.count_nonzero(mask))
        if count >= max(options.min_num_inliers, options.min_inlier_ratio * left):
            motions.append(mask)
            left -= count
    return motions
