"""Inspect and clear Numba's cache of the compiled kernels of this package, and inspect those of its wheel.

Numba notices an edited function, but not an edited callee of a cached function. Clear the cache after editing a kernel.
The kernels of user-defined problems are cached elsewhere, beside the user's modules, and are never touched.
"""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

from bansac.compiled.backend import find_folders
from bansac.compiled.pack import PACK_FILE, open_pack
from bansac.compiled.source import PACKAGE

# Suffixes of Numba's index and machine code files.
_SUFFIXES = (".nbi", ".nbc")


def cache_folders(packages: Iterable[Path] = (PACKAGE,)) -> tuple[Path, ...]:
    """Return the existing folders in which the kernels of these packages are cached, by default of this one.

    They are below ``NUMBA_CACHE_DIR`` if it is set. Otherwise they are ``__pycache__`` beside the modules. If these
    are not writable, they are only read, and new kernels are written to the next one, or to the user's cache folder.
    """
    sources: dict[Path, Path] = {}
    for module in sorted(module for package in packages for module in package.rglob("*.py")):
        sources.setdefault(module.parent, module)
    folders: list[str] = []
    for module in sources.values():
        # A dummy function with the path of the module. Importing the module to get a real one would be slow.
        code = (lambda: None).__code__.replace(co_filename=str(module))
        folders += find_folders(FunctionType(code, {"__name__": "bansac"}))
    return tuple(Path(folder) for folder in folders if os.path.isdir(folder))


def inspect_cache() -> dict[str, Any]:
    """Return the folders of the kernels of this package and its extensions, and the number and size of their files."""
    folders = cache_folders((PACKAGE, *_extensions()))
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
    """Delete what :func:`inspect_cache` finds and return it; the next run compiles it again."""
    deleted = inspect_cache()
    for file in _cache_files(map(Path, deleted["folders"])):
        file.unlink(missing_ok=True)
    return deleted


def _extensions() -> list[Path]:
    """Return the folders of the packages that add commands to this one."""
    from importlib.metadata import entry_points  # slow to import

    names = {point.module.partition(".")[0] for point in entry_points(group="bansac.commands")}
    specs = (find_spec(name) for name in sorted(names))
    return [Path(folder) for spec in specs if spec for folder in spec.submodule_search_locations or ()]


def _cache_files(folders: Iterable[Path]) -> list[Path]:
    return [file for folder in folders for file in folder.iterdir() if file.suffix in _SUFFIXES]
