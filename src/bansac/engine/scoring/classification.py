"""Classification of points as inliers or outliers of a model: C^k of the paper (sec:model_evaluation)."""

from typing import Any

import numpy as np

from bansac.compiled.jit import fast_kernel
from bansac.maths.arrays import Bools, Reals


@fast_kernel
def classify_block(residuals: Reals, squared_threshold: Any, is_inlier: Bools) -> np.int64:
    """Mark the squared residuals of a block that are at most ``squared_threshold``, and return their number.

    NaN is an outlier. The counter is a float32, because it vectorises with the comparison; an integer counter takes
    twice the time. It counts exactly up to 2**24, far more than the size of a block.
    """
    count = np.float32(0)
    for n in range(residuals.size):
        inside = residuals[n] <= squared_threshold
        is_inlier[n] = inside
        count += np.float32(1) if inside else np.float32(0)
    return np.int64(count)
