"""Convert results, masks and errors to the return values of OpenCV's functions."""

import contextlib
import functools
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bansac.estimate.result import Result
from bansac.maths.arrays import Bools, Bytes, Floats

_P = ParamSpec("_P")
_T = TypeVar("_T")
Answer: TypeAlias = tuple[Floats | None, Bytes]  # the mask is not Optional, as in OpenCV's stubs

# Parameters of the other libraries by the options that they set.
_PARAMETERS = {
    "max_iterations": ("maxIters", "iterationsCount", "max_trials"),
    "threshold": ("ransacReprojThreshold", "reprojectionError", "ransacThreshold", "residual_threshold"),
    "confidence": ("prob", "stop_probability"),
}
_OF_SIGNATURES = "maxIters", "prob"  # of functions with several signatures

_is_strict = ContextVar("is_strict", default=False)


class DoubtWarning(UserWarning):
    """Warning with the reason for a model in doubt, or for None."""


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Let the functions of ``bansac.compat`` return None for models in doubt, without warnings.

    Examples
    --------
    >>> import numpy as np
    >>> import bansac.compat.cv2 as cv2
    >>> from bansac.compat import strict
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> with strict():  # the threshold of 3 is larger than the square
    ...     cv2.estimateAffinePartial2D(square, square + 1.0)[0] is None
    True
    """
    token = _is_strict.set(True)
    try:
        yield
    finally:
        _is_strict.reset(token)


def answer(result: Result, sample_size: int, mask: Any) -> Answer:
    """Return the model and the mask of a result; without a model to return, None and zeros."""
    if is_returned(result, sample_size):
        return result.model.copy(), write_out(column(result.inliers), mask)
    return None, write_out(np.zeros((len(result.inliers), 1), np.uint8), mask)


def is_returned(result: Result, sample_size: int) -> bool:
    """Return whether the caller gets the model of a result.

    These models are returned: significant ones, those of ``sample_size`` data, and, with a warning, those with at least
    ``sample_size`` inliers. For a minimal sample this is OpenCV's rule.
    """
    if result.model is not None and (result.success or len(result.inliers) == sample_size):
        return True
    meets_rule = result.model is not None and result.num_inliers >= sample_size
    warn_of_doubt(f"{'the model is in doubt' if meets_rule else 'no model'}: {result.message}")
    return meets_rule and not _is_strict.get()


def warn_of_doubt(text: str) -> None:
    """Warn at the line that calls this package, except in :func:`strict`."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("bansac."):
        level, frame = level + 1, frame.f_back
    if not _is_strict.get():
        warnings.warn(text, DoubtWarning, stacklevel=level)


def answer_of_all(models: list[Floats], n: int, mask: Any) -> Answer:
    """Return the stacked models of all n points, or None without a model, and their mask."""
    if not models:
        warn_of_doubt(f"no model: the {n} points determine none")
    return np.vstack(models) if models else None, write_out(np.full((n, 1), bool(models), np.uint8), mask)


def column(inliers: Bools) -> Bytes:
    """Return a mask in OpenCV's format: (N, 1), uint8, 1 for an inlier."""
    return inliers.astype(np.uint8)[:, None]


def write_out(array: NDArray[Any], out: Any) -> NDArray[Any]:
    """Return a mask or a matrix; if it fits into the caller's array ``out``, write it there."""
    if isinstance(out, np.ndarray) and out.dtype == array.dtype and out.size == array.size and out.flags.writeable:
        out[...] = array.reshape(out.shape)
        return out
    return array


def write_same_shape(matrix: Floats, out: Any) -> Floats:
    """Return a matrix; if the caller passed an array of its shape, write it there."""
    return write_out(matrix, out) if np.shape(out) == matrix.shape else matrix


@functools.cache
def error_type() -> type[Exception]:
    """Return the type of errors for invalid arguments: ValueError, and also ``cv2.error`` if OpenCV is installed."""
    if importlib.util.find_spec("cv2") is None:
        return ValueError
    import cv2

    return type("error", (cv2.error, ValueError), {})


@contextlib.contextmanager
def naming(parameters: Collection[str]) -> Iterator[None]:
    """Let a ValueError that begins with the name of an option begin with the parameter of the other library."""
    try:
        yield
    except ValueError as error:
        option, _, text = str(error).partition(" ")
        for name in _PARAMETERS.get(option, ()):
            if name in parameters:
                raise ValueError(f"{name} {text}") from error
        raise


def raises_opencv_error(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Convert the ValueErrors of a function to ``error_type``, with the names of its parameters."""
    parameters = inspect.signature(function).parameters
    names = _OF_SIGNATURES if "args" in parameters else parameters.keys()

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            with naming(names):
                return function(*args, **kwargs)
        except ValueError as error:
            raise error_type()(str(error)) from error

    return wrapped
