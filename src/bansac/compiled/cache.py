"""Inspect and clear Numba's cache of the compiled kernels of this package, and inspect those of its wheel.

Numba notices an edited function, but not an edited callee of a cached function. Clear the cache after editing a kernel.
The kernels of user-defined problems are cached elsewhere, beside the user's modules, and are never touched.
"""

from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

from bansac.compiled.backend import make_dispatcher
from bansac.compiled.pack import PACK_FILE, open_pack
from bansac.compiled.source import PACKAGE

# Suffixes of Numba's index and machine code files.
_SUFFIXES = (".nbi", ".nbc")


def cache_folders() -> tuple[Path, ...]:
    """Return the existing folders in which Numba caches the kernels of this package.

    They are below ``NUMBA_CACHE_DIR`` if it is set. Otherwise they are ``__pycache__`` beside the modules or, if that
    is not writable, in the user's cache folder.
    """
    sources: dict[Path, Path] = {}
    for module in sorted(PACKAGE.rglob("*.py")):
        sources.setdefault(module.parent, module)
    folders = []
    for module in sources.values():
        # A dummy function with the path of the module. Importing the module to get a real one would be slow.
        code = (lambda: None).__code__.replace(co_filename=str(module))
        folder = make_dispatcher(FunctionType(code, {"__name__": "bansac"})).stats.cache_path
        if folder is not None and Path(folder).is_dir():
            folders.append(Path(folder))
    return tuple(folders)


def inspect_cache() -> dict[str, Any]:
    """Return the folders of the cached kernels of this package, and the number and total size of their files."""
    folders = cache_folders()
    sizes = [file.stat().st_size for file in _cache_files(folders)]
    return {"folders": [str(folder) for folder in folders], "files": len(sizes), "bytes": sum(sizes)}


def inspect_pack() -> dict[str, Any]:
    """Return the number of kernels of a binary wheel that this process can load, the size of their file, and a reason.

    Both numbers are 0 without a file. The reason says why the kernels cannot be used; it is empty otherwise.
    """
    pack, reason = open_pack()
    size = PACK_FILE.stat().st_size if PACK_FILE.exists() else 0
    return {"kernels": len(pack.keys) if pack else 0, "size": size, "reason": reason}


def clear_cache() -> dict[str, Any]:
    """Delete the compiled kernels of this package and return what was deleted; the next run compiles them again."""
    deleted = inspect_cache()
    for file in _cache_files(map(Path, deleted["folders"])):
        file.unlink(missing_ok=True)
    return deleted


def _cache_files(folders: Iterable[Path]) -> list[Path]:
    return [file for folder in folders for file in folder.iterdir() if file.suffix in _SUFFIXES]
