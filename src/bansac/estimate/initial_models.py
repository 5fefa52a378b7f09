"""Checks of the argument ``initial_model`` of the public functions, in the forms of ``Result.model``."""

from __future__ import annotations

from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats, as_floats
from bansac.maths.validate import check_finite
from bansac.problems.problem import Problem

__all__ = ["as_model", "as_motion", "check_model"]

_NAME = "initial_model"


def as_model(problem: Problem, value: ArrayLike | None) -> Floats | None:
    """Return a model of the shape of the problem, flat; None stays None."""
    return None if value is None else check_model(value, problem.model_shape).ravel()


def as_motion(value: ArrayLike) -> tuple[Floats, Floats]:
    """Return R and t of a pose or a pair (R, t)."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{_NAME} must be a pose or a pair (R, t), got {type(value).__name__}")
    return check_model(value[0], (3, 3), "R of "), check_model(value[1], (3,), "t of ")


def check_model(value: ArrayLike, shape: tuple[int, ...], part: str = "") -> Floats:
    """Return an array of finite numbers of this shape."""
    array = as_floats(part + _NAME, value)
    if array.shape != shape:
        raise ValueError(f"{part}{_NAME} must have shape {shape}, got {array.shape}")
    check_finite(part + _NAME, array)
    return array
