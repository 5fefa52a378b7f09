"""Arguments that all generators share."""

import numpy as np
from numpy.typing import NDArray


def draw_inliers(n: int, inlier_ratio: float, noise: float, seed: int) -> tuple[np.random.Generator, NDArray[np.bool_]]:
    """Check the shared arguments; return a random number generator and a mask of inliers."""
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    if not 0 <= inlier_ratio <= 1:
        raise ValueError(f"inlier_ratio must lie in [0, 1], got {inlier_ratio}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a finite number of at least 0, got {noise}")
    rng = np.random.default_rng(seed)
    return rng, rng.permutation(np.arange(n) < round(inlier_ratio * n))
