"""Translate arguments of OpenCV's functions (points and flags) for the estimators."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.result import Result
from bansac.maths.arrays import Floats, as_floats
from bansac.maths.validate import as_points, check_same_length

LMEDS, RANSAC, RHO = 4, 8, 16
_PROSAC = "prosac"

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
    37: {"sampler": _PROSAC},  # USAC_PROSAC
    38: {"scoring": "magsac++"},  # USAC_MAGSAC
}


class Call(NamedTuple):
    """Threshold and settings of a call."""

    threshold: float | None
    settings: dict[str, Any]

    def run(self, estimate: Callable[..., Result], x1: Floats, *others: Any) -> Result:
        """Call an estimator; PROSAC requires points in the order of their quality."""
        ordered = {"scores": -np.arange(float(len(x1)))} if self.settings.get("sampler") == _PROSAC else {}
        return estimate(x1, *others, threshold=self.threshold, **ordered, **self.settings)


def read_method(
    method: Any,
    threshold: float | None,
    max_iterations: float | None,
    confidence: float | None,
    default_threshold: float | None = None,
) -> Call:
    """Translate a flag and its numbers; RANSAC and RHO replace a threshold of 0 or less."""
    if not isinstance(method, int | np.integer) or int(method) not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(str, METHODS))}, got {method!r}")
    numbers = {"max_iterations": max_iterations, "confidence": confidence}
    settings = METHODS[int(method)] | {name: value for name, value in numbers.items() if value is not None}
    if int(method) in (RANSAC, RHO) and default_threshold is not None and is_number(threshold) and threshold <= 0.0:
        threshold = default_threshold
    return Call(None if int(method) == LMEDS else threshold, settings)


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


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number; others are left to the checks of the estimator, which name the argument."""
    return isinstance(value, int | float | np.number)


def is_flag(method: Any, flag: int) -> bool:
    """Return whether the method equals a flag."""
    return isinstance(method, int | np.integer) and int(method) == flag
