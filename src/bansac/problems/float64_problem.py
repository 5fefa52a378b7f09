"""The residuals of a problem in float64, as kernels take them: a struct of one function, the same type for all."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.experimental import structref

from bansac.numeric.struct import FunctionStruct, register_struct

__all__ = ["pack_float64"]


@register_struct
class _Float64Type(types.StructRef):  # type: ignore[misc]
    """Numba type of the struct."""


class _Float64Struct(structref.StructRefProxy):  # type: ignore[misc]
    """The struct as Python sees it: opaque."""


_FLOAT64 = FunctionStruct(_Float64Struct, _Float64Type, ("residuals",))


def pack_float64(residuals: Any, signature: Any) -> Any:
    """Return the struct of a compiled function ``residuals`` with this signature for float64."""
    return _FLOAT64.pack((residuals,), [types.FunctionType(signature)])
