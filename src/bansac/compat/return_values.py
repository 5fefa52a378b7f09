"""Our results, masks and errors in the shapes that OpenCV's callers expect."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bansac.result import Result

__all__ = [
    "Answer",
    "answer",
    "answer_of_all",
    "answer_of_minimal",
    "column",
    "error_type",
    "raises_opencv_error",
    "write_out",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Floats: TypeAlias = NDArray[np.float64]
Answer: TypeAlias = tuple[_Floats | None, NDArray[np.uint8] | None]


def answer(result: Result, sample_size: int, mask: Any) -> Answer:
    """Return model and mask of a result, None and zeros without success."""
    found = result.model is not None and (result.success or len(result.inliers) == sample_size)
    inliers = result.inliers if found else np.zeros(len(result.inliers), np.bool_)
    return (result.model.copy() if found else None), write_out(column(inliers), mask)


def answer_of_all(model: _Floats | None, n: int, mask: Any) -> Answer:
    """Return a model of all points."""
    return model, write_out(np.full((n, 1), model is not None, np.uint8), mask)


def answer_of_minimal(models: list[_Floats], n: int, mask: Any) -> Answer:
    """Return the models of a minimal sample, one below the other."""
    return answer_of_all(np.vstack(models) if models else None, n, mask)


def column(inliers: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return a mask as OpenCV has it: (N, 1), uint8, 1 for an inlier."""
    return inliers.astype(np.uint8)[:, None]


def write_out(found: NDArray[Any], out: Any) -> NDArray[Any]:
    """Write a mask or a matrix into the array that the caller passed for it, if it fits, and return it."""
    if isinstance(out, np.ndarray) and out.dtype == found.dtype and out.size == found.size and out.flags.writeable:
        out[...] = found.reshape(out.shape)
        return out
    return found


@functools.cache
def error_type() -> type[Exception]:
    """Return the error of bad arguments: a ValueError, and ``cv2.error`` too where OpenCV is installed."""
    if importlib.util.find_spec("cv2") is None:
        return ValueError
    import cv2

    return type("error", (cv2.error, ValueError), {})


def raises_opencv_error(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Turn the ValueErrors of a function into ``error_type``."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise error_type()(str(error)) from error

    return wrapped
