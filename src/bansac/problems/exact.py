"""The residuals of a problem in float64, as kernels take them: a struct of one function, the same type for all."""

from __future__ import annotations

from typing import Any

from numba import types

from bansac.numeric.struct import FunctionStruct

__all__ = ["pack_exact"]


_EXACT = FunctionStruct(__name__, "_Exact", ("residuals",))


def pack_exact(residuals: Any, signature: Any) -> Any:
    """Return the struct of a compiled function ``residuals`` with this signature for float64."""
    return _EXACT.pack((residuals,), [types.FunctionType(signature)])
