"""Numba's private parts if they were tested with this version of Numba, otherwise its public ones and a warning."""

import numba

from bansac.compiled.announcement import ANNOUNCEMENT

# First and last version of Numba that the tests run with, as in pyproject.toml.
TESTED = (0, 61), (0, 68)

if TESTED[0] <= numba.version_info.short <= TESTED[1]:
    from bansac.compiled.numba_private.cache import find_folders as find_folders
    from bansac.compiled.numba_private.dispatchers import COMPILER_LOCK as COMPILER_LOCK
    from bansac.compiled.numba_private.dispatchers import make_dispatcher as make_dispatcher
    from bansac.compiled.numba_private.structs import define_struct as define_struct
else:
    from bansac.compiled.plain import COMPILER_LOCK as COMPILER_LOCK
    from bansac.compiled.plain import define_struct as define_struct
    from bansac.compiled.plain import find_folders as find_folders
    from bansac.compiled.plain import make_dispatcher as make_dispatcher

    _OLDEST, _NEWEST = (".".join(map(str, version)) for version in TESTED)
    ANNOUNCEMENT.warn(
        f"Numba {numba.__version__} was not tested, only {_OLDEST} to {_NEWEST}: kernels are compiled in its own way, "
        "which takes longer"
    )
