"""Type aliases for the arrays that kernels take (C-contiguous NumPy arrays of any dimension), and their check."""

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]  # state of the random number generator
Reals: TypeAlias = NDArray[Any]  # float32 or float64

_FLOAT64 = np.dtype(np.float64)  # a singleton in NumPy for the native byte order
_KINDS = {"b": "booleans", "c": "complex numbers", "U": "text", "S": "text"}


def as_floats(argument: str, value: ArrayLike) -> Floats:
    """Return real numbers of any shape as float64.

    Complex numbers, booleans, text and masked values raise a ValueError: a conversion would change them silently.
    """
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        return value
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):
        raise ValueError(f"{argument} must not have masked values; pass the data that are to be used")
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return np.asarray(array, dtype=np.float64)
        odd: list[Any] = [array.dtype]
        if array.dtype.kind == "O":
            odd = [type(x).__name__ for x in array.flat if not isinstance(x, Real) or isinstance(x, bool)]
        if not odd:
            return array.astype(np.float64)
        found = _KINDS.get(array.dtype.kind, type(value).__name__ + f" with {odd[0]}" * (array.ndim > 0))
        found += "; bansac.matches.Matches.from_opencv takes it" * ("KeyPoint" in odd)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # ragged rows, PyTorch tensors with gradients
        found = f"{type(value).__name__}: {error}"
    raise ValueError(f"{argument} must be an array of real numbers, got {found}")
