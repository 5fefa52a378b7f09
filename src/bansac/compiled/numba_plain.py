"""Substitute for ``numba_private`` that uses public parts of Numba only, for untested versions.

Results are correct and reproducible. Their last bits may differ from those with ``numba_private``, because no
arithmetic is reordered. Runs are slower, and so is the first call; see ``numba_private`` for figures.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.experimental import structref

from bansac.compiled.pack import PACK_FILE, Kernel, Pack

__all__ = ["COMPILER_LOCK", "KERNELS", "define_struct", "make_dispatcher", "open_pack", "read_cache"]

COMPILER_LOCK: Any = threading.RLock()

# Always empty: this backend counts nothing.
KERNELS: Counter[str] = Counter()


def make_dispatcher(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    """Return the dispatcher of a plain Python function, or its compiled code for one signature.

    The other options are ignored: arithmetic is exact, and the code has wrappers and reference counts. Numba's cache
    could not distinguish copies of one function with different options.
    """
    flags = {"nogil": True, "error_model": "numpy"}
    signatures = () if signature is None else (signature,)
    try:
        return njit(*signatures, cache=True, **flags)(function)
    except RuntimeError as error:  # the function is from an interactive prompt
        if "cannot cache function" not in str(error):
            raise
        return njit(*signatures, **flags)(function)


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels create a struct by calling ``proxy`` with its fields, read the fields, and return it to Python."""
    structref.register(struct)
    structref.define_proxy(proxy, struct, list(fields))


@cache
def open_pack() -> tuple[Pack | None, str]:
    """Return that the kernels of a binary wheel cannot be used."""
    return None, "are for a tested version of Numba" if PACK_FILE.exists() else ""


def read_cache(folder: Path) -> dict[str, Kernel]:
    """Return nothing, because this backend has no files of its own."""
    return {}
