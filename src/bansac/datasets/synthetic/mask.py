"""The arguments that all generators share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["inlier_mask"]


def inlier_mask(n: int, inlier_ratio: float, noise: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Check the arguments that all generators share and return a random mask of inliers."""
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    if not 0 <= inlier_ratio <= 1:
        raise ValueError(f"inlier_ratio must lie in [0, 1], got {inlier_ratio}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a finite number of at least 0, got {noise}")
    return rng.permutation(np.arange(n) < round(inlier_ratio * n))
