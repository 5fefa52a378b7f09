"""Structs that pass many functions and arrays to a kernel as one argument.

A struct is a Numba structref: a type and a proxy, which is the struct in Python. In interpreted runs
(``NUMBA_DISABLE_JIT=1``) it is a named tuple with the same fields instead.
"""

import hashlib
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from numba import config, types
from numba.experimental import structref

from bansac.compiled.backend import define_struct
from bansac.compiled.clock import loading
from bansac.compiled.jit import COMPILER_LOCK, compile_kernel


class _Struct(types.StructRef):  # type: ignore[misc]
    """Numba type of a struct, with a short name: the names of compiled functions contain those of their arguments."""

    def __init__(self, fields: Any) -> None:
        super().__init__(fields)
        digest = hashlib.blake2b(repr(self._fields).encode(), digest_size=8).hexdigest()
        self.name = f"{self._typename}-{digest}"


def make_struct(module: str, name: str, fields: Sequence[str]) -> tuple[Any, Any]:
    """Make the two classes of a struct: the proxy, which kernels call to create a struct, and its Numba type.

    Both become attributes of the module, where cached code finds them: ``name + "Struct"`` and ``name + "Type"``.
    ``module`` is the ``__name__`` of the module that defines the struct at its top level. The proxy is a named tuple in
    interpreted runs, otherwise opaque to Python. The type is called with the names and types of the fields.
    """
    place = {"__module__": module}
    proxy = type(f"{name}Struct", (structref.StructRefProxy,), place)
    struct = type(f"{name}Type", (_Struct,), place)
    define_struct(proxy, struct, fields)
    for made in (proxy, struct):
        setattr(sys.modules[module], made.__name__, made)
    return namedtuple(f"{name}Struct", fields) if config.DISABLE_JIT else proxy, struct


class FunctionStruct:
    """Struct whose fields are compiled functions or tuples of them; a named tuple in interpreted runs.

    The arguments are those of ``make_struct``, and the lengths of the fields that are tuples.
    """

    def __init__(
        self, module: str, name: str, fields: Sequence[str], tuples: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self._proxy, self._struct = make_struct(module, name, fields)
        self._fields = tuple(fields)
        self._pack = _write_packer(module, self._proxy, fields, tuples)
        self._compiled: dict[tuple[Any, ...], Any] = {}
        self._found: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()

    def find(self, owner: Any, key: Any, make: Callable[[], Any]) -> Any:
        """Return the struct of an object and a key; if there is none yet, ``make`` packs it."""
        structs = self._found.setdefault(owner, {})
        if key not in structs:
            with COMPILER_LOCK, loading():  # if several threads wait, the first one compiles
                if key not in structs:
                    structs[key] = make()
        return structs[key]

    def pack(self, functions: Sequence[Any], function_types: Sequence[Any]) -> Any:
        """Return the struct of these functions; each type is Numba's ``FunctionType`` or a ``UniTuple`` of one."""
        if config.DISABLE_JIT:
            return self._proxy(*functions)
        key = tuple(function_types)
        with COMPILER_LOCK:
            if key not in self._compiled:
                filled = self._struct(tuple(zip(self._fields, key, strict=True)))
                self._compiled[key] = compile_kernel(self._pack, filled(*_flat(key, types.UniTuple)))
        return self._compiled[key](*_flat(functions, tuple))


def _flat(values: Sequence[Any], kind: Any) -> list[Any]:
    """Return the values, with those of type ``kind`` replaced by their elements."""
    return [one for value in values for one in (value if isinstance(value, kind) else (value,))]


def _write_packer(module: str, proxy: Any, fields: Sequence[str], tuples: Mapping[str, int]) -> Callable[..., Any]:
    """Return the Python function ``pack``, which is compiled to fill the struct from its fields and tuple elements."""
    elements = {name: [f"{name}_{k}" for k in range(length)] for name, length in tuples.items()}
    parameters = [one for name in fields for one in elements.get(name, [name])]
    values = ", ".join(f"({', '.join(elements[name])},)" if name in elements else name for name in fields)
    return write_function(module, "pack", parameters, f"return {proxy.__name__}({values})")


def write_function(module: str, name: str, parameters: Sequence[str], *lines: str) -> Callable[..., Any]:
    """Return the Python function ``name(parameters)`` with these lines, which use the names of the module.

    Numba caches functions that have a file and a fixed number of parameters: the function is written from the names of
    fields, as the standard library writes those of a dataclass, and belongs to the file of the module.
    """
    source = "\n    ".join([f"def {name}({', '.join(parameters)}):", *lines])
    found: dict[str, Any] = {}
    scope = vars(sys.modules[module])
    exec(compile(source, scope.get("__file__") or "<struct>", "exec"), scope, found)
    return found[name]  # type: ignore[no-any-return]
