"""Structs that carry many functions and arrays into a kernel as one argument.

A struct is a Numba structref: a type, and a proxy, which is the struct as Python sees it. Both are classes at the top
of a module, so that code compiled for them can be cached. For interpreted runs (``NUMBA_DISABLE_JIT=1``) a named tuple
with the same fields takes its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numba.experimental import structref

__all__ = ["define_packer", "define_struct"]


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels make the struct by calling ``proxy`` with its fields, and return it to Python."""
    structref.define_constructor(proxy, struct, list(fields))
    structref.define_boxing(struct, proxy)


def define_packer(
    proxy: type, struct: type, fields: Sequence[str], tuples: Mapping[str, int] = MappingProxyType({})
) -> Callable[..., Any]:
    """Return the Python function ``pack(field, ...)`` that a kernel is made of to fill the struct.

    ``tuples`` has the lengths of the fields that are tuples; ``pack`` takes their elements one by one.

    Numba caches functions that have a file and a fixed number of parameters: the function is written from the names of
    the fields, as the standard library writes those of a dataclass, and belongs to the file of ``proxy``.
    """
    define_struct(proxy, struct, fields)
    elements = {name: [f"{name}_{k}" for k in range(length)] for name, length in tuples.items()}
    names = ", ".join(", ".join(elements.get(name, [name])) for name in fields)
    values = ", ".join(f"({', '.join(elements[name])},)" if name in elements else name for name in fields)
    scope: dict[str, Any] = {"__name__": proxy.__module__, "proxy": proxy}
    file = sys.modules[proxy.__module__].__file__ or "<struct>"
    exec(compile(f"def pack({names}): return proxy({values})", file, "exec"), scope)
    return scope["pack"]  # type: ignore[no-any-return]
