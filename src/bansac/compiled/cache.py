"""Inspect and clear Numba's cache of the compiled kernels of this package, and inspect those of its wheel.

Numba notices an edited function, but not an edited callee of a cached function. Clear the cache after editing a kernel.
The kernels of user-defined problems are cached elsewhere, beside the user's modules, and are never touched.
"""

from pathlib import Path
from typing import NamedTuple

from bansac.compiled.numba_private import cache_folders, open_pack
from bansac.compiled.pack import PACK_FILE

# Suffixes of Numba's index and machine code files.
_SUFFIXES = (".nbi", ".nbc")


class CacheInfo(NamedTuple):
    """The folders of the cached kernels of this package, and the number and total size in bytes of their files."""

    folders: tuple[Path, ...]
    files: int
    size: int


class PackInfo(NamedTuple):
    """The compiled kernels of a binary wheel.

    ``kernels`` is the number that this process can load, ``size`` that of the file in bytes; both are 0 without a file.
    ``reason`` says why the kernels cannot be used; it is empty otherwise.
    """

    kernels: int
    size: int
    reason: str


def inspect_cache() -> CacheInfo:
    """Count the cache files of this package."""
    folders = cache_folders()
    files = _cache_files(folders)
    return CacheInfo(folders, len(files), sum(file.stat().st_size for file in files))


def inspect_pack() -> PackInfo:
    """Return whether the kernels of a binary wheel are used, and why not."""
    pack, reason = open_pack()
    size = PACK_FILE.stat().st_size if PACK_FILE.exists() else 0
    return PackInfo(len(pack.keys) if pack else 0, size, reason)


def clear_cache() -> CacheInfo:
    """Delete the compiled kernels of this package and return what was deleted; the next run compiles them again."""
    info = inspect_cache()
    for file in _cache_files(info.folders):
        file.unlink(missing_ok=True)
    return info


def _cache_files(folders: tuple[Path, ...]) -> list[Path]:
    return sorted(file for folder in folders for file in folder.iterdir() if file.suffix in _SUFFIXES)
