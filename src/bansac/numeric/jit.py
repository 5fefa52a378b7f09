"""How every kernel of the package is compiled.

One place holds the flags, so that no kernel can silently be compiled with others:

* ``error_model="numpy"``: a division by zero gives inf or NaN and costs no branch.
* The compiled code is kept on disk (``CheckedCache``), the next process loads it.
* ``nogil=True``: other Python threads run while a kernel runs.
* ``FAST_MATH`` lets sums and products be reordered, which is what makes a residual loop vectorise.
  It never contains ``nnan`` or ``ninf``: a NaN residual has to stay an outlier. A function that other kernels call
  exists in several compiled copies, which may be reordered in different ways, and which copy runs depends on what was
  loaded from the cache: results would not repeat bit by bit. So only functions that are entered from outside
  (residuals), or whose result is exact in any order (counts), are compiled with it.

The decorators:

=====================  =================================================================================
``kernel``             called from Python
``inner_kernel``       called by other kernels only; allocates nothing and returns no array
``allocating_kernel``  called by other kernels only
``fast_kernel``        entered from outside, or exact in any order: with ``FAST_MATH``
``inlined``            a part of one larger kernel, compiled with it
=====================  =================================================================================

An ``inner_kernel`` has no reference counts. Others count whenever they read a field of a struct of arrays
(``numeric.struct``), some 10 ns each: the loop reads dozens of them an iteration, so it is an inner kernel.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typeinfer import register_dispatcher

from bansac.numeric.checked_cache import CheckedCache
from bansac.numeric.clock import loading

__all__ = [
    "COMPILER_LOCK",
    "FAST_MATH",
    "allocating_kernel",
    "compile_kernel",
    "fast_kernel",
    "inlined",
    "inner_kernel",
    "is_ours",
    "kernel",
]

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}

# Numba's own: one thread compiles at a time, the others wait and find what it has compiled. It can be taken again.
COMPILER_LOCK = global_compiler_lock

Function = TypeVar("Function", bound=Callable[..., Any])

# A wrapper for calls from Python is some 50 ms of a compilation.
_NO_WRAPPERS = {"no_cpython_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, with exact floating-point semantics."""
    return _dispatcher(_Dispatcher, function)


def allocating_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python.

    A call from Python (a test) compiles another copy, which has one.
    """
    return _dispatcher(_InnerDispatcher, function, **_NO_WRAPPERS, no_cfunc_wrapper=True)


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python and without reference counts."""
    return _dispatcher(_InnerDispatcher, function, **_NO_WRAPPERS, no_cfunc_wrapper=True, _nrt=False)


def fast_kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, letting the compiler reorder its arithmetic."""
    return _dispatcher(_Dispatcher, function, fastmath=FAST_MATH)


def inlined(function: Function) -> Function:
    """Mark a part of a larger kernel: it is compiled with its callers and not by itself.

    A function compiled by itself costs some 50 ms on the first call ever, and its callers optimise it once more; but
    the types of an inlined one are inferred at each place that calls it.
    """
    return njit(inline="always", error_model="numpy")(function)  # type: ignore[no-any-return]


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """Numba's dispatcher with a checked cache; garbage is not collected while it compiles, a tenth of the time."""

    def enable_caching(self) -> None:
        """Keep compiled code on disk if the function lives in a file; one typed into a prompt has none."""
        try:
            self._cache = CheckedCache(self.py_func, self.targetoptions)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise

    # What Numba calls for arguments of types that it has not met: counted as loading, not as the run.
    typeof_pyval = loading()(CPUDispatcher.typeof_pyval)
    _compile_for_args = loading()(CPUDispatcher._compile_for_args)

    @loading()
    def compile(self, signature: Any) -> Any:
        """Compile or load the code for a signature."""
        with COMPILER_LOCK:  # two threads must not switch the collector on and off at once
            enabled = gc.isenabled()
            gc.disable()
            try:
                return super().compile(signature)
            finally:
                if enabled:
                    gc.enable()


class _InnerDispatcher(_Dispatcher):
    """A dispatcher whose compiled code has no wrapper for Python; called from Python it runs a copy that has one."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the copy."""
        if "_copy" not in self.__dict__:
            self.__dict__["_copy"] = kernel(self.py_func)
        return self.__dict__["_copy"](*arguments)


def _dispatcher(kind: Any, function: Function, **options: Any) -> Function:
    """Return a dispatcher of a function; one of another dispatcher, with options of its own, is of its function."""
    if config.DISABLE_JIT:
        return function
    dispatcher = kind(getattr(function, "py_func", function), targetoptions=_FLAGS | options)
    dispatcher.enable_caching()
    return dispatcher  # type: ignore[no-any-return]


# Numba hands flags that are not set down from a caller to what it calls: reference counts are among them.
_FLAGS: dict[str, Any] = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", "_nrt": True}


def is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function, or a Numba dispatcher of it, is written in the package."""
    scope = getattr(getattr(function, "py_func", function), "__globals__", {})  # a callable object has none
    return str(scope.get("__name__", "")).startswith("bansac.")


def compile_kernel(
    function: Callable[..., Any], signature: Any, *, fast: bool = False, inner: bool = False, lean: bool = False
) -> Any:
    """Compile ``function`` for one signature now.

    The code is cached on disk if the function lives in a file; a function typed into a prompt has no file and is
    compiled anew in each process.

    Parameters
    ----------
    function : callable
        Plain Python, or a Numba dispatcher of it; a ``fast_kernel`` is one here, too.
    signature : Signature
        Types of the arguments and of what it returns.
    fast : bool
        With ``FAST_MATH``.
    inner : bool
        It is called by kernels only and needs no wrapper for Python.
    lean : bool
        It has no reference counts, if it is one of the package: they cost 10 ns for each row of an array. One of the
        user's may allocate arrays and has them.
    """
    python_function = getattr(function, "py_func", function)
    fast = fast or "fastmath" in getattr(function, "targetoptions", {})
    options: dict[str, Any] = _NO_WRAPPERS.copy() if inner else {}
    if fast:
        options["fastmath"] = FAST_MATH
    if lean and is_ours(function):
        options["_nrt"] = False
    kind = _InnerDispatcher if inner else _Dispatcher
    dispatcher = kind(python_function, targetoptions=_FLAGS | options)
    dispatcher.enable_caching()
    with COMPILER_LOCK, register_dispatcher(dispatcher):  # it may call itself; Numba finds it by its name alone
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
