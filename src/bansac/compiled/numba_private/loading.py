"""Loading of compiled code (``CompileResult``, ``JITCodeLibrary``, ``CompileResultCacheImpl``, ``Environment``).

Gain: binary wheels contain compiled kernels (see ``pack``), so that the first call compiles nothing. A process parses
no LLVM code that nothing links.
Assumption: ``rebuild`` and ``_LoadedLibrary`` do what ``CompileResult._rebuild`` and ``_unserialize`` do. Loaded code
needs only the runtime of ``rtsys``; Numba fills its tables before each compilation. Compiled code reads the constants
of an ``Environment``, and never its globals.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment
from numba.core.runtime import rtsys


class Entry:
    """Identity of a function without machine code."""


def _require_folder(locator: Any) -> None:
    """Accept the folder of a locator if it exists."""
    if not os.path.isdir(locator.get_cache_path()):
        raise FileNotFoundError(locator.get_cache_path())


READ_ONLY: list[Any] = [
    type(kind.__name__, (kind,), {"ensure_cache_path": _require_folder})
    for kind in CompileResultCacheImpl._locator_classes
]
"""Numba's locators of cache folders, for folders that are not writable."""


class CompiledCode(CompileResultCacheImpl):  # type: ignore[misc]
    """Content of a cache file: what a call needs, and the LLVM code, which is needed if another kernel is compiled."""

    _locator_classes = (*CompileResultCacheImpl._locator_classes, *READ_ONLY)

    def reduce(self, compiled: Any) -> Any:
        """Return the content of a file."""
        (name, _, (code, llvm_code)), description, environment, signature, *_, reload, environments = compiled._reduce()
        is_defined = compiled.library.get_pointer_to_function
        names = (f"llvm_{kind}" for kind in ("cpython_wrapper_name", "cfunc_wrapper_name", "func_name"))
        symbols = [name for name in (getattr(description, kind) for kind in names) if is_defined(name)]
        unused = [
            one.env_name for one in environments if not one.consts and one.globals["__name__"].startswith("numba.")
        ]
        used = [one for one in environments if one.env_name not in unused]
        return (name, code, symbols, description, environment, signature, reload, used, unused), llvm_code

    def rebuild(self, target_context: Any, content: Any) -> Any:
        """Return the compiled code."""
        needed, llvm_code = content
        return rebuild(target_context, needed, lambda: llvm_code)


def rebuild(target_context: Any, content: Any, read_llvm: Callable[[], bytes]) -> Any:
    """Return the compiled code of ``CompiledCode.reduce``, as ``CompileResult._rebuild`` does."""
    name, code, symbols, description, environment, signature, reload, used, unused = content
    for function in reload:
        function()
    rtsys.initialize(target_context)
    environments = (*used, *map(_empty_environment, unused))
    library = _LoadedLibrary(target_context.codegen(), name, code, symbols, read_llvm)
    fields = {
        "target_context": target_context,
        "typing_context": target_context.typing_context,
        "library": library,
        "environment": environment,
        "entry_point": target_context.get_executable(library, description, environment) if code else Entry(),
        "fndesc": description,
        "type_annotation": "",
        "signature": signature,
        "objectmode": False,
        "lifted": (),
        "reload_init": reload,
        "referenced_envs": environments,
    }
    for referenced in environments if code else ():  # without machine code there is no place for them
        library.codegen.set_env(referenced.env_name, referenced)
    return CompileResult(**dict.fromkeys(CompileResult._fields) | fields)


def _empty_environment(name: str) -> Any:
    """Return an environment without content for one of Numba's own functions, whose module is then not imported."""
    environment = Environment({})
    environment.env_name = name
    return environment


class _LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from a file, as of ``_unserialize``; LLVM code is parsed if a kernel that is compiled links it."""

    def __init__(
        self, codegen: Any, name: str, code: bytes, symbols: Sequence[str], read_llvm: Callable[[], bytes]
    ) -> None:
        super().__init__(codegen, name)
        self._shared_module: Any = None
        self._read_llvm = read_llvm
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._read_llvm())
        return self._shared_module
