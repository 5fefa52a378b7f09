"""Translate arguments of OpenCV's functions (points and flags) for the estimators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats, as_floats
from bansac.maths.validate import as_points, check_same_length

LMEDS, RANSAC, RHO, _USAC_PROSAC = 4, 8, 16, 37

# Settings by the value of OpenCV's flag; the list in ``bansac.compat.cv2`` explains them.
METHODS: dict[int, dict[str, Any]] = {
    LMEDS: {},
    RANSAC: {},
    RHO: {},
    32: {},  # USAC_DEFAULT
    33: {},  # USAC_PARALLEL
    34: {},  # USAC_FM_8PTS
    35: {"preset": "fast"},  # USAC_FAST
    36: {"preset": "accurate"},  # USAC_ACCURATE
    _USAC_PROSAC: {"sampler": "prosac"},
    38: {"scoring": "magsac++"},  # USAC_MAGSAC
}


def read_method(
    n: int,
    method: Any,
    threshold: float | None,
    max_iterations: float | None,
    confidence: float | None,
    default_threshold: float | None = None,
) -> dict[str, Any]:
    """Return the settings of a flag and its numbers for n points; RANSAC and RHO replace a threshold of 0 or less."""
    if not isinstance(method, int | np.integer) or int(method) not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(str, METHODS))}, got {method!r}")
    numbers = {"max_iterations": max_iterations, "confidence": confidence}
    settings = METHODS[int(method)] | {name: value for name, value in numbers.items() if value is not None}
    if int(method) == _USAC_PROSAC:
        settings["scores"] = -np.arange(float(n))  # the points are in the order of their quality
    if int(method) in (RANSAC, RHO) and isinstance(threshold, int | float | np.number) and threshold <= 0.0:
        threshold = default_threshold or threshold
    return settings | {"threshold": None if int(method) == LMEDS else threshold}


def as_pair(
    name1: str, points1: ArrayLike, name2: str, points2: ArrayLike, *, channels: tuple[int, int] = (2, 2),
    least: int = 0, homogeneous: bool = False,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return matched points (N, channels), also given as (N, 1, channels) or (1, N, channels), as two arrays."""
    pair = []
    for name, points, width in ((name1, points1, channels[0]), (name2, points2, channels[1])):
        array = as_floats(name, points)
        if array.ndim == 3 and array.shape[0] == 1:
            array = array[0]
        elif array.ndim == 3 and array.shape[1] == 1:
            array = array[:, 0]
        if homogeneous and array.ndim == 2 and array.shape[1] == 3:
            scale = array[:, 2:]
            array = array[:, :2] / np.where(scale == 0.0, 1.0, scale)
        pair.append(as_points(name, array, width))
    check_same_length(name1, pair[0], name2, pair[1])
    if len(pair[0]) < least:
        raise ValueError(f"{name1} must have at least {least} points, got {len(pair[0])}")
    return pair[0], pair[1]


def is_flag(method: Any, flag: int) -> bool:
    """Return whether the method equals a flag."""
    return isinstance(method, int | np.integer) and int(method) == flag
