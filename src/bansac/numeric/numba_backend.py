"""The parts of Numba that kernels are made of: private ones, or public ones alone if a private one may have changed."""

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
except Exception as error:  # an untested version, or whatever a changed part raises
    warnings.warn(f"bansac computes more slowly, without private parts of Numba: {error}", RuntimeWarning, stacklevel=2)
    from bansac.numeric.numba_plain import (
        COMPILER_LOCK,
        KERNELS,
        announce_compilation,
        define_struct,
        make_dispatcher,
    )
