"""Decorators that compile all kernels of the package.

All kernels are compiled alike: a division by zero gives inf or NaN, other Python threads run meanwhile, and the code is
cached on disk.

``FAST_MATH`` allows the compiler to reorder sums and products, so that residual loops vectorise. It never contains
``nnan`` or ``ninf``, because a NaN residual must remain an outlier. A function that other kernels call exists in
several compiled copies, which may be reordered differently. The copy that runs depends on the state of the cache, so
results would not be reproducible bit by bit. Therefore only functions that are entered from outside (residuals), or
whose result is exact in any order (counts), are compiled with it.

An ``inner_kernel`` has no reference counts: it allocates nothing and returns no array. Other kernels count references
whenever they read a field of a struct of arrays (``compiled.struct``), at some 10 ns each. The main loop reads dozens
of fields an iteration, so it is an inner kernel. A ``lean_kernel`` is the same for calls from Python.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit

from bansac.compiled.backend import COMPILER_LOCK as COMPILER_LOCK
from bansac.compiled.backend import make_dispatcher

FAST_MATH = {"reassoc", "contract", "arcp", "nsz"}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, with exact floating-point semantics."""
    return _dispatcher(function)


def allocating_kernel(function: Function) -> Function:
    """Compile ``function`` together with a kernel that calls it, without a wrapper for Python.

    A call from Python, such as in a test, compiles another copy with a wrapper.
    """
    return _dispatcher(function, from_python=False)


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` with a kernel that calls it, without a Python wrapper and without reference counts."""
    return _dispatcher(function, from_python=False, counts=False)


def lean_kernel(function: Function) -> Function:
    """Compile ``function`` on its first call, without reference counts."""
    return _dispatcher(function, counts=False)


def fast_kernel(function: Function) -> Function:
    """Compile ``function`` on its first call; the compiler may reorder its arithmetic."""
    return _dispatcher(function, fastmath=FAST_MATH)


def inlined(function: Function) -> Function:
    """Inline ``function`` into its callers, so that it is not compiled by itself.

    A separately compiled function costs some 50 ms on the first call ever, and its callers optimise it once more. But
    the types of an inlined function are inferred at each call site.
    """
    return njit(inline="always", error_model="numpy")(function)  # type: ignore[no-any-return]


def plain(function: Function) -> Function:
    """Return the Python function of a dispatcher, for a call from Python that is not worth a compilation."""
    return getattr(function, "py_func", function)


def _dispatcher(function: Function, **options: Any) -> Function:
    """Return a dispatcher of a function, or a new one, with these options, of another dispatcher's function."""
    if config.DISABLE_JIT:
        return function
    return make_dispatcher(plain(function), by_address=False, **options)  # type: ignore[no-any-return]


def is_ours(function: Callable[..., Any]) -> bool:
    """Return whether a function, or the function of a Numba dispatcher, is defined in this package."""
    scope = getattr(plain(function), "__globals__", {})  # callable objects have no globals
    return str(scope.get("__name__", "")).startswith("bansac.")


def compile_kernel(
    function: Callable[..., Any], signature: Any, *, fast: bool = False, inner: bool = False, lean: bool = False
) -> Any:
    """Compile ``function`` for one signature now.

    ``function`` is a Python function, which interpreted runs use, or a Numba dispatcher of it. A ``fast_kernel`` is
    compiled with ``FAST_MATH``, as with ``fast``. With ``inner`` only kernels call it, so that it needs no wrapper for
    Python. With ``lean`` it has no reference counts, which cost 10 ns for each row of an array. Functions outside the
    package keep them, because they may allocate arrays.
    """
    if config.DISABLE_JIT:
        return plain(function)
    fast = fast or "fastmath" in getattr(function, "targetoptions", {})
    return make_dispatcher(
        plain(function),
        signature,
        fastmath=FAST_MATH if fast else None,
        from_python=not inner,
        counts=not (lean and is_ours(function)),
    )
