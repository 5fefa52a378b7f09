"""Structs that kernels without reference counts can read.

Gain: these kernels cannot read other structs.
Assumption: a structref is one pointer ``meminfo`` to a record whose field 3 is the address of the contents.
``infer_getattr``, ``lower_getattr_generic`` and ``lower_setattr_generic`` keep their signatures.
"""

from collections.abc import Sequence
from typing import Any

from numba.core import cgutils
from numba.core.datamodel import default_manager, models
from numba.core.extending import infer_getattr, lower_getattr_generic, lower_setattr_generic
from numba.core.imputils import impl_ret_borrowed
from numba.core.runtime.nrtdynmod import _meminfo_struct_type
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref

# Index of the address of the contents in the header of a Numba allocation.
_DATA = 3


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels create a struct by calling ``proxy`` with its fields, read the fields, and return it to Python.

    ``proxy`` and ``struct`` are subclasses of ``StructRefProxy`` and ``types.StructRef``.
    """
    structref.define_proxy(proxy, struct, list(fields))
    # As ``structref.register`` does, but with fields that inner kernels can read.
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
        """Set a field; the constructor of the struct uses this."""
        (struct_type, given), (value, content) = signature.args, arguments
        field_type, contents = struct_type.field_dict[field], _contents(context, builder, struct_type, value)
        content = context.cast(builder, content, given, field_type)
        context.nrt.incref(builder, field_type, content)
        context.nrt.decref(builder, field_type, getattr(contents, field))
        setattr(contents, field, content)


def _contents(context: Any, builder: Any, struct_type: Any, value: Any) -> Any:
    """Return the fields of a struct."""
    head = cgutils.create_struct_proxy(struct_type)(context, builder, value=value).meminfo
    head = builder.bitcast(head, _meminfo_struct_type.as_pointer())
    data = builder.load(cgutils.gep(builder, head, 0, _DATA))
    content_type = struct_type.get_data_type()
    data = builder.bitcast(data, context.data_model_manager[content_type].get_value_type().as_pointer())
    return cgutils.create_struct_proxy(content_type)(context, builder, ref=data)
