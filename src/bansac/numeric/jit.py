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

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit

from bansac.numeric.numba_backend import COMPILER_LOCK, make_dispatcher

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
    "plain",
]

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, with exact floating-point semantics."""
    return _dispatcher(function)


def allocating_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python.

    A call from Python (a test) compiles another copy, which has one.
    """
    return _dispatcher(function, from_python=False, by_address=False)


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a wrapper for Python and without reference counts."""
    return _dispatcher(function, from_python=False, by_address=False, counts=False)


def fast_kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, letting the compiler reorder its arithmetic."""
    return _dispatcher(function, fastmath=FAST_MATH)


def inlined(function: Function) -> Function:
    """Mark a part of a larger kernel: it is compiled with its callers and not by itself.

    A function compiled by itself costs some 50 ms on the first call ever, and its callers optimise it once more; but
    the types of an inlined one are inferred at each place that calls it.
    """
    return njit(inline="always", error_model="numpy")(function)  # type: ignore[no-any-return]


def plain(function: Function) -> Function:
    """Return the Python function of a dispatcher, for a call from Python that is not worth a compilation."""
    return getattr(function, "py_func", function)


def _dispatcher(function: Function, **options: Any) -> Function:
    """Return a dispatcher of a function; one of another dispatcher, with options of its own, is of its function."""
    if config.DISABLE_JIT:
        return function
    return make_dispatcher(plain(function), **options)  # type: ignore[no-any-return]


def is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function, or a Numba dispatcher of it, is written in the package."""
    scope = getattr(plain(function), "__globals__", {})  # a callable object has none
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
    fast = fast or "fastmath" in getattr(function, "targetoptions", {})
    return make_dispatcher(
        plain(function),
        signature,
        fastmath=FAST_MATH if fast else None,
        from_python=not inner,
        counts=not (lean and is_ours(function)),
    )
