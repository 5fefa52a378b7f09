"""Where Numba keeps the compiled kernels of this package, and how to throw them away.

Numba notices an edited function, but not an edited function that a cached caller calls: after editing a kernel, clear.
The kernels of a user's own problems lie elsewhere, beside the user's modules, and are never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

__all__ = ["CacheInfo", "cache_folders", "clear_cache", "inspect_cache"]

PACKAGE = Path(__file__).resolve().parents[1]

# Index and machine code, as Numba names them.
_SUFFIXES = (".nbi", ".nbc")


@dataclass(frozen=True)
class CacheInfo:
    """What the cache holds.

    Parameters
    ----------
    folders : tuple of Path
        Where Numba keeps the kernels of this package, one folder for each folder of modules.
    files : int
        Number of cache files.
    size : int
        Their size in bytes.
    """

    folders: tuple[Path, ...]
    files: int
    size: int


def cache_folders() -> tuple[Path, ...]:
    """Return the folders in which Numba caches the kernels of this package.

    They are below ``NUMBA_CACHE_DIR`` if that is set, else ``__pycache__`` beside the modules, else in the user's
    cache folder.

    Returns
    -------
    tuple of Path
        The folders that exist; empty if nothing can be cached.
    """
    sources: dict[Path, Path] = {}
    for module in sorted(PACKAGE.rglob("*.py")):
        sources.setdefault(module.parent, module)
    folders = (_cache_folder(module) for module in sources.values())
    return tuple(folder for folder in folders if folder is not None and folder.is_dir())


def inspect_cache() -> CacheInfo:
    """Count the cache files of this package.

    Returns
    -------
    CacheInfo
        Folders, number of files and size.
    """
    folders = cache_folders()
    files = _cache_files(folders)
    return CacheInfo(folders, len(files), sum(file.stat().st_size for file in files))


def clear_cache() -> CacheInfo:
    """Delete the compiled kernels of this package; the next run compiles them anew.

    Returns
    -------
    CacheInfo
        What was deleted.

    Raises
    ------
    OSError
        If a file cannot be deleted.
    """
    info = inspect_cache()
    for file in _cache_files(info.folders):
        file.unlink(missing_ok=True)
    return info


def _cache_folder(module: Path) -> Path | None:
    """Ask Numba where it caches the functions of ``module``."""
    from bansac.numeric.numba_backend import make_dispatcher

    # A function that claims to live in the module: importing the module for a real one would load all of it.
    code = compile("lambda: None", str(module), "eval").co_consts[0]
    folder = make_dispatcher(FunctionType(code, {"__name__": "bansac"})).stats.cache_path
    return Path(folder) if folder else None  # there may be no place that can be written to


def _cache_files(folders: tuple[Path, ...]) -> list[Path]:
    return sorted(file for folder in folders for file in folder.iterdir() if file.suffix in _SUFFIXES)
