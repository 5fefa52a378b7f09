"""Checks of arguments; every error names the argument and the invalid value."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats, as_floats

# Largest magnitude of a coordinate. Solvers multiply up to three coordinates.
LARGEST = 1e100


def as_integer(argument: str, value: Any, least: int, also: str = "") -> int:
    """Return an integer of at least ``least``; ``also`` is part of the message for what else is allowed."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{argument} must be an integer >= {least}{also}, got {value!r}")
    return int(value)


def check_name(argument: str, value: Any, names: Collection[str], *, optional: bool = False) -> None:
    """Raise a ValueError if a value is neither one of the names nor, if ``optional``, None."""
    if not (optional and value is None) and not (isinstance(value, str) and value in names):
        choices = ", ".join(map(repr, names)) + (" or None" if optional else "")
        raise ValueError(f"{argument} must be one of {choices}; got {value!r}")


def as_points(argument: str, value: ArrayLike, channels: int, n: int | None = None, *, finite: bool = True) -> Floats:
    """Return (N, channels) or (N, 1, channels) numbers as (N, channels) float64, unchecked unless ``finite``."""
    array = as_floats(argument, value)
    if array.ndim == 3 and array.shape[1] == 1:
        array = np.asarray(array[:, 0, :])
    if array.shape == (0,):
        array = np.empty((0, channels))
    if array.ndim != 2 or array.shape[1] != channels or n not in (None, len(array)):
        raise ValueError(f"{argument} must have shape ({'N' if n is None else n}, {channels}), got {array.shape}")
    if finite:
        check_finite(argument, array)
    return array


def as_numbers(argument: str, value: ArrayLike, shape: tuple[int | None, ...], *, finite: bool = True) -> Floats:
    """Return a float64 array of this shape, where None is any length, unchecked unless ``finite``."""
    array = as_floats(argument, value)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = str(shape).replace("None", "N")
        raise ValueError(f"{argument} must have shape {wanted}, got {array.shape}")
    if finite:
        check_finite(argument, array)
    return array


def as_scores(argument: str, value: ArrayLike, n: int) -> Floats:
    """Return n finite numbers as float64."""
    return scores_and_range(argument, value, n)[0]


def scores_and_range(argument: str, value: ArrayLike, n: int) -> tuple[Floats, float, float]:
    """Return n finite numbers as float64, their minimum and their maximum; the last two are 0 if n is 0."""
    array = as_floats(argument, value)
    if array.shape != (n,):
        raise ValueError(f"{argument} must have shape ({n},), one for each point or match; got {array.shape}")
    return array, *check_finite(argument, array)


def as_probabilities(argument: str, value: ArrayLike, n: int) -> Floats:
    """Return n numbers in [0, 1] as float64."""
    array, lowest, highest = scores_and_range(argument, value, n)
    check_probabilities(argument, lowest, highest)
    return array


def check_probabilities(argument: str, lowest: float, highest: float) -> None:
    """Raise an error if numbers from ``lowest`` to ``highest`` are not probabilities."""
    if lowest < 0 or highest > 1:
        raise ValueError(f"{argument} must lie in [0, 1], got values in [{lowest:g}, {highest:g}]")


def as_weights(argument: str, value: ArrayLike, n: int) -> Floats:
    """Return n positive numbers as float64."""
    array, lowest, _ = scores_and_range(argument, value, n)
    if n and lowest <= 0:
        raise ValueError(f"{argument} must be > 0, got {lowest:g}")
    return array


def as_camera(argument: str, value: ArrayLike) -> Floats:
    """Return an upper-triangular camera matrix with positive focal lengths, scaled to K[2, 2] = 1."""
    K = as_numbers(argument, value, (3, 3)).tolist()
    (fx, skew, cx), (left, fy, cy), (lower, right, scale) = K
    if left or lower or right or not scale:
        raise ValueError(f"{argument} must be an upper-triangular camera matrix, got {K}")
    fx, skew, cx, fy, cy = (number / scale for number in (fx, skew, cx, fy, cy))
    K = [[fx, skew, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]
    if fx <= 0 or fy <= 0:
        raise ValueError(f"{argument} must have positive focal lengths, got {fx:g} and {fy:g}")
    if min(fx, fy) < 1 / LARGEST or max(fx, fy, abs(skew), abs(cx), abs(cy)) > LARGEST:
        raise ValueError(f"{argument} must have numbers in [{1 / LARGEST:g}, {LARGEST:g}], got {K}")
    return np.array(K)


def as_size(argument: str, value: ArrayLike) -> tuple[int, int]:
    """Return the height and the width of an image, both positive."""
    array = as_floats(argument, value)
    if array.shape != (2,):
        raise ValueError(f"{argument} must be (height, width), got shape {array.shape}")
    check_finite(argument, array)
    if (array <= 0).any() or (array != np.round(array)).any():
        raise ValueError(f"{argument} must be (height, width), both positive integers, got {array.tolist()}")
    return int(array[0]), int(array[1])


def as_matches(
    x1: ArrayLike, x2: ArrayLike, names: tuple[str, str] = ("x1", "x2"), channels: tuple[int, int] = (2, 2)
) -> Floats:
    """Check matched points and return them as a ``sum(channels)`` x N array."""
    points: Any = (
        x if _is_single(x, count) else as_points(name, x, count, finite=False)
        for name, x, count in zip(names, (x1, x2), channels, strict=True)
    )
    first, second = points
    check_same_length(names[0], first, names[1], second)
    data = np.empty((sum(channels), len(first)))
    data[: channels[0]], data[channels[0] :] = first.T, second.T
    if data.size and not (data.max() <= LARGEST and data.min() >= -LARGEST):  # also for NaN
        check_finite(names[0], first)
        check_finite(names[1], second)
    return data


def _is_single(value: Any, channels: int) -> bool:
    """Return whether points are float32 (N, channels), which are copied once, to float64."""
    return type(value) is np.ndarray and value.dtype == np.float32 and value.shape[1:] == (channels,)


def check_same_length(name1: str, array1: Floats, name2: str, array2: Floats) -> None:
    """Raise an error if two arrays differ in their number of rows."""
    if len(array1) != len(array2):
        raise ValueError(f"{name1} and {name2} must have equal lengths, got {len(array1)} and {len(array2)}")


def check_finite(argument: str, array: Floats) -> tuple[float, float]:
    """Raise an error if a number is not finite or exceeds ``LARGEST``; return the minimum and maximum, 0 if empty."""
    if array.size == 0:
        return 0.0, 0.0
    lowest, highest = float(array.min()), float(array.max())
    if lowest >= -LARGEST and highest <= LARGEST:  # False for NaN
        return lowest, highest
    finite = np.isfinite(array)
    if finite.all():
        largest = np.abs(array).max()
        raise ValueError(f"{argument} must not exceed {LARGEST:g} in size, got {largest:g}: products would overflow")
    where = tuple(int(i) for i in np.argwhere(~finite)[0])
    raise ValueError(
        f"{argument} must be finite, got {array[where]} at {list(where)} "
        f"({np.count_nonzero(~finite)} of {array.size} values are not finite)"
    )
