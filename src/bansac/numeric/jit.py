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

Four decorators:

=================  =====================================================================================
``kernel``         entered from Python
``inner_kernel``   called by other kernels, in the package; allocates nothing and returns no array
``fast_kernel``    entered from outside or exact in any order: with ``FAST_MATH``
``inlined``        a part of one larger kernel, compiled with it
=================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit
from numba.core.registry import CPUDispatcher
from numba.core.typeinfer import register_dispatcher

from bansac.numeric.checked_cache import CheckedCache

__all__ = ["FAST_MATH", "compile_kernel", "fast_kernel", "inlined", "inner_kernel", "kernel"]

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, with exact floating-point semantics."""
    return _keep(njit(nogil=True, error_model="numpy")(function))  # type: ignore[no-any-return]


def fast_kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, letting the compiler reorder its arithmetic."""
    return _keep(  # type: ignore[no-any-return]
        njit(nogil=True, error_model="numpy", fastmath=FAST_MATH)(function)
    )


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` when a kernel that calls it is compiled, without what a call from Python needs.

    The wrapper for Python and the reference counts of arrays are some 50 to 100 ms of a compilation. A call from Python
    (a test) compiles another copy, which has them.
    """
    if config.DISABLE_JIT:
        return function
    dispatcher = _InnerDispatcher(
        function,
        targetoptions={
            "nopython": True,
            "boundscheck": None,
            "nogil": True,
            "error_model": "numpy",
            "no_cpython_wrapper": True,
            "no_cfunc_wrapper": True,
            "_nrt": False,
        },
    )
    return _keep(dispatcher)  # type: ignore[no-any-return]


def _keep(dispatcher: Any) -> Any:
    """Have a dispatcher keep its compiled code on disk."""
    if not config.DISABLE_JIT:
        dispatcher._cache = CheckedCache(dispatcher.py_func, dispatcher.targetoptions)
    return dispatcher


class _InnerDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A dispatcher whose compiled code has no wrapper for Python; called from Python it runs a copy that has one."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the copy, which is not cached: the two would share a place on disk."""
        if "_copy" not in self.__dict__:
            self.__dict__["_copy"] = njit(nogil=True, error_model="numpy")(self.py_func)
        return self.__dict__["_copy"](*arguments)


def inlined(function: Function) -> Function:
    """Mark a part of a larger kernel: it is compiled with its callers and not by itself.

    A function compiled by itself costs some 50 ms on the first call ever, and its callers optimise it once more; but
    each place that calls it infers its types anew.
    """
    return njit(inline="always", error_model="numpy")(function)  # type: ignore[no-any-return]


def compile_kernel(function: Callable[..., Any], signature: Any, *, fast: bool = False) -> Any:
    """Compile ``function`` for one signature now.

    The code is cached on disk if the function lives in a file; a function typed into a prompt has no file and is
    compiled anew in each process.
    """
    fast_math = {"fastmath": FAST_MATH} if fast else {}
    dispatcher = njit(nogil=True, error_model="numpy", **fast_math)(getattr(function, "py_func", function))
    if config.DISABLE_JIT:
        return dispatcher
    try:
        _keep(dispatcher)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
    with register_dispatcher(dispatcher):  # it may call itself
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
