"""Kernels by Numba's public parts alone, for a version of Numba whose private parts were not tested.

They are slower (see ``compiled.numba_private``), the time of their compilation counts as that of the first call, and
nothing is said while they compile.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from numba import njit
from numba.experimental import structref

COMPILER_LOCK = threading.RLock()
"""Only one thread makes a struct at a time; Numba has a lock of its own for compilations."""


def make_dispatcher(
    function: Callable[..., Any], signature: Any = None, *, fastmath: set[str] | None = None, **_: bool
) -> Any:
    """Return a dispatcher, as ``numba_private.dispatchers.make_dispatcher``; the other options only save time."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath or False}
    arguments = () if signature is None else (signature,)
    try:
        return njit(*arguments, cache=True, **options)(function)
    except RuntimeError as error:  # the function has no file, or no folder can be written to
        if "cannot cache function" not in str(error):
            raise
        return njit(*arguments, **options)(function)


def find_folders(function: Callable[..., Any]) -> list[str]:
    """Return the folder of the cache, as ``numba_private.cache.find_folders``."""
    return [path for path in (make_dispatcher(function).stats.cache_path,) if path]


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels create a struct and read its fields, as ``numba_private.structs.define_struct``."""
    structref.register(struct)
    structref.define_proxy(proxy, struct, list(fields))
