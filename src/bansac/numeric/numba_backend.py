"""What kernels need of Numba: ``numba_private``, or ``numba_plain`` if a private part may have changed."""

from __future__ import annotations

import warnings

__all__ = ["COMPILER_LOCK", "KERNELS", "announce_compilation", "define_struct", "make_dispatcher"]

try:
    from bansac.numeric.numba_private import (
        COMPILER_LOCK,
        KERNELS,
        announce_compilation,
        define_struct,
        make_dispatcher,
    )
except Exception as error:  # an untested version, or any error of a changed part
    warnings.warn(f"kernels use public parts of Numba only and run slower: {error}", RuntimeWarning, stacklevel=2)
    from bansac.numeric.numba_plain import (
        COMPILER_LOCK,
        KERNELS,
        announce_compilation,
        define_struct,
        make_dispatcher,
    )
