"""Structs that carry many functions and arrays into a kernel as one argument.

A struct is a Numba structref: a type, and a proxy, which is the struct as Python sees it. Both are classes at the top
of a module, so that code compiled for them can be cached. For interpreted runs (``NUMBA_DISABLE_JIT=1``) a named tuple
with the same fields takes its place.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import default_manager, models
from numba.core.extending import infer_getattr, lower_getattr_generic, lower_setattr_generic
from numba.core.imputils import impl_ret_borrowed
from numba.core.runtime.nrtdynmod import _meminfo_struct_type
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref

from bansac.numeric.jit import COMPILER_LOCK, compile_kernel

__all__ = ["FunctionStruct", "define_struct", "register_struct"]

# Where the address of the contents stands in the head of what Numba allocates.
_DATA = 3


def register_struct(struct: type) -> type:
    """Decorate the type of a struct, a ``numba.core.types.StructRef``: kernels read its fields.

    It is ``structref.register`` with one difference: kernels without reference counts can read the fields, too. The
    counts of others cost 5 ns each, two for every field that is read.
    """
    default_manager.register(struct, models.StructRefModel)

    @infer_getattr
    class _Fields(AttributeTemplate):  # type: ignore[misc]
        key = struct

        def generic_resolve(self, struct_type: Any, field: str) -> Any:
            return struct_type.field_dict.get(field)

    @lower_getattr_generic(struct)  # type: ignore[untyped-decorator]
    def read_field(context: Any, builder: Any, struct_type: Any, value: Any, field: str) -> Any:
        found = getattr(_contents(context, builder, struct_type, value), field)
        return impl_ret_borrowed(context, builder, struct_type.field_dict[field], found)

    @lower_setattr_generic(struct)  # type: ignore[untyped-decorator]
    def write_field(context: Any, builder: Any, signature: Any, arguments: Any, field: str) -> None:
        """Set a field, as the constructor does."""
        (struct_type, given), (value, content) = signature.args, arguments
        field_type, contents = struct_type.field_dict[field], _contents(context, builder, struct_type, value)
        content = context.cast(builder, content, given, field_type)
        context.nrt.incref(builder, field_type, content)
        context.nrt.decref(builder, field_type, getattr(contents, field))
        setattr(contents, field, content)

    return struct


def _contents(context: Any, builder: Any, struct_type: Any, value: Any) -> Any:
    """Return the fields of a struct."""
    head = cgutils.create_struct_proxy(struct_type)(context, builder, value=value).meminfo
    head = builder.bitcast(head, _meminfo_struct_type.as_pointer())
    data = builder.load(cgutils.gep(builder, head, 0, _DATA))
    content_type = struct_type.get_data_type()
    data = builder.bitcast(data, context.data_model_manager[content_type].get_value_type().as_pointer())
    return cgutils.create_struct_proxy(content_type)(context, builder, ref=data)


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels make the struct by calling ``proxy`` with its fields, and return it to Python."""
    # Numba reads this at every call that takes the struct: the slot itself, in place of a property of Python.
    proxy._numba_type_ = structref.StructRefProxy._type  # type: ignore[attr-defined]
    structref.define_constructor(proxy, struct, list(fields))
    structref.define_boxing(struct, proxy)


class FunctionStruct:
    """A struct whose fields are compiled functions, or tuples of them; in interpreted runs a named tuple.

    Parameters
    ----------
    proxy, struct : type
        Its classes, see ``define_struct``.
    fields : sequence of str
        Names of the fields.
    tuples : mapping of str to int, optional
        Lengths of the fields that are tuples.
    """

    def __init__(
        self, proxy: type, struct: type, fields: Sequence[str], tuples: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        define_struct(proxy, struct, fields)
        self._struct, self._fields = struct, tuple(fields)
        self._plain = namedtuple(proxy.__name__, self._fields)  # type: ignore[misc]
        self._pack = _write_packer(proxy, fields, tuples)
        self._compiled: dict[tuple[Any, ...], Any] = {}

    def pack(self, functions: Sequence[Any], function_types: Sequence[Any]) -> Any:
        """Return the struct of these functions; their types are Numba's: ``FunctionType``, or a ``UniTuple`` of one."""
        if config.DISABLE_JIT:
            return self._plain(*functions)
        key = tuple(function_types)
        with COMPILER_LOCK:
            if key not in self._compiled:
                filled = self._struct(tuple(zip(self._fields, key, strict=True)))
                self._compiled[key] = compile_kernel(self._pack, filled(*_flat(key, types.UniTuple)))
        return self._compiled[key](*_flat(functions, tuple))


def _flat(values: Sequence[Any], kind: Any) -> list[Any]:
    """Return values with the elements of those of a kind in their places."""
    return [one for value in values for one in (value if isinstance(value, kind) else (value,))]


def _write_packer(proxy: type, fields: Sequence[str], tuples: Mapping[str, int]) -> Callable[..., Any]:
    """Return the Python function ``pack(field, ...)`` that a kernel is made of to fill the struct.

    It takes the elements of tuples one by one. Numba caches functions that have a file and a fixed number of
    parameters: the function is written from the names of the fields, as the standard library writes those of a
    dataclass, and belongs to the file of ``proxy``.
    """
    elements = {name: [f"{name}_{k}" for k in range(length)] for name, length in tuples.items()}
    names = ", ".join(", ".join(elements.get(name, [name])) for name in fields)
    values = ", ".join(f"({', '.join(elements[name])},)" if name in elements else name for name in fields)
    scope: dict[str, Any] = {"__name__": proxy.__module__, "proxy": proxy}
    file = sys.modules[proxy.__module__].__file__ or "<struct>"
    exec(compile(f"def pack({names}): return proxy({values})", file, "exec"), scope)
    return scope["pack"]  # type: ignore[no-any-return]
