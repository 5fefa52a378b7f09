"""Dispatchers, the compiler and the lowering of kernels.

Kernels without reference counts (target option ``_nrt``)
    Gain: 1000 iterations take 1.23 ms instead of 1.60 ms.
    Assumption: ``_nrt=False`` forbids allocation. Callees inherit ``_nrt`` if it is unset.
Kernels without wrappers (target options ``no_cpython_wrapper``, ``no_cfunc_wrapper``)
    Gain: 4 s of the first call.
    Assumption: Python never calls code without a wrapper; such a call would crash. ``_InnerDispatcher`` prevents it.
Kernels without machine code (``NativeLowering``, ``JITCodeLibrary``), which only kernels call
    Gain: 1.5 s of the first call.
    Assumption: callers link the LLVM code of the library that ``insert_user_function`` names.
Compiler without the passes for language elements that no kernel contains (``CompilerBase``, ``DefaultPassBuilder``)
    Gain: 1 s of the first call.
Subclasses of ``CPUDispatcher``
    Gain: 1 s of the first call, because the garbage collector is off during compilation. Literal arguments compile no
    copies. ``Result.seconds`` excludes compilation and loading. They hold ``CheckedCache``.
    Assumption: Numba reads ``_cache`` and calls ``enable_caching``, ``compile``, ``_compile_for_args``,
    ``get_call_template`` and ``typeof_pyval``. ``CPUDispatcher(function, targetoptions=...)`` makes a dispatcher.
The lock of the compiler (``global_compiler_lock``)
    Gain: if several threads need a kernel, one compiles and the others wait. Another lock could deadlock, because
    Numba calls ``_Dispatcher.compile`` during a compilation, too.
    Assumption: the lock is reentrant and a context manager.
Registration of a dispatcher (``register_dispatcher``)
    Gain: a function that is compiled for one signature may call itself.
    Assumption: ``njit(signature)`` uses it in the same way.
"""

import gc
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.typeinfer import register_dispatcher
from numba.core.untyped_passes import InlineClosureLikes, WithLifting

from bansac.compiled.clock import loading
from bansac.compiled.numba_private.cache import CheckedCache
from bansac.compiled.numba_private.loading import Entry

COMPILER_LOCK = global_compiler_lock
"""Only one thread compiles at a time; waiting threads then use its code."""

# Callees inherit flags that are unset, such as the reference counts.
_FLAGS: dict[str, Any] = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", "_nrt": True}


def make_dispatcher(
    function: Callable[..., Any],
    signature: Any = None,
    *,
    fastmath: set[str] | None = None,
    from_python: bool = True,
    by_address: bool = True,
    counts: bool = True,
) -> Any:
    """Return the dispatcher of a Python function; its compiled code is cached if the function is defined in a file.

    With a signature, the function is compiled for it now, and other signatures are disabled. ``fastmath`` are LLVM's
    allowed changes of the arithmetic. The code has wrappers for calls from Python and for calls by address, as fields
    of a struct, unless these are False. Without ``from_python``, a call from Python compiles a copy that has a wrapper.
    Without reference counts the code must not allocate.
    """
    options = _FLAGS | {"fastmath": fastmath} if fastmath else dict(_FLAGS)
    unused = {"no_cpython_wrapper": not from_python, "no_cfunc_wrapper": not by_address}
    options |= {name: True for name, is_unused in unused.items() if is_unused}
    if not counts:
        options["_nrt"] = False
    compiler = _InnerCompiler if not from_python and not by_address else _Compiler
    kind = _Dispatcher if from_python else _InnerDispatcher
    dispatcher = kind(function, targetoptions=options, pipeline_class=compiler)
    dispatcher.enable_caching()
    if signature is not None:
        with COMPILER_LOCK, register_dispatcher(dispatcher):  # lets the function call itself by its name
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """Numba dispatcher with a checked cache; the garbage collector is off during compilation."""

    def enable_caching(self) -> None:
        """Look compiled code up in the pack and in the folder of the cache."""
        self._cache = CheckedCache(self.py_func, self.targetoptions)

    def get_call_template(self, arguments: Any, names: Any) -> Any:
        """Compile one copy for all values; Numba compiles one for each literal argument."""
        return super().get_call_template(tuple(map(types.unliteral, arguments)), names)

    # Numba calls these for new argument types; their time counts as loading.
    typeof_pyval = loading()(CPUDispatcher.typeof_pyval)
    _compile_for_args = loading()(CPUDispatcher._compile_for_args)

    @loading()
    def compile(self, signature: Any) -> Any:
        """Compile or load the code for a signature."""
        with COMPILER_LOCK:  # two threads must not switch the garbage collector at the same time
            enabled = gc.isenabled()
            gc.disable()
            try:
                return super().compile(signature)
            finally:
                if enabled:
                    gc.enable()


class _InnerDispatcher(_Dispatcher):
    """Dispatcher without a wrapper for Python; a call from Python runs a copy that has one."""

    def add_overload(self, compiled: Any) -> None:
        """Keep the code for callers, without an entry for Python."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    def __call__(self, *arguments: Any) -> Any:
        """Call the copy with a wrapper."""
        if "_copy" not in self.__dict__:
            self.__dict__["_copy"] = make_dispatcher(self.py_func)
        return self.__dict__["_copy"](*arguments)


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler without the passes for language elements that no kernel contains."""

    lowering: type = NativeLowering

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [one for one in manager.passes if one[0] not in (WithLifting, InlineClosureLikes, NopythonRewrites)]
        manager.passes = [(self.lowering if step is NativeLowering else step, text) for step, text in kept]
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]
    """Lowering to LLVM code without machine code, for a function that only kernels call."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and register it for its callers under a new object in place of its machine code."""
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library._ensure_finalized()
        state.cr = state.cr._replace(cfunc=Entry())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        state.reload_init.extend(getattr(state.library, "_reload_init", ()))  # Numba 0.61: none
        return True


class _InnerCompiler(_Compiler):
    """Compiler of functions that only kernels call."""

    lowering = _InnerLowering


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Return the content of a file."""
        return self.name, "object", (b"", self._get_module_for_linking().as_bitcode())
