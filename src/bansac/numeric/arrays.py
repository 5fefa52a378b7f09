"""Names for the arrays that kernels take, C-contiguous NumPy arrays of any number of dimensions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ints", "Reals", "Words"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]  # the state of the random numbers
Reals: TypeAlias = NDArray[Any]  # float32 or float64
