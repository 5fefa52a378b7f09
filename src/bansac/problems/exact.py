"""The residuals of a problem in float64, as kernels take them: a struct of one function, the same type for all."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.experimental import structref

from bansac.numeric.struct import FunctionStruct, register_struct

__all__ = ["pack_exact"]


@register_struct
class _ExactType(types.StructRef):  # type: ignore[misc]
    """Numba type of the struct."""


class _ExactStruct(structref.StructRefProxy):  # type: ignore[misc]
    """The struct as Python sees it: opaque."""


_EXACT = FunctionStruct(_ExactStruct, _ExactType, ("residuals",))


def pack_exact(residuals: Any, signature: Any) -> Any:
    """Return the struct of a compiled function ``residuals`` with this signature for float64."""
    return _EXACT.pack((residuals,), [types.FunctionType(signature)])
