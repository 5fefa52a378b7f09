"""Detect pairs whose matches are a watermark in the border of both images, such as a date or a name.

As in COLMAP, a pair is a watermark if most of its inliers are in the border of both images and follow one translation.
"""

from __future__ import annotations

import numpy as np

from bansac.colmap.options import VerificationOptions
from bansac.maths.arrays import Bools, Floats

__all__ = ["is_watermark"]

# Largest number of matches, evenly spaced, whose translations are tried.
_TRIED = 100

_Size = tuple[int, int]


def is_watermark(x1: Floats, x2: Floats, size1: _Size, size2: _Size, options: VerificationOptions) -> bool:
    """Return whether the inliers of a pair, in pixels of images with sizes (height, width), are a watermark.

    The answer is False if watermarks are not to be detected.
    """
    border = _in_border(x1, size1, options) & _in_border(x2, size2, options)
    needed = options.watermark_min_inlier_ratio * len(x1)
    if not options.detect_watermark or len(x1) == 0 or np.count_nonzero(border) < needed:
        return False
    shifts = x2 - x1
    for shift in shifts[border][:: 1 + len(shifts) // _TRIED]:
        distances = np.hypot(*(shifts - shift).T)
        if np.count_nonzero(distances <= options.watermark_detection_max_error) >= needed:
            return True
    return False


def _in_border(x: Floats, size: _Size, options: VerificationOptions) -> Bools:
    height, width = size
    depth = options.watermark_border_size * np.hypot(height, width)
    inside = (x > depth) & (x < np.array([width, height]) - depth)
    return np.asarray(~inside.all(axis=1))
