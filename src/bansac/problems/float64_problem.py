"""The float64 residuals of a problem for kernels: a struct of one function, of the same type for all problems."""

from __future__ import annotations

from typing import Any

from numba import types

from bansac.compiled.struct import FunctionStruct

__all__ = ["pack_float64"]


_FLOAT64 = FunctionStruct(__name__, "_Float64", ("residuals",))


def pack_float64(residuals: Any, signature: Any) -> Any:
    """Return the struct of a compiled function ``residuals`` with this float64 signature."""
    return _FLOAT64.pack((residuals,), [types.FunctionType(signature)])
