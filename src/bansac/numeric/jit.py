"""How every kernel of the package is compiled.

One place holds the flags, so that no kernel can silently be compiled with others:

* ``error_model="numpy"``: a division by zero gives inf or NaN and costs no branch.
* ``cache=True``: the compiled code is kept on disk, the next process loads it.
* ``nogil=True``: other Python threads run while a kernel runs.
* ``FAST_MATH`` lets sums and products be reordered, which is what makes a residual loop vectorise.
  It never contains ``nnan`` or ``ninf``: a NaN residual has to stay an outlier. A function that other kernels call
  exists in several compiled copies, which may be reordered in different ways, and which copy runs depends on what was
  loaded from the cache: results would not repeat bit by bit. So only functions that are entered from outside
  (residuals), or whose result is exact in any order (counts), are compiled with it.

The decorators:

==================  ====================================================================================
``kernel``          called from Python
``context_kernel``  called by other kernels only
``inner_kernel``    called by other kernels only; allocates nothing, returns no array, takes no struct
``fast_kernel``     entered from outside, or exact in any order: with ``FAST_MATH``
``inlined``         a part of one larger kernel, compiled with it
==================  ====================================================================================
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit
from numba.core.registry import CPUDispatcher

__all__ = ["FAST_MATH", "compile_kernel", "context_kernel", "fast_kernel", "inlined", "inner_kernel", "kernel"]

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}

Function = TypeVar("Function", bound=Callable[..., Any])

# What a call from Python needs, some 50 to 100 ms of a compilation.
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, with exact floating-point semantics."""
    return _dispatcher(_Dispatcher, function)


def context_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python.

    A call from Python (a test) compiles another copy, which has one.
    """
    return _dispatcher(_InnerDispatcher, function, **_NO_WRAPPERS)


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python and without reference counts."""
    return _dispatcher(_InnerDispatcher, function, **_NO_WRAPPERS, _nrt=False)


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
    """Numba's dispatcher, with the collection of garbage paused while it compiles (a tenth of the time)."""

    def compile(self, signature: Any) -> Any:
        """Compile or load the code for a signature."""
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
        """Run the copy, which is not cached: the two would share a place on disk."""
        if "_copy" not in self.__dict__:
            self.__dict__["_copy"] = njit(nogil=True, error_model="numpy")(self.py_func)
        return self.__dict__["_copy"](*arguments)


def _dispatcher(kind: Any, function: Function, **options: Any) -> Function:
    if config.DISABLE_JIT:
        return function
    dispatcher = kind(function, targetoptions=_FLAGS | {"nopython": True, "boundscheck": None} | options)
    dispatcher.enable_caching()
    return dispatcher  # type: ignore[no-any-return]


_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compile_kernel(function: Callable[..., Any], signature: Any, *, fast: bool = False) -> Any:
    """Compile ``function`` for one signature now.

    The code is cached on disk where the function lives in a file; a function typed into a prompt has no file and is
    compiled anew in each process.
    """
    flags = _FLAGS | {"fastmath": FAST_MATH if fast else False}
    python_function = getattr(function, "py_func", function)
    try:
        return njit(signature, cache=True, **flags)(python_function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return njit(signature, **flags)(python_function)
