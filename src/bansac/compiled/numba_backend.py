"""Numba backend of the kernels: ``numba_private``, or ``numba_plain`` if ``numba_private`` cannot be imported."""

from __future__ import annotations

import warnings

__all__ = ["COMPILER_LOCK", "KERNELS", "define_struct", "make_dispatcher", "open_pack", "read_cache"]

try:
    from bansac.compiled import numba_private as _backend
except Exception as error:  # an untested version of Numba, or any error because of a changed private part
    warnings.warn(f"kernels use public parts of Numba only and run slower: {error}", RuntimeWarning, stacklevel=2)
    from bansac.compiled import numba_plain as _backend  # type: ignore[no-redef]

COMPILER_LOCK, KERNELS = _backend.COMPILER_LOCK, _backend.KERNELS
define_struct, make_dispatcher = _backend.define_struct, _backend.make_dispatcher
open_pack, read_cache = _backend.open_pack, _backend.read_cache
