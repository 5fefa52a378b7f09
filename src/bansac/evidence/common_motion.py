"""The affine motion that most matches of two images follow, by least trimmed squares (Rousseeuw, JASA 1984).

It starts with the median displacement. Then it is fitted to the half of the matches that follow it best, a few times.
Far matches are thus left out. Evenly spaced matches stand for many.
"""

import numpy as np

from bansac.compiled.jit import inner_kernel, kernel
from bansac.maths.arrays import Floats
from bansac.maths.extent import SAMPLE
from bansac.maths.linalg import copy
from bansac.problems import affine

FITS = 5
"""Number of fits to the nearer half of the data."""

_fit_affine = inner_kernel(affine.fit)


@kernel
def fit_motion(data: Floats) -> Floats:
    """Return the affine motion (A | b), flat, of matches (4 x N, N at least 1) with rows x1, y1, x2, y2."""
    n = data.shape[1]
    size = min(n, SAMPLE)
    sample, weights, ordered, motion = np.empty((4, size)), np.empty(size), np.empty(size), np.empty(6)
    for c in range(4):
        for k in range(size):
            sample[c, k] = data[c, k * n // size]
    motion[0], motion[1], motion[3], motion[4] = 1.0, 0.0, 0.0, 1.0
    for c in range(2):
        for k in range(size):
            weights[k] = sample[2 + c, k] - sample[c, k]
        motion[3 * c + 2] = _median(weights, ordered)
    for _ in range(FITS):
        for k in range(size):
            dx = motion[0] * sample[0, k] + motion[1] * sample[1, k] + motion[2] - sample[2, k]
            dy = motion[3] * sample[0, k] + motion[4] * sample[1, k] + motion[5] - sample[3, k]
            weights[k] = dx * dx + dy * dy
        limit = _median(weights, ordered)
        for k in range(size):
            weights[k] = 1.0 if weights[k] <= limit else 0.0
        if not _fit_affine(sample, weights, motion, ordered):
            break  # the half is on a line
    return motion


@inner_kernel
def _median(values: Floats, ordered: Floats) -> float:
    """Return the upper median by Hoare's selection; ``ordered`` is work space for as many numbers."""
    copy(values, ordered)
    middle, low, high = values.size // 2, 0, values.size - 1
    while low < high:
        pivot, i, j = ordered[middle], low, high
        while i <= j:
            while ordered[i] < pivot:
                i += 1
            while pivot < ordered[j]:
                j -= 1
            if i <= j:
                ordered[i], ordered[j] = ordered[j], ordered[i]
                i += 1
                j -= 1
        low = i if j < middle else low
        high = j if middle < i else high
    median: float = ordered[middle]
    return median
